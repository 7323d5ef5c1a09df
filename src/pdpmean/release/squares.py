"""The sums of clipped values and of their squares, with noise: all that is released of a clip that is known.

A record adds integers: W is its weight, z with ``|z| <= H`` the step of its value, and ``s = floor(z**2 / H)``. Weights
are multiples of ``2**-q`` nats, so that a cost of ``W / 2**q`` is at most its share.

If the total weight is public, these sums are released::

    S = sum of W z          noise of scale H 2**q
    V = sum of W (H - s)    noise of scale 2 H 2**q
    D = sum of W, missing   noise of scale 2**q
    B = sum of W b, far     noise of scale H 2**q, for each cell of far values

A value within the clip, or not far beyond it, costs ``W / 2**q`` times ``|z| / H + (H - s) / (2 H)``, which is at most
1: ``s >= 2 |z| - H``, since ``z**2 / H - 2 |z| + H`` is a square over H, and the right side is an integer. A missing
value is in D alone. A far one is in B alone, in one cell, with ``0 <= b <= H``.

If it is private, so that records are added or removed, D and B are the same, and the others are::

    F0 = sum of W (H - 2 z + s)    noise of scale 4 H 2**q
    F1 = sum of 2 W (H - s)        noise of scale 4 H 2**q
    F2 = sum of W (H + 2 z + s)    noise of scale 4 H 2**q

None of what a record adds is negative, for the same reason, and together it is ``4 W H``: a record costs ``W / 2**q``,
whatever its value (docs/guarantee.md, "Average").
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
    """Beside the values are summed the weights and the squares; missing values are left out of all of these."""

    squares = True
    slack = Fraction(1, 2)  # 1 - z**2 is at most twice 1 - |z|

    @property
    def shift(self) -> int:
        """One less at most, since noise here has up to twice the scale that it has elsewhere."""
        return min(super().shift, LARGEST_SHIFT - 1)


def noisy_sums(plan: Plan, clip: Clip, sums: ExactSums, randomness: Randomness) -> PublicTotalSums | PrivateTotalSums:
    """The sums that the model asks for: a record costs at most its share."""
    of_clip = _with_public_total if plan.model.budgets_are_public else _with_private_total
    return of_clip(clip, sums, randomness)


def _with_public_total(clip: Clip, sums: ExactSums, randomness: Randomness) -> PublicTotalSums:
    """S, V, D and B; who adds to V adds less to S, and who adds to D or B adds to no other."""
    spread = sums.counted * STEPS - sums.extra
    values = randomness.add_laplace(sums.values, laplace_scale(clip.nat, 1))
    spread = randomness.add_laplace(spread, laplace_scale(clip.nat, clip.slack))
    below, above = _far_cells(clip, sums, randomness)
    return PublicTotalSums(
        values=values / clip.nat,
        spread=spread / clip.nat,
        missing=_missing(clip, sums, randomness),
        weight=sums.everybody / clip.unit,
        below=below,
        above=above,
    )


def _with_private_total(clip: Clip, sums: ExactSums, randomness: Randomness) -> PrivateTotalSums:
    """F0, F1 and F2, of which a record has at most as much together as one of them may have; D and B."""
    everybody = sums.counted * STEPS
    scale = laplace_scale(4 * clip.nat, 1)
    low = randomness.add_laplace(everybody - 2 * sums.values + sums.extra, scale)
    middle = randomness.add_laplace(2 * (everybody - sums.extra), scale)
    high = randomness.add_laplace(everybody + 2 * sums.values + sums.extra, scale)
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
    """D, in nats."""
    return randomness.add_laplace(sums.missing, laplace_scale(clip.unit, 1)) / clip.unit


def _far_cells(clip: Clip, sums: ExactSums, randomness: Randomness) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """B, in nats, of the cells below and of those above, from the middle outwards; none where nothing is far."""
    noisy = randomness.add_laplace_to_each(sums.far, STEP_BITS + clip.shift)
    nat = clip.nat
    cells = tuple(number / nat for number in noisy)
    return cells[:FAR_CELLS], cells[FAR_CELLS:]
