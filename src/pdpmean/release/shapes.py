"""How each shape of population is released: the implementations of the protocols in `shape.py`, by name."""

from __future__ import annotations

from pdpmean.core.choices import ShapeName
from pdpmean.release.any_shape import AnyShapeRelease
from pdpmean.release.gaussian import GaussianRelease
from pdpmean.release.known_bounds import KnownBoundsRelease
from pdpmean.release.shape import LocatingRelease, ShapeRelease

__all__ = ["LOCATING", "RELEASES"]

LOCATING: dict[ShapeName, LocatingRelease] = {"gaussian": GaussianRelease(), "any": AnyShapeRelease()}
RELEASES: dict[ShapeName, ShapeRelease] = {**LOCATING, "bounds": KnownBoundsRelease()}
