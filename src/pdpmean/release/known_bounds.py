"""The release of values between two known bounds: sums alone, because the clip is public."""

from __future__ import annotations

from pdpmean.planning.plan import Plan
from pdpmean.planning.released import Location, PrivateTotalSums, PublicTotalSums
from pdpmean.randomness import Randomness
from pdpmean.release.clip import Clip
from pdpmean.release.shape import ExactSums
from pdpmean.release.squares import SquareClip, noisy_sums

__all__ = ["KnownBoundsRelease"]


class KnownBoundsRelease:
    """Release of values between two known bounds, which are the clipping bounds; nothing is located."""

    def public_location(self, plan: Plan) -> Location:
        """The middle between the bounds, and half the distance between them."""
        low, high = plan.bounds
        half = plan.bounds.half
        return Location(center=low / 2 + high / 2, half=half)

    def clip(self, plan: Plan, location: Location) -> SquareClip:
        """The clip from one bound to the other."""
        return SquareClip(plan.model, plan.shares["sum"], plan.largest_weight, location.middle, location.half)

    def release(
        self, plan: Plan, clip: Clip, sums: ExactSums, randomness: Randomness
    ) -> PublicTotalSums | PrivateTotalSums:
        """The noisy sums of values, squares and missing weight."""
        return noisy_sums(plan, clip, sums, randomness)
