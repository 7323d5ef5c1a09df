"""Average: the sum of weighted, clipped values in exact integers, released with discrete noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdpmean.clipped_normal import MEDIAN_SIZE
from pdpmean.diffusion import round_down
from pdpmean.forecast import TENT_PART
from pdpmean.inputs import Floats
from pdpmean.locate import Location
from pdpmean.model import Model
from pdpmean.planned import Plan
from pdpmean.randomness import Randomness, laplace_scale
from pdpmean.sources import Batch, Counts, Source
from pdpmean.threads import SMALLEST_BATCH

__all__ = [
    "LARGEST_SHIFT",
    "NEAR",
    "STEPS",
    "Average",
    "Clip",
    "Summing",
    "average",
    "from_words",
    "steps_of",
    "steps_per_unit",
    "weight_shift",
    "weights_of",
    "words_of",
]

# A value becomes one of 2 * STEPS + 1 integers, a weight an integer of at most WEIGHT_BITS bits. Sums are
# kept as two words, the multiples of 2**LOW_BITS and the rest, which hold 2**37 records. Where there are no groups, the
# compiled loop first adds up _BLOCK products in a signed 64-bit word: 2**(24 + 26 + 12) < 2**63.
STEPS = 2**24
WEIGHT_BITS = 26
LOW_BITS = 24
LARGEST_SHIFT = 35  # so that the largest noise scale, 2 * STEPS * 2**shift, is at most 2**60
_BLOCK = 2**12
# Values within so much of the located spread are near. Of whole numbers both centre and spread are mostly whole: with a
# quarter it would be left to chance whether those next to the centre are near where the spread is 4.
NEAR = 0.26


def weight_shift(largest: float) -> int:
    """Q such that weights up to `largest`, times 2**q, have at most `WEIGHT_BITS` bits and noise scales stay small."""
    return min(WEIGHT_BITS - math.frexp(largest)[1], LARGEST_SHIFT)


def steps_per_unit(half: float) -> tuple[float, float]:
    """Steps per unit of a clip of that half width, as two factors, the first a power of two, so that none overflows."""
    lift = 1.0 if half >= 2.0**-900 else 2.0**200
    return lift, STEPS / (half * lift)


def weights_of(allowances: Floats, share: Any, cap: Any, unit: Any) -> NDArray[np.int64]:
    """``floor(min(share * allowance, cap) * unit)``, exactly or one less."""
    weights: NDArray[np.int64] = np.floor(np.minimum(allowances * round_down(share), cap) * unit).astype(np.int64)
    return weights


def steps_of(values: Floats, middle: Any, lift: Any, per_unit: Any, missing: Any = 0.0) -> NDArray[np.int64]:
    """Values clipped, as integers from -STEPS to STEPS; a missing one is `missing`."""
    with np.errstate(all="ignore"):
        steps = np.rint(np.clip((values - middle) * lift * per_unit, -STEPS, STEPS))
    whole: NDArray[np.int64] = np.where(np.isnan(steps), missing, steps).astype(np.int64)
    return whole


def words_of(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """High and low words, whose sums do not overflow."""
    return numbers >> LOW_BITS, numbers & (2**LOW_BITS - 1)


def from_words(high: int, low: int) -> int:
    """The number behind two words."""
    return (high << LOW_BITS) + low


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
        near = None if plan.shape == "any" else math.floor(STEPS * (NEAR * MEDIAN_SIZE) / plan.clip_width)
        if near is not None and near >= STEPS:
            near = 0  # in so narrow a clip all would be near, and nothing is learnt from that
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
        from pdpmean.kernels import sum_blocks, sum_groups

        rules = np.column_stack([round_down(self.rules[:, 0]), self.rules[:, 1:]])
        columns, limits = (batch.values, batch.budgets), self.model.limits
        if batch.groups is None:
            sum_blocks(*columns, *limits, tuple(rules[0].tolist()), self.squares, _BLOCK, table[0])
        else:
            sum_groups(*columns, batch.groups, *limits, rules, self.squares, table)


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
    number, counted, extra = from_words(*sums[:2]), sums[2], from_words(*sums[3:])
    unit = 2**clip.shift

    def noisy(number: int, size: int, part: Fraction = Fraction(1)) -> int:
        return randomness.add_laplace(number, laplace_scale(size * unit, part))

    if clip.near is not None:
        number, total = noisy(number, STEPS), max(noisy(extra, STEPS, clip.slack), STEPS * unit)
        near, doubt = noisy(counted, 1, clip.near_slack) * STEPS / total, STEPS * unit / (total * clip.near_slack)
        return Average(number / total, total / (STEPS * unit), float(doubt), near=near)
    extra = counted * STEPS - extra  # of W (1 - z**2)
    if "weights" in plan.shares:
        scales = laplace_scale(unit, 1), laplace_scale(unit, plan.shares["weights"] / plan.shares["sum"])
        number, weight = randomness.add_joint_laplace((number, counted), STEPS, scales)
        weight = max(weight, unit)
    else:
        number, weight = noisy(number, STEPS), max(counted, 1)  # public budgets may be too small for a unit
    square = 1 - noisy(extra, STEPS, clip.slack) / (weight * STEPS)
    return Average(number / (weight * STEPS), weight / unit, unit / (weight * float(clip.slack)), square=square)
