"""Average: the sum of weighted, clipped values in exact integers, released with discrete noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pdpmean.core.integers import STEPS, from_words, steps_per_unit, weight_shift
from pdpmean.core.model import Model
from pdpmean.laws.clipped_normal import MEDIAN_SIZE
from pdpmean.passes.source import Source
from pdpmean.passes.summing import Summing
from pdpmean.planning.plan import Plan
from pdpmean.planning.prediction import TENT_PART
from pdpmean.randomness import Randomness, laplace_scale
from pdpmean.release.locate import Location

__all__ = ["NARROWEST", "NEAR", "Average", "Clip", "average", "release"]

# Values within so much of the located spread are near. Of whole numbers both centre and spread are mostly whole: with a
# quarter it would be left to chance whether those next to the centre are near where the spread is 4.
NEAR = 0.26

NARROWEST = 1.25 * NEAR * MEDIAN_SIZE  # of a clip, in standard deviations: in one that is narrower, nearly all are near


@dataclass(frozen=True)
class Clip:
    """What is summed in one group: values clipped to middle +- half, at weights ``min(share * allowance, cap)``.

    Beside them the tents, which are what |z| leaves of 1, and the weight of the values within `near` steps of the
    middle; a missing value weighs nothing. Or, if `near` is None, the squares and the total weight; a missing value
    then counts as one so many steps from the middle as `missing` says.
    """

    model: Model
    share: Fraction
    cap: float
    middle: float
    half: float
    near: int | None
    missing: int = 0

    @classmethod
    def of(cls, plan: Plan, location: Location, half: float) -> Clip:
        """As planned, where the population was located; there, at its centre, missing values count."""
        near = None
        if plan.shape == "gaussian":
            near = math.floor(STEPS * (NEAR * MEDIAN_SIZE) / plan.clip_width) if plan.clip_width > NARROWEST else 0
        missing = round(STEPS * min(max(-location.offset / half, -1.0), 1.0))
        return cls(plan.model, plan.shares["sum"], plan.largest_weight, location.middle, half, near, missing)

    @property
    def shift(self) -> int:
        """Weights are multiples of 2**-shift; from public numbers alone."""
        return weight_shift(min(self.cap, float(self.share) * self.model.largest_allowance))

    @property
    def slack(self) -> Fraction:
        """What adding 1 to the extra sum may cost, over the share of the sum: no more than the record then saves there.

        A tent is ``1 - |z|``, and ``1 - z**2`` is at most twice that.
        """
        return Fraction(1, 2) if self.near is None else TENT_PART

    @property
    def near_slack(self) -> Fraction:
        """Likewise for adding 1 to the weight that is near: who does has a tent at least so high."""
        assert self.near is not None
        return (1 - TENT_PART) * Fraction(STEPS - self.near, STEPS)

    @property
    def rule(self) -> tuple[float, ...]:
        """Its row in `Summing`."""
        unit = 2.0**self.shift
        mark = self.missing if self.near is None else self.near
        return (float(self.share), self.cap, unit, self.middle, *steps_per_unit(self.half), float(mark))


@dataclass(frozen=True)
class Average:
    """Released: the weighted sum of z = (value - middle) / half, clipped, over a total; that, in nats; and an extra.

    For `shape="any"` the total is of the weights, and `square` the mean of ``z**2``. For a gaussian the total is of the
    tents, weight times ``1 - |z|``, and `near` the weight within `NEAR` of the located spread over the same total. The
    noise of either extra is Laplace of the scale `doubt`.
    """

    mean: float
    total: float
    doubt: float
    square: float | None = None
    near: float | None = None


def average(
    source: Source,
    plans: Sequence[Plan | None],
    located: Sequence[tuple[Location, float] | None],
    randomness: Randomness,
) -> list[Average | None]:
    """The private weighted mean of the values clipped to where they lie, one a group, all in one pass."""
    clips = [Clip.of(plan, *found) if plan and found else None for plan, found in zip(plans, located, strict=True)]
    if not any(clips):
        return [None] * len(clips)
    table = source.sum(Summing.of(clips, grouped=source.groups is not None)).tolist()
    return [
        release(plan, clip, sums, randomness) if plan and clip else None
        for plan, clip, sums in zip(plans, clips, table, strict=False)
    ]


def release(plan: Plan, clip: Clip, sums: Sequence[int], randomness: Randomness) -> Average:
    """The private numbers behind exact sums.

    Record i adds W_i z_i with |z_i| <= H, and the noise has scale ``H 2**q``: adding or removing it costs
    ``W_i / 2**q``, at most its share. With `shape="any"` the total weight is public in the bounded model; in the
    unbounded one both get noise together, at their shares together. All else costs nothing more: who adds to it adds
    less to the sum.
    """
    numbers = from_words(*sums[:2]), sums[2], from_words(*sums[3:])
    if clip.near is None:
        return _release_any(clip, numbers, plan.shares.get("weights", Fraction(0)) / plan.shares["sum"], randomness)
    return _release_bell(clip, numbers, randomness)


def _release_bell(clip: Clip, numbers: tuple[int, int, int], randomness: Randomness) -> Average:
    """From the sums of W z, of the W that are near, and of the tents."""
    number, near, tents = numbers
    nat = STEPS << clip.shift
    number = randomness.add_laplace(number, laplace_scale(nat, 1))
    tents = max(randomness.add_laplace(tents, laplace_scale(nat, clip.slack)), nat)
    near = randomness.add_laplace(near, laplace_scale(1 << clip.shift, clip.near_slack))
    return Average(number / tents, tents / nat, nat / float(tents * clip.near_slack), near=near * STEPS / tents)


def _release_any(clip: Clip, numbers: tuple[int, int, int], part: Fraction, randomness: Randomness) -> Average:
    """From the sums of W z, of W and of W z**2; the second gets noise at this part of the sum's share, if any."""
    number, weight, squares = numbers
    nat, unit = STEPS << clip.shift, 1 << clip.shift
    others = weight * STEPS - squares  # of W (1 - z**2)
    if part:
        scales = laplace_scale(unit, 1), laplace_scale(unit, part)
        number, weight = randomness.add_joint_laplace((number, weight), STEPS, scales)
        weight = max(weight, unit)
    else:
        number = randomness.add_laplace(number, laplace_scale(nat, 1))
        weight = max(weight, 1)  # public budgets may be too small for a unit
    others = randomness.add_laplace(others, laplace_scale(nat, clip.slack))
    total, doubt = weight * STEPS, unit / (weight * float(clip.slack))
    return Average(number / total, weight / unit, doubt, square=1 - others / total)
