"""The mean of a population with known bounds, and its posterior, from released and public numbers alone.

The estimate is simply sum over weight. Its error is not simple: near a bound it is skewed, with few people it is
discrete, the variance is unknown, and values may be missing. So the posterior of the mean is computed on a grid:

- The prior is Jeffreys' for a share, which is flat in the angle t with mean = sin(t / 2)**2.
- The likelihood has noise and sampling (`noisy_sums.py`). It is averaged over the variances that the second sum leaves
  possible (`two_point.py`), and over the weight that may be missing, most likely none.
- For the ends of intervals, the posterior is tilted outwards a little, since counts are discrete (`GridLaw`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pdpmean.core.quiet import quietly
from pdpmean.core.types import Floats
from pdpmean.laws.grid_law import GridLaw
from pdpmean.laws.noisy_sums import NoisySums, NoisySumsOfPrivateTotal, NoisySumsOfPublicTotal
from pdpmean.laws.two_point import binomial, matters_by_count

__all__ = ["BoundedMean", "GridLaw", "from_private_total", "from_public_total"]

_POINTS = 129  # of the grid
_NARROWEST = 1e-9  # least unit of the grid, as an angle
_TILT = 0.35  # power of the odds; with 0, intervals for a share are Jeffreys', with 0.5 Clopper and Pearson's
_AT_A_BOUND = 1e-6  # added to both sides of the odds, so that they are finite
_UNLIKELY = 1e-200  # added to densities, so that a posterior can be normalized whatever was released
_TOGETHER = 16  # groups handled at once; larger arrays would not stay in the processor's cache


@dataclass(frozen=True)
class BoundedMean:
    """The mean of one group of values between 0 and 1, and what else the released numbers say about them."""

    mean: float
    law: GridLaw
    """Where the true mean lies."""

    missing: float
    """Share of the weight that is missing; 0 where the total is private, since that excludes missing values."""

    deviation: float
    """Standard deviation of the values; at most 1/2."""


@quietly
def from_public_total(
    sums: Floats, weights_less_squares: Floats, missing: Floats, weights: Floats, people: Floats
) -> list[BoundedMean]:
    """The mean of each group, where its total weight is public.

    Records have weights w in nats and values z between -1 and 1. The arguments, by group, are the noisy sums of w z, of
    w (1 - z^2) and of w over missing values; the total weight; and the effective number of people, which is the square
    of the total weight over the sum of squared weights.
    """
    batches = _batches(sums, weights_less_squares, missing, weights, people)
    return [mean for columns in batches for mean in _conclude(NoisySumsOfPublicTotal.read(*columns))]


@quietly
def from_private_total(lows: Floats, middles: Floats, highs: Floats, people: Floats) -> list[BoundedMean]:
    """The mean of each group, where its total weight is private.

    Records have weights w in nats and values u between 0 and 1. The arguments, by group, are the noisy sums of
    w (1 - u)^2, of 2 w u (1 - u) and of w u^2; and the effective number of people, as in `from_public_total`.
    """
    batches = _batches(lows, middles, highs, people)
    return [mean for columns in batches for mean in _conclude(NoisySumsOfPrivateTotal.read(*columns))]


def _batches(*columns: Floats) -> Iterator[list[Floats]]:
    """The columns of a few groups at a time."""
    table = np.array(np.broadcast_arrays(*columns), dtype=np.float64).reshape(len(columns), -1)
    for start in range(0, table.shape[1], _TOGETHER):
        yield list(table[:, start : start + _TOGETHER])


def _conclude(released: NoisySums) -> list[BoundedMean]:
    """The mean of each group, its posterior averaged over the nodes of the variance."""
    shares = released.variance_shares()
    largest = released.interior * (1 - released.interior)
    sampling_variance = shares.places[:, -1] * largest / released.people  # with the largest of the variances
    spread = np.minimum(np.sqrt(sampling_variance + released.noise_variance), 1.0)
    angles, means = _grid(released.means, spread)
    density = np.zeros_like(means)
    for share, chance in zip(shares.places.T, shares.chances.T, strict=True):
        density += chance[:, None] * _likelihood(released, means, released.people / share, spread)
    # Noise smooths what is discrete, so the posterior is tilted less where there is more of it.
    tilt = _TILT * sampling_variance / (sampling_variance + released.noise_variance)
    laws = _laws(released, shares.means * largest, means, *_tilted(density, angles, means, tilt))
    return [
        BoundedMean(law.mean, law, missing, deviation)
        for law, missing, deviation in zip(
            laws, released.missing.tolist(), np.sqrt(shares.means * largest).tolist(), strict=True
        )
    ]


def _grid(means: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """The grid as angles and as means: from one bound to the other, and dense within `spread` of the estimate."""
    middle = 2 * np.arcsin(np.sqrt(means))
    slope = np.maximum(np.sqrt(means * (1 - means)), np.sqrt(spread))  # derivative of the mean by its angle
    unit = np.maximum(spread / slope, _NARROWEST)[:, None]
    reach = np.arcsinh(np.pi / unit)
    angles = np.clip(middle[:, None] + unit * np.sinh(reach * np.linspace(-1.0, 1.0, _POINTS)), 0.0, np.pi)
    return angles, np.sin(angles / 2) ** 2


def _likelihood(released: NoisySums, means: Floats, tries: Floats, spread: Floats) -> Floats:
    """Likelihood of the sums by group and mean; the sample's mean is binomial where few counts matter, else normal."""
    by_count = matters_by_count(tries, spread)
    likelihood = np.empty_like(means)
    if by_count.any():
        few = released.of(by_count)
        law = binomial(means[by_count], tries[by_count], few.means)
        likelihood[by_count] = few.likelihood_by_count(law)
    if not by_count.all():
        likelihood[~by_count] = released.of(~by_count).likelihood(tries[~by_count], means[~by_count])
    return likelihood


def _tilted(density: Floats, angles: Floats, means: Floats, tilt: Floats) -> tuple[Floats, Floats]:
    """The distribution functions of the density tilted downwards and upwards, by powers of the odds."""
    relative = density / np.maximum(np.max(density, axis=1, keepdims=True), _UNLIKELY) + _UNLIKELY
    odds = ((means + _AT_A_BOUND) / (1 - means + _AT_A_BOUND)) ** tilt[:, None]
    return _chances(relative / odds, angles), _chances(relative * odds, angles)


def _chances(density: Floats, angles: Floats) -> Floats:
    """The distribution function of a density on a grid, by the trapezoidal rule."""
    areas = (density[:, 1:] + density[:, :-1]) / 2 * np.diff(angles, axis=1)
    below = np.cumsum(areas, axis=1)
    return np.concatenate([np.zeros_like(below[:, :1]), below / below[:, -1:]], axis=1)


def _laws(
    released: NoisySums, variances: Floats, means: Floats, low_chances: Floats, high_chances: Floats
) -> Iterator[GridLaw]:
    """The posterior of each group as a `GridLaw`; `variances` are those of the values."""
    estimates = released.means.tolist()
    noise = np.sqrt(released.noise_variance).tolist()
    sampling = np.sqrt(variances / released.people).tolist()
    for row in zip(means, low_chances, high_chances, estimates, noise, sampling, strict=True):
        yield GridLaw(*row)
