"""What is released of values between known bounds: nothing but sums, since the clip is public.

A record adds integers: W is its weight, z with ``|z| <= H`` the step of its value, and ``s = floor(z**2 / H)``. Weights
are multiples of ``2**-q`` nats, so that a cost of ``W / 2**q`` is at most its share.

If the total weight is public, these sums are released::

    S = sum of W z          noise of scale H 2**q
    V = sum of W (H - s)    noise of scale 2 H 2**q
    D = sum of W, missing   noise of scale 2**q

A present record costs ``W / 2**q`` times ``|z| / H + (H - s) / (2 H)``, which is at most 1: ``s >= 2 |z| - H``, since
``z**2 / H - 2 |z| + H`` is a square over H, and the right side is an integer. A missing one is in D alone.

If it is private, so that records are added or removed, these are::

    F0 = sum of W (H - 2 z + s)    noise of scale 4 H 2**q
    F1 = sum of 2 W (H - s)        noise of scale 4 H 2**q
    F2 = sum of W (H + 2 z + s)    noise of scale 4 H 2**q

None of what a record adds is negative, for the same reason, and together it is ``4 W H``: a record costs ``W / 2**q``,
whatever its value. A missing one is in none, and costs nothing (docs/guarantee.md, "Known bounds").
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from pdpmean.core.integers import LARGEST_SHIFT, STEPS
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import Location, PrivateTotalSums, PublicTotalSums
from pdpmean.randomness import Randomness, laplace_scale
from pdpmean.release.clip import Clip
from pdpmean.release.shape import ExactSums

__all__ = ["BoundsClip", "KnownBoundsRelease"]


@dataclass(frozen=True)
class BoundsClip(Clip):
    """Beside the values are summed the weights and the squares; missing values are left out of all of these."""

    squares = True
    slack = Fraction(1, 2)  # 1 - z**2 is at most twice 1 - |z|

    @property
    def shift(self) -> int:
        """One less at most, since noise here has up to twice the scale that it has elsewhere."""
        return min(super().shift, LARGEST_SHIFT - 1)


class KnownBoundsRelease:
    """The clip is the bounds."""

    def public_location(self, plan: Plan) -> Location:
        """Between the bounds."""
        assert plan.bounds is not None
        low, high = plan.bounds
        half = high / 2 - low / 2
        return Location(center=low / 2 + high / 2, spread=half, half=half)

    def clip(self, plan: Plan, location: Location) -> BoundsClip:
        """The bounds."""
        return BoundsClip(plan.model, plan.shares["sum"], plan.largest_weight, location.middle, location.half)

    def release(
        self, plan: Plan, clip: Clip, sums: ExactSums, randomness: Randomness
    ) -> PublicTotalSums | PrivateTotalSums:
        """The sums that the model asks for."""
        if plan.model.budgets_are_public:
            return _with_public_total(clip, sums, randomness)
        return _with_private_total(clip, sums, randomness)


def _with_public_total(clip: Clip, sums: ExactSums, randomness: Randomness) -> PublicTotalSums:
    """S, V and D; who adds to V adds less to S, and who adds to D adds to neither."""
    spread = sums.counted * STEPS - sums.extra
    values = randomness.add_laplace(sums.values, laplace_scale(clip.nat, 1))
    spread = randomness.add_laplace(spread, laplace_scale(clip.nat, clip.slack))
    missing = randomness.add_laplace(sums.missing, laplace_scale(clip.unit, 1))
    return PublicTotalSums(
        values=values / clip.nat,
        spread=spread / clip.nat,
        missing=missing / clip.unit,
        weight=(sums.counted + sums.missing) / clip.unit,  # of public budgets
    )


def _with_private_total(clip: Clip, sums: ExactSums, randomness: Randomness) -> PrivateTotalSums:
    """F0, F1 and F2, of which a record has at most as much together as one of them may have."""
    everybody = sums.counted * STEPS
    scale = laplace_scale(4 * clip.nat, 1)
    low = randomness.add_laplace(everybody - 2 * sums.values + sums.extra, scale)
    middle = randomness.add_laplace(2 * (everybody - sums.extra), scale)
    high = randomness.add_laplace(everybody + 2 * sums.values + sums.extra, scale)
    return PrivateTotalSums(low / (4 * clip.nat), middle / (4 * clip.nat), high / (4 * clip.nat))
