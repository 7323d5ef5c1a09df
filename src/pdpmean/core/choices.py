"""Choices: parameters that the caller may set instead of the plan; and checks of shapes and shares.

All of these are public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Literal, get_args

from pdpmean.core.bounds import Bounds
from pdpmean.core.checks import check_positive, check_probability
from pdpmean.errors import InvalidInputError

__all__ = [
    "ASSUMPTIONS",
    "Choices",
    "GivenShape",
    "MissingName",
    "ShapeName",
    "check_choices",
    "check_missing",
    "check_shape",
    "check_share",
    "floor_share",
    "given_shape",
]

GivenShape = Literal["any", "gaussian"]
"""The shapes that a caller may name."""
ShapeName = Literal["gaussian", "any", "bounds"]
"""The shapes that steps distinguish: "bounds" is "any" between two known bounds, where nothing need be located."""
# What each shape assumes, as the end of a sentence.
ASSUMPTIONS: dict[ShapeName, str] = {
    "gaussian": ", for a bell-shaped population",
    "any": "",
    "bounds": ", for values between known bounds",
}

MissingName = Literal["some", "none"]
"""Whether values may be missing."""
# The shape that an estimate uses for each shape given: between two known bounds, and otherwise.
_USED_SHAPES: dict[str, tuple[ShapeName, ShapeName]] = {
    "any": ("bounds", "any"),
    "gaussian": ("gaussian", "gaussian"),
}

SMALLEST_SHARE = Fraction(1, 2**10)  # of every budget; choices must leave as much for the average
SHARE_UNIT = 2**20  # shares are multiples of 1 / SHARE_UNIT, so that they are exact as fractions and as doubles


@dataclass(frozen=True)
class Choices:
    """Parameters that the caller sets instead of the plan; None leaves one to the plan.

    `center_share` and `scale_share` are fractions of every budget. `clip_half_width` is in standard deviations.
    `saturation` is the budget above which more budget of the same person adds nothing. An answer is refused if the
    probability of a miss exceeds `max_failure` for a mean that is `max_ratio` standard deviations away from 0, or for
    bounds that are this many standard deviations apart.
    """

    center_share: float | None = None
    scale_share: float | None = None
    clip_half_width: float | None = None
    saturation: float | None = None
    max_failure: float = 0.05
    max_ratio: float = 1e4

    def __post_init__(self) -> None:
        check_probability("max_failure", self.max_failure)
        check_positive("max_ratio", self.max_ratio)
        for name, check in (
            ("center_share", check_probability),
            ("scale_share", check_probability),
            ("clip_half_width", check_positive),
            ("saturation", check_positive),
        ):
            if getattr(self, name) is not None:
                check(name, getattr(self, name))
        if self.saturation is not None and self.saturation < 2.0**-20:
            raise InvalidInputError(
                f"saturation must be at least 2**-20; got {self.saturation!r}", name="saturation", value=self.saturation
            )
        if self.clip_half_width is not None and not 1e-3 <= self.clip_half_width <= 1e3:
            raise InvalidInputError(
                f"clip_half_width must lie in [0.001, 1000]; got {self.clip_half_width!r}",
                name="clip_half_width",
                value=self.clip_half_width,
            )
        if (self.center_share or 0) + (self.scale_share or 0) >= 1:
            raise InvalidInputError(
                "center_share and scale_share must leave a share for the average", name="center_share"
            )

    def check_without_locating(self) -> None:
        """Raise if a parameter is set that exists only for bell-shaped populations."""
        if self.center_share or self.scale_share or self.clip_half_width:
            raise InvalidInputError(
                "center_share, scale_share and clip_half_width apply only to shape='gaussian'",
                name="choices",
                value=self,
            )


def check_shape(shape: str, bounds: Bounds) -> ShapeName:
    """The shape that an estimate uses: the one given, or "bounds" for any shape between two known bounds."""
    if shape not in _USED_SHAPES:
        raise InvalidInputError(f"shape must be 'any' or 'gaussian'; got {shape!r}", name="shape", value=shape)
    between_bounds, otherwise = _USED_SHAPES[shape]
    return between_bounds if bounds.are_both_known else otherwise


def given_shape(used: ShapeName) -> GivenShape:
    """The shape that the caller gave, from the one that an estimate uses."""
    return "gaussian" if _USED_SHAPES["gaussian"][0] == used else "any"


def check_choices(choices: Choices | None) -> Choices:
    """The choices, checked; if there are none, everything is left to the plan."""
    if choices is not None and not isinstance(choices, Choices):
        raise InvalidInputError(f"choices must be pdpmean.Choices(...); got {choices!r}", name="choices", value=choices)
    return choices or Choices()


def check_missing(missing: str) -> bool:
    """Whether it is public knowledge that no value is missing."""
    if missing not in get_args(MissingName):
        raise InvalidInputError(f"missing must be 'some' or 'none'; got {missing!r}", name="missing", value=missing)
    return missing == "none"


def check_share(share: float | Fraction) -> Fraction:
    """The share of every budget to use, checked: at least 2**-10, rounded down to a multiple of 2**-20."""
    if not (isinstance(share, Real) and 0 < share <= 1):
        raise InvalidInputError(f"share must be above 0 and at most 1; got {share!r}", name="share", value=share)
    if share < SMALLEST_SHARE:
        raise InvalidInputError(f"share must be at least 2**-10; got {share!r}", name="share", value=share)
    return floor_share(Fraction(share))


def floor_share(share: Fraction | float) -> Fraction:
    """The share rounded down to a multiple of 1 / SHARE_UNIT, which a double holds exactly."""
    return Fraction(math.floor(share * SHARE_UNIT), SHARE_UNIT)
