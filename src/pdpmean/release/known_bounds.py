"""What is released of values between known bounds: nothing but sums, since the clip is public."""

from __future__ import annotations

from pdpmean.planning.plan import Plan
from pdpmean.planning.released import Location, PrivateTotalSums, PublicTotalSums
from pdpmean.randomness import Randomness
from pdpmean.release.clip import Clip
from pdpmean.release.shape import ExactSums
from pdpmean.release.squares import SquareClip, noisy_sums

__all__ = ["KnownBoundsRelease"]


class KnownBoundsRelease:
    """The clip is the bounds."""

    def public_location(self, plan: Plan) -> Location:
        """Between the bounds."""
        low, high = plan.bounds
        half = plan.bounds.half
        return Location(center=low / 2 + high / 2, spread=half, half=half)

    def clip(self, plan: Plan, location: Location) -> SquareClip:
        """The bounds."""
        return SquareClip(plan.model, plan.shares["sum"], plan.largest_weight, location.middle, location.half)

    def release(
        self, plan: Plan, clip: Clip, sums: ExactSums, randomness: Randomness
    ) -> PublicTotalSums | PrivateTotalSums:
        """The sums that the model asks for."""
        return noisy_sums(plan, clip, sums, randomness)
