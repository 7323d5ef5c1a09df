"""The mean of a population with known bounds, from released and public numbers alone.

Sum over weight is the estimate, and needs no law. Its error does: near a bound it is skew, with few people it is
discrete, nobody knows the variance, and something may be missing. So there is a posterior of the mean on a grid:

- the prior is Jeffreys' for a share, which is flat in the angle t with mean = sin(t / 2)**2;
- the sums are as likely as noise and sampling have it (`noisy_sums.py`), for each variance that the second sum leaves
  (`two_point.py`) and each weight that may be missing, of which the likeliest is none;
- for the ends of intervals the posterior leans outwards a little, as counts are discrete (`GridLaw`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pdpmean.core.quiet import quietly
from pdpmean.core.types import Floats
from pdpmean.laws.grid_law import GridLaw
from pdpmean.laws.noisy_sums import NoisySums, PrivateTotal, PublicTotal
from pdpmean.laws.two_point import binomial, matters_by_count

__all__ = ["BoundedMean", "GridLaw", "from_private_total", "from_public_total"]

_POINTS = 129
_NARROWEST = 1e-9  # of a grid, as an angle
_TILT = 0.35  # with 0, intervals for a share are Jeffreys'; with 0.5, Clopper and Pearson's
_AT_A_BOUND = 1e-6  # odds are not larger than one over this
_UNLIKELY = 1e-200  # so that a posterior is one whatever was released
_TOGETHER = 16  # groups; the arrays of more would not stay in the processor's cache


@dataclass(frozen=True)
class BoundedMean:
    """What released numbers say of values between 0 and 1."""

    mean: float
    law: GridLaw
    """Where the true mean lies."""

    missing: float
    """The share of the weight that is missing: 0 where the total is private, which is that of the values there are."""

    deviation: float
    """Standard deviation of the values, at most a half."""


@quietly
def from_public_total(
    sums: Floats, spreads: Floats, missing: Floats, weights: Floats, people: Floats
) -> list[BoundedMean]:
    """The mean of each group, where its total weight is public.

    Of weights in nats and values z between -1 and 1: the noisy sums of w z, of w (1 - z^2) and of w over missing
    values, the total weight, and its square over the sum of squares.
    """
    groups = _few_together(sums, spreads, missing, weights, people)
    return [found for columns in groups for found in _conclude(PublicTotal.read(*columns))]


@quietly
def from_private_total(lows: Floats, middles: Floats, highs: Floats, people: Floats) -> list[BoundedMean]:
    """The mean of each group, where its total weight is private.

    Of weights in nats and values u between 0 and 1: the noisy sums of w (1 - u)^2, of 2 w u (1 - u) and of w u^2, and
    the square of the total weight over the sum of squares.
    """
    groups = _few_together(lows, middles, highs, people)
    return [found for columns in groups for found in _conclude(PrivateTotal.read(*columns))]


def _few_together(*columns: Floats) -> Iterator[list[Floats]]:
    """A few groups at a time."""
    table = np.array(np.broadcast_arrays(*columns), dtype=np.float64).reshape(len(columns), -1)
    for start in range(0, table.shape[1], _TOGETHER):
        yield list(table[:, start : start + _TOGETHER])


def _conclude(released: NoisySums) -> list[BoundedMean]:
    """Posteriors over all variances that may be, each as if it were known."""
    shares = released.variance_shares()
    largest = released.interior * (1 - released.interior)
    at_most = shares.places[:, -1] * largest / released.people
    spread = np.minimum(np.sqrt(at_most + released.noise_variance), 1.0)
    angles, means = _grid(released.means, spread)
    density = np.zeros_like(means)
    for share, chance in zip(shares.places.T, shares.chances.T, strict=True):
        density += chance[:, None] * _likelihood(released, means, released.people / share, spread)
    lean = _TILT * at_most / (at_most + released.noise_variance)  # noise smooths what is discrete
    laws = _laws(released, shares.means * largest, means, *_tilted(density, angles, means, lean))
    return [
        BoundedMean(law.mean, law, missing, deviation)
        for law, missing, deviation in zip(
            laws, released.missing.tolist(), np.sqrt(shares.means * largest).tolist(), strict=True
        )
    ]


def _grid(means: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Angles and means, dense within `spread` of the estimate, and from one bound to the other."""
    middle = 2 * np.arcsin(np.sqrt(means))
    slope = np.maximum(np.sqrt(means * (1 - means)), np.sqrt(spread))  # of the mean by its angle
    unit = np.maximum(spread / slope, _NARROWEST)[:, None]
    reach = np.arcsinh(np.pi / unit)
    angles = np.clip(middle[:, None] + unit * np.sinh(reach * np.linspace(-1.0, 1.0, _POINTS)), 0.0, np.pi)
    return angles, np.sin(angles / 2) ** 2


def _likelihood(released: NoisySums, means: Floats, tries: Floats, spread: Floats) -> Floats:
    """How likely the sums are for each mean, with the law of the sample's mean that is exact enough."""
    by_count = matters_by_count(tries, spread)
    likelihood = np.empty_like(means)
    if by_count.any():
        few = released.of(by_count)
        law = binomial(means[by_count], tries[by_count], few.means)
        likelihood[by_count] = few.likelihood_by_count(law)
    if not by_count.all():
        likelihood[~by_count] = released.of(~by_count).likelihood(tries[~by_count], means[~by_count])
    return likelihood


def _tilted(density: Floats, angles: Floats, means: Floats, lean: Floats) -> tuple[Floats, Floats]:
    """Chances below each point, once leaning downwards and once upwards."""
    relative = density / np.maximum(np.max(density, axis=1, keepdims=True), _UNLIKELY) + _UNLIKELY
    odds = ((means + _AT_A_BOUND) / (1 - means + _AT_A_BOUND)) ** lean[:, None]
    return _chances(relative / odds, angles), _chances(relative * odds, angles)


def _chances(density: Floats, angles: Floats) -> Floats:
    """The distribution function of a density on a grid."""
    areas = (density[:, 1:] + density[:, :-1]) / 2 * np.diff(angles, axis=1)
    below = np.cumsum(areas, axis=1)
    return np.concatenate([np.zeros_like(below[:, :1]), below / below[:, -1:]], axis=1)


def _laws(
    released: NoisySums, variances: Floats, means: Floats, low_chances: Floats, high_chances: Floats
) -> Iterator[GridLaw]:
    """One law a group."""
    estimates = released.means.tolist()
    noise = np.sqrt(released.noise_variance).tolist()
    sampling = np.sqrt(variances / released.people).tolist()
    for row in zip(means, low_chances, high_chances, estimates, noise, sampling, strict=True):
        yield GridLaw(*row)
