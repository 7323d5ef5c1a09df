"""Average: the sum of weighted, clipped values in exact integers, released with discrete noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from pdpmean.clipped_normal import MEDIAN_SIZE
from pdpmean.diffusion import round_down
from pdpmean.inputs import Floats
from pdpmean.integers import STEPS, from_words, steps_of, steps_per_unit, weight_shift, weights_of, words_of
from pdpmean.locate import Location
from pdpmean.model import Model
from pdpmean.planned import Plan
from pdpmean.prediction import TENT_PART
from pdpmean.randomness import Randomness, laplace_scale
from pdpmean.sources import Batch, Counts, Source
from pdpmean.threads import SMALLEST_BATCH
from pdpmean.traces import load_kernels

__all__ = ["NARROWEST", "NEAR", "Average", "Clip", "Summing", "average"]

# The compiled loops first add up so many products, each of at most 2**(24 + 26), in a signed 64-bit word: their sum is
# below 2**63.
_BLOCK = 2**13 - 1
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


_NOTHING = (1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0)  # a cap of 0, also for budgets without limit


@dataclass(frozen=True)
class Summing:
    """What records add to the sums: of W z, of W, and of W times the extra; z are values, clipped, in steps.

    The extra is ``STEPS - |z|`` or, if `squares`, ``z**2 / STEPS``; and unless `squares`, the sum of W is over the
    values near the middle. There is one rule a group, and a last one that adds nothing for everybody else; or a single
    rule, where there are no groups. A rule is a share, a cap, the unit of weights, the middle, steps per unit as two
    factors, and a mark: within how many steps is near or, if `squares`, at which step missing values count.
    """

    model: Model
    squares: bool
    rules: Floats

    @classmethod
    def of(cls, clips: Sequence[Clip | None], *, grouped: bool) -> Summing:
        """The sums of these clips, one a group; nothing where there is none."""
        given = [clip for clip in clips if clip]
        rules = [clip.rule if clip else _NOTHING for clip in (*clips, *([None] if grouped else []))]
        return cls(given[0].model, given[0].near is None, np.array(rules))

    @property
    def shape(self) -> tuple[int, int]:
        """Groups by sums: of W z in two words, of W, of W times the extra in two words."""
        return len(self.rules), 5

    def tally(self, batch: Batch, table: Counts) -> None:
        """Add a batch to the sums."""
        if batch.values.size >= SMALLEST_BATCH:
            self._tally_compiled(batch, table)
            return
        where = np.zeros(1, dtype=np.int32) if batch.groups is None else batch.groups
        share, cap, unit, middle, lift, per_unit, mark = self.rules[where].T
        weights = weights_of(self.model.allowances(batch.budgets), share, cap, unit)
        steps = steps_of(batch.values, middle, lift, per_unit, mark if self.squares else 0.0)
        if self.squares:
            counted, extra = weights, weights * (steps**2 // STEPS)
        else:
            weights = np.where(np.isnan(batch.values), 0, weights)
            counted, extra = np.where(np.abs(steps) < mark, weights, 0), weights * (STEPS - np.abs(steps))
        for column, numbers in enumerate([*words_of(weights * steps), counted, *words_of(extra)]):
            # Below 2**26 each, and so few that their sums are exact as doubles.
            groups = np.broadcast_to(where, weights.shape)
            table[:, column] += np.bincount(groups, weights=numbers, minlength=len(table)).astype(np.int64)

    def _tally_compiled(self, batch: Batch, table: Counts) -> None:
        kernels = load_kernels()
        columns, limits = (batch.values, batch.budgets), self.model.limits
        if batch.groups is None:
            rule = tuple(self._compiled_rules[0, :6].tolist())
            kernels.sum_blocks(*columns, *limits, rule, self.squares, _BLOCK, table[0])
        else:
            kernels.sum_groups(*columns, batch.groups, *limits, self._compiled_rules, self.squares, _BLOCK, table)

    @cached_property
    def _compiled_rules(self) -> Floats:
        """The same with shares and caps in units, which are powers of two, so that nothing is rounded; padded to 8."""
        share, cap, unit, *rest = self.rules.T
        rules = np.zeros((len(self.rules), 8))
        rules[:, :6] = np.column_stack([round_down(share) * unit, cap * unit, *rest])
        return rules


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
