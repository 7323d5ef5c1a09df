"""Predictions: the errors of the steps, and the probability of a miss, from the weights of all records.

They hold for a normal population, and errors are in its standard deviations. The formulas are derived in
docs/how-it-works.md.
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
    "WeightSums",
    "center_error",
    "miss_probability",
    "product_error",
    "scale_error",
    "tent_error",
    "tent_trust",
]

# The largest ratio of mean to standard deviation: beyond it, centres a standard deviation apart are the same candidate.
_LARGEST_RATIO = 2.0**24
# A clipped value z, on a scale from -1 to 1, spends |z| of its weight on the sum of values. The rest, 1 - |z|, is its
# tent. This part of it is spent on the sum of tents, and what is left on counting values near the centre. A larger
# part would hardly make the mean more exact.
TENT_PART = Fraction(3, 4)
# Values are near if they are within this multiple of the located spread from the centre. The centre and spread of whole
# numbers are mostly whole: with exactly 1/4 and a spread of 4, rounding would decide whether those next to the centre
# are near.
NEAR = 0.26
# The narrowest clip, in standard deviations, in which counting near values makes sense: in a narrower one nearly all
# values would be near.
NARROWEST = 1.25 * NEAR * MEDIAN_SIZE
BOUNDS_OCTAVES = 40  # between two known bounds, spreads are sought down to 2**-40 of half their distance

_DENSITY = 1 / math.sqrt(2 * math.pi)  # the density of a normal at its median: rank per standard deviation
_SIZE_DENSITY = 2 * MEDIAN_SIZE * math.exp(-(MEDIAN_SIZE**2) / 2) * _DENSITY  # rank of |Z| per unit of log scale


@dataclass(frozen=True)
class WeightSums:
    """The total weight of all records in a step, in nats, and the sum of the squared weights.

    Noise is inversely proportional to the total; the sampling variance is square / weight**2.
    """

    weight: float
    square: float

    @property
    def people(self) -> float:
        """The number of equally weighted people who would have the same sampling error."""
        return self.weight**2 / self.square

    def scaled(self, factor: float) -> WeightSums:
        """The sums if every weight is multiplied by `factor`."""
        return WeightSums(self.weight * factor, self.square * factor**2)


def center_error(center: WeightSums) -> tuple[float, float]:
    """The error of the located centre: the scale of its Laplace part, and the std of its normal part."""
    return 1 / (_DENSITY * center.weight), math.sqrt(math.pi / 2 * center.square) / center.weight


def scale_error(scale: WeightSums) -> tuple[float, float]:
    """The error of the logarithm of the located scale: Laplace scale and normal std, as in `center_error`."""
    return 1 / (_SIZE_DENSITY * scale.weight), math.sqrt(scale.square) / (2 * _SIZE_DENSITY * scale.weight)


def tent_trust(scale: WeightSums, width: float, tents: float) -> float:
    """The weight from 0 to 1 of the released sum of tents, if the total weight is public.

    In that case the sum of tents is also predicted: about `tents` nats, with the error of the located scale. The two
    are averaged with inverse-variance weights. The clip is `width` standard deviations to either side.
    """
    noise, sampling = (centered(width).tent_slope * error for error in scale_error(scale))
    variance = 2 * noise**2 + sampling**2
    return variance / (variance + tent_error(tents) ** 2)


def tent_error(tents: float) -> float:
    """The relative error (std) of the released sum of tents, if it is `tents` nats."""
    return math.sqrt(2) / (float(TENT_PART) * tents)


def product_error(center: WeightSums, scale: WeightSums, width: float, relative_tent_error: float) -> float:
    """The error (std) of the mean that is due to errors of the centre together with errors of the scale or the tents.

    To first order, neither moves the mean alone. The clip is `width` standard deviations to either side.
    """
    errors = center_error(center), scale_error(scale)
    center_variance, scale_variance = (2 * noise**2 + sampling**2 for noise, sampling in errors)
    # The part inside the clip and the mean tent over the width both fall as the scale grows. The mean follows their
    # ratio.
    inside_slope = 2 * width * math.exp(-(width**2) / 2) * _DENSITY / centered(width).inside
    slope_of_ratio = centered(width).tent_slope - inside_slope
    return math.sqrt(center_variance * (slope_of_ratio**2 * scale_variance + relative_tent_error**2))


def miss_probability(
    center: WeightSums, scale: WeightSums | None, ratio: float, *, prior: float = 1.0, within_bounds: bool
) -> float:
    """The probability that the located centre or scale is far off.

    The exponential mechanism chooses a candidate with probability proportional to its prior times the exponential of
    its score. So this compares the mass of far candidates with the mass of those near the truth.

    Parameters
    ----------
    center, scale
        The weights behind each choice. Without `scale`, only the centre may be missed.
    ratio
        The distance of the mean from 0 or, if `within_bounds`, of the bounds from each other, in standard deviations.
    prior
        The part of the centre's prior that is spread over all doubles.
    within_bounds
        Whether candidates lie between two known bounds.

    """
    if not within_bounds and ratio > _LARGEST_RATIO:
        return 1.0
    # The logarithm of the prior mass of one standard deviation at the mean, and the prior mass of one octave of scales.
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
    # Log masses of scales that are four times too large, anything at all, and four times too small. Scores are
    # distances from the median rank: P(|Z| > 2.7) = 0.007 and P(|Z| < 0.169) = 0.134 give 0.493 and 0.366.
    log_masses = (-0.493 * scale.weight, -scale.weight / 2, -0.366 * scale.weight + math.log(near))
    far = max(log_masses) + math.log(sum(math.exp(mass - max(log_masses)) for mass in log_masses))
    scale_miss = float(expit(far - math.log(2 * near)))
    return 1 - (1 - center_miss) * (1 - scale_miss)


@lru_cache(maxsize=64)
def _octave_mass(lattice: Lattice, exponent: int) -> float:
    """The logarithm of the part of a lattice's prior that lies in [2**exponent, 2**(exponent + 1))."""
    low, high = (lattice.below(int(key)) for key in keys_of(np.ldexp(1.0, np.array([exponent, exponent + 1]))))
    return math.log(high - low) - math.log(lattice.total)
