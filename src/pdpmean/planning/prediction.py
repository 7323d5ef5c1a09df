"""Predictions: how far off the steps will be, from the weights they give to all records.

Errors are in units of the population's standard deviation. The formulas are derived in docs/how-it-works.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.special import expit

from pdpmean.laws.clipped_normal import MEDIAN_SIZE, centered
from pdpmean.laws.lattice import Lattice, everywhere, keys_of, positive

__all__ = [
    "BOUNDS_OCTAVES",
    "NARROWEST",
    "NEAR",
    "TENT_PART",
    "Sums",
    "center_error",
    "miss_probability",
    "product_error",
    "scale_error",
    "tent_error",
    "tent_trust",
]

_LARGEST_RATIO = 2.0**24  # beyond it, centres that differ by a standard deviation are not told apart
# The tent of a value that is z on the clip's scale of -1 to 1 is 1 - |z|: what it leaves of the clip. Of what a record
# does not spend on the sum of a gaussian, so much goes to its tent, and what is left to whether it is
# near. A larger part makes the mean hardly more exact.
TENT_PART = Fraction(3, 4)
# Values within so much of the located spread are near. Of whole numbers both centre and spread are mostly whole: with a
# quarter it would be left to chance whether those next to the centre are near where the spread is 4.
NEAR = 0.26
NARROWEST = 1.25 * NEAR * MEDIAN_SIZE  # of a clip, in standard deviations: in one that is narrower, nearly all are near
BOUNDS_OCTAVES = 40  # how far below the width of bounds a spread is sought

_DENSITY = 1 / math.sqrt(2 * math.pi)  # rank per standard deviation, at the median of a normal
_SIZE_DENSITY = 2 * MEDIAN_SIZE * math.exp(-(MEDIAN_SIZE**2) / 2) * _DENSITY  # rank of |Z| per unit of log scale


@dataclass(frozen=True)
class Sums:
    """The sum of the weights that a step gives to all records, in nats, and the sum of their squares."""

    weight: float
    square: float

    @property
    def people(self) -> float:
        """How many equally weighted people would have the same sampling error."""
        return self.weight**2 / self.square

    def scaled(self, factor: float) -> Sums:
        """The sums when every weight is times `factor`."""
        return Sums(self.weight * factor, self.square * factor**2)


def center_error(center: Sums) -> tuple[float, float]:
    """The error of the located centre, about Laplace of the first number plus normal of the second."""
    return 1 / (_DENSITY * center.weight), math.sqrt(math.pi / 2 * center.square) / center.weight


def scale_error(scale: Sums) -> tuple[float, float]:
    """The error of the logarithm of the located scale, likewise."""
    return 1 / (_SIZE_DENSITY * scale.weight), math.sqrt(scale.square) / (2 * _SIZE_DENSITY * scale.weight)


def tent_trust(scale: Sums, width: float, tents: float) -> float:
    """How much to trust the released tents, and not what they should add up to where the total weight is public.

    They are expected to add up to `tents` nats; what they should be errs as the located scale does. Each is trusted in
    proportion to the other's squared error.
    """
    noise, sampling = (centered(width).tent_slope * error for error in scale_error(scale))
    off_scale = 2 * noise**2 + sampling**2
    return off_scale / (off_scale + tent_error(tents) ** 2)


def tent_error(tents: float) -> float:
    """The error of the released tents, relative to what they add up to, in nats."""
    return math.sqrt(2) / (float(TENT_PART) * tents)


def product_error(center: Sums, scale: Sums, width: float, off_tent: float) -> float:
    """The error that reaches the mean from the centre being off, and the scale or the total tent being off, too.

    A clip of `width` standard deviations; `off_tent` is the error of the total tent, relative to it.
    """
    errors = center_error(center), scale_error(scale)
    off_center, off_scale = (2 * noise**2 + sampling**2 for noise, sampling in errors)
    # What is inside and the mean tent over the width both fall as the scale grows; the mean follows their ratio.
    inside_slope = 2 * width * math.exp(-(width**2) / 2) * _DENSITY / centered(width).inside
    sensitivity = centered(width).tent_slope - inside_slope
    return math.sqrt(off_center * (sensitivity**2 * off_scale + off_tent**2))


def miss_probability(
    center: Sums, scale: Sums | None, ratio: float, *, prior: float = 1.0, within_bounds: bool
) -> float:
    """The chance that centre or scale lands far off: the mass there over the mass where it belongs.

    The mean is `ratio` standard deviations from 0 or, if `within_bounds`, the bounds so many wide. Without `scale`, the
    centre's chance alone. Only the part `prior` of the centre's measure is spread over all doubles.
    """
    if not within_bounds and ratio > _LARGEST_RATIO:
        return 1.0
    if within_bounds:
        per_sigma, per_octave = -math.log(max(ratio, 1.0)), 1 / BOUNDS_OCTAVES
    else:
        octaves = math.floor(math.log2(max(ratio, 1.0)))
        per_sigma = _octave_mass(everywhere(), octaves) - octaves * math.log(2)
        per_octave = math.exp(_octave_mass(positive(), 0))
    wide = min(2 / (_DENSITY * center.weight), 2.0)  # standard deviations; farther off is a miss
    center_miss = float(expit(-center.weight / 2 - per_sigma - math.log(prior * wide)))
    if scale is None:
        return center_miss
    near = per_octave * min(MEDIAN_SIZE / (_SIZE_DENSITY * scale.weight), 1.0)
    # Four times too large, anything at all, four times too small: P(|Z| > 2.7) = 0.007, P(|Z| < 0.169) = 0.134.
    masses = (-0.493 * scale.weight, -scale.weight / 2, -0.366 * scale.weight + math.log(near))
    far = max(masses) + math.log(sum(math.exp(mass - max(masses)) for mass in masses))
    scale_miss = float(expit(far - math.log(2 * near)))
    return 1 - (1 - center_miss) * (1 - scale_miss)


@lru_cache(maxsize=64)
def _octave_mass(lattice: Lattice, exponent: int) -> float:
    """The logarithm of the part of a lattice's measure that lies in [2**exponent, 2**(exponent + 1))."""
    low, high = (lattice.below(int(key)) for key in keys_of(np.ldexp(1.0, np.array([exponent, exponent + 1]))))
    return math.log(high - low) - math.log(lattice.total)
