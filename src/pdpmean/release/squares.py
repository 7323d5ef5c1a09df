"""The noisy sums of clipped values and of their squares, once the clip is known.

These sums serve populations of any shape, and values between known bounds. The squares give the variance within the
clip, on which the confidence interval rests.

A record adds integers. W is its weight; z is its value in steps from the middle of the clip, with ``|z| <= H``; and
``s = floor(z**2 / H)``. Weights are multiples of ``2**-q`` nats, and ``W / 2**q`` is at most the record's share.

If the total weight is public (bounded model), these sums are released::

    S = sum of W z                       noise of scale H 2**q
    V = sum of W (H - s)                 noise of scale 2 H 2**q
    D = sum of W over missing values     noise of scale 2**q
    B = sum of W b over each far cell    noise of scale H 2**q

A value that is not far costs ``W / 2**q`` times ``|z| / H + (H - s) / (2 H)``. That factor is at most 1, because
``s >= 2 |z| - H``: ``z**2 / H`` exceeds ``2 |z| - H`` by ``(H - |z|)**2 / H``, and ``2 |z| - H`` is an integer, so
rounding down does not go below it. A missing value is in D only. A far value is in B only, in one cell, with
``0 <= b <= H``.

If the total weight is private (unbounded model), D and B are the same, and the others are::

    F0 = sum of W (H - 2 z + s)    noise of scale 4 H 2**q
    F1 = sum of 2 W (H - s)        noise of scale 4 H 2**q
    F2 = sum of W (H + 2 z + s)    noise of scale 4 H 2**q

What a record adds to each is at least 0, for the same reason, and adds up to ``4 W H``. So a record costs ``W / 2**q``,
whatever its value (docs/guarantee.md, "Sums with squares").
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from pdpmean.core.integers import LARGEST_SHIFT, STEP_BITS, STEPS
from pdpmean.core.rules import FAR_CELLS
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import PrivateTotalSums, PublicTotalSums
from pdpmean.randomness import Randomness, laplace_scale
from pdpmean.release.clip import Clip
from pdpmean.release.shape import ExactSums

__all__ = ["SquareClip", "noisy_sums"]


@dataclass(frozen=True)
class SquareClip(Clip):
    """A clip whose extra sum is that of the squares. Missing values are in none of the sums but their own."""

    squares = True
    largest_shift = LARGEST_SHIFT - 1  # one less than elsewhere, as the noise scale, 4 H 2**q, is twice as large
    slack = Fraction(1, 2)  # 1 - z**2 is at most twice 1 - |z|, for z in half widths of the clip


def noisy_sums(plan: Plan, clip: Clip, sums: ExactSums, randomness: Randomness) -> PublicTotalSums | PrivateTotalSums:
    """The sums with their noise, as the model requires: a record's loss is at most its share."""
    release = _with_public_total if plan.model.budgets_are_public else _with_private_total
    return release(clip, sums, randomness)


def _with_public_total(clip: Clip, sums: ExactSums, randomness: Randomness) -> PublicTotalSums:
    """S, V, D and B with noise. What a record adds to V it saves in S; one that adds to D or B adds to nothing else."""
    weight_less_squares = sums.counted * STEPS - sums.extra
    values = randomness.add_laplace(sums.values, laplace_scale(clip.nat, 1))
    weight_less_squares = randomness.add_laplace(weight_less_squares, laplace_scale(clip.nat, clip.slack))
    below, above = _far_cells(clip, sums, randomness)
    return PublicTotalSums(
        values=values / clip.nat,
        weight_less_squares=weight_less_squares / clip.nat,
        missing=_missing(clip, sums, randomness),
        total_weight=sums.total_weight / clip.unit,
        below=below,
        above=above,
    )


def _with_private_total(clip: Clip, sums: ExactSums, randomness: Randomness) -> PrivateTotalSums:
    """F0, F1, F2, D and B with noise. A record adds no more to F0, F1 and F2 together than one of them alone allows."""
    counted = sums.counted * STEPS
    scale = laplace_scale(4 * clip.nat, 1)
    low = randomness.add_laplace(counted - 2 * sums.values + sums.extra, scale)
    middle = randomness.add_laplace(2 * (counted - sums.extra), scale)
    high = randomness.add_laplace(counted + 2 * sums.values + sums.extra, scale)
    below, above = _far_cells(clip, sums, randomness)
    return PrivateTotalSums(
        low=low / (4 * clip.nat),
        middle=middle / (4 * clip.nat),
        high=high / (4 * clip.nat),
        missing=_missing(clip, sums, randomness),
        below=below,
        above=above,
    )


def _missing(clip: Clip, sums: ExactSums, randomness: Randomness) -> float:
    """D with noise, in nats."""
    return randomness.add_laplace(sums.missing, laplace_scale(clip.unit, 1)) / clip.unit


def _far_cells(clip: Clip, sums: ExactSums, randomness: Randomness) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """B with noise, in nats: the far cells below the clip and those above, each side from the middle outwards.

    Both are empty if the pass had no far cells, as with known bounds for all groups.
    """
    noisy = randomness.add_laplace_to_each(sums.far, STEP_BITS + clip.shift)
    nat = clip.nat
    cells = tuple(number / nat for number in noisy)
    return cells[:FAR_CELLS], cells[FAR_CELLS:]
