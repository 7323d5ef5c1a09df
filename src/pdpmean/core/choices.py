"""Choices: what a person may decide instead of the plan; and checks of shapes and shares, all of them public."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Literal

from pdpmean.core.checks import check_positive, check_probability
from pdpmean.errors import InvalidInputError

__all__ = [
    "ASSUMPTIONS",
    "Choices",
    "ShapeName",
    "check_bounds",
    "check_choices",
    "check_shape",
    "check_share",
    "floor_share",
]

ShapeName = Literal["gaussian", "any", "bounds"]
# What each takes for granted, as the end of a sentence.
ASSUMPTIONS: dict[ShapeName, str] = {
    "gaussian": ", for a bell-shaped population",
    "any": "",
    "bounds": ", for values between known bounds",
}
# What is taken for granted where no shape is given, with bounds and without; and what cannot do without them.
_WITH_BOUNDS: ShapeName = "bounds"
_WITHOUT_BOUNDS: ShapeName = "gaussian"
_NEED_BOUNDS = frozenset({_WITH_BOUNDS})

SMALLEST_SHARE = Fraction(1, 2**10)  # of every budget, and what choices must leave to average
SHARE_UNIT = 2**20  # shares are multiples of 1 / SHARE_UNIT: exact as fractions and as doubles


@dataclass(frozen=True)
class Choices:
    """What a person may decide instead of the plan; None leaves it to the plan.

    `center_share` and `scale_share` are parts of every budget, `clip_width` is in standard deviations, `saturation` is
    the budget above which more no longer counts. An answer is refused when the chance that `locate` misses exceeds
    `max_failure` for a mean `max_ratio` standard deviations from 0 (or bounds that many wide).
    """

    center_share: float | None = None
    scale_share: float | None = None
    clip_width: float | None = None
    saturation: float | None = None
    max_failure: float = 0.05
    max_ratio: float = 1e4

    def __post_init__(self) -> None:
        check_probability("max_failure", self.max_failure)
        check_positive("max_ratio", self.max_ratio)
        for name, check in (
            ("center_share", check_probability),
            ("scale_share", check_probability),
            ("clip_width", check_positive),
            ("saturation", check_positive),
        ):
            if getattr(self, name) is not None:
                check(name, getattr(self, name))
        if self.saturation is not None and self.saturation < 2.0**-20:
            raise InvalidInputError(
                f"saturation must be at least 2**-20; got {self.saturation!r}", name="saturation", value=self.saturation
            )
        if self.clip_width is not None and not 1e-3 <= self.clip_width <= 1e3:
            raise InvalidInputError(
                f"clip_width must lie in [0.001, 1000]; got {self.clip_width!r}",
                name="clip_width",
                value=self.clip_width,
            )
        if (self.center_share or 0) + (self.scale_share or 0) >= 1:
            raise InvalidInputError("center_share and scale_share must leave something to average", name="center_share")

    def check_without_locating(self) -> None:
        """Raise if something is chosen that only a bell-shaped population has."""
        if self.center_share or self.scale_share or self.clip_width:
            raise InvalidInputError(
                "center_share, scale_share and clip_width are choices for shape='gaussian' alone",
                name="choices",
                value=self,
            )


def check_shape(shape: str | None, bounds: tuple[float, float] | None) -> ShapeName:
    """The shape a population is taken to have; unless one is given, whether there are bounds decides."""
    if shape is None:
        return _WITH_BOUNDS if bounds else _WITHOUT_BOUNDS
    if shape not in ASSUMPTIONS:
        raise InvalidInputError(
            f"shape must be 'gaussian', 'any' or 'bounds'; got {shape!r}", name="shape", value=shape
        )
    if shape in _NEED_BOUNDS and bounds is None:
        raise InvalidInputError("shape='bounds' needs bounds=(low, high)", name="bounds")
    return shape


def check_choices(choices: Choices | None) -> Choices:
    """The choices, or none made."""
    if choices is not None and not isinstance(choices, Choices):
        raise InvalidInputError(f"choices must be pdpmean.Choices(...); got {choices!r}", name="choices", value=choices)
    return choices or Choices()


def check_share(share: float | Fraction) -> Fraction:
    """The part of every budget to use, at least 2**-10, rounded down to a multiple of 2**-20."""
    if not (isinstance(share, Real) and 0 < share <= 1):
        raise InvalidInputError(f"share must be above 0 and at most 1; got {share!r}", name="share", value=share)
    if share < SMALLEST_SHARE:
        raise InvalidInputError(f"share must be at least 2**-10; got {share!r}", name="share", value=share)
    return floor_share(Fraction(share))


def check_bounds(bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    """What every value is publicly known to lie between."""
    if bounds is None:
        return None
    try:
        low, high = (float(end) for end in bounds)
    except (OverflowError, TypeError, ValueError):
        low, high = math.nan, math.nan
    if not -math.inf < low < high < math.inf:
        raise InvalidInputError(
            f"bounds must be (low, high), finite, with low < high; got {bounds!r}", name="bounds", value=bounds
        )
    return low, high


def floor_share(share: Fraction | float) -> Fraction:
    """The share rounded down to what a double holds exactly."""
    return Fraction(math.floor(share * SHARE_UNIT), SHARE_UNIT)
