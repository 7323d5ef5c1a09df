"""Likelihood of the released sums for each possible mean between known bounds.

Values are u between 0 (the lower bound) and 1 (the upper one), or z = 2 u - 1; weights w are in nats. These sums are
released, with Laplace noise of the scale in parentheses. In each model they cost a record w in all.

=============  ========================================================================================
public total   ``sum w z`` (1), ``sum w (1 - z**2)`` (2), and the weight of missing values (1)
private total  ``sum w (1 - u)**2`` (1), ``sum 2 w u (1 - u)`` (1), ``sum w u**2`` (1); the three add up to w
=============  ========================================================================================

The second sum of each shows how widely the values are spread. It is free: without it, the others would need the same
noise (nearly, for a private total).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.error_law import noisy_normal_density
from pdpmean.laws.missing_weight import missing_nodes
from pdpmean.laws.two_point import Binomial, Bools, Nodes, variance_shares

__all__ = ["NoisySums", "NoisySumsOfPrivateTotal", "NoisySumsOfPublicTotal"]

# Nats or people; beyond these, sums of doubles say nothing.
_LEAST = 1e-6
_MOST = 1e15

# Least noise assumed where counts are summed over, as a fraction of the step from one count to the next: sums of
# unequal weights fall between counts.
_LEAST_STEP = 0.25

_LEAST_RATIO = 1.03  # of the variances of two Laplace variables, so that their mixture does not cancel
_LEAST_VARIANCE = 1e-6  # in place of no noise
_LOWEST_SUM = -40.0  # nats; noise does not take a sum of 0 lower


@dataclass(frozen=True)
class NoisySums(ABC):
    """The released sums of many groups, one row per group, and their likelihood for each mean."""

    means: Floats
    """Estimates of the mean: sum over weight, within the bounds."""

    interior: Floats
    """The same estimates, kept away from the bounds by what the noise leaves in doubt; variances are computed there."""

    people: Floats
    """How many equally weighted people would have the same sampling error."""

    missing: Floats
    """The share of the weight that is missing."""

    noise_variance: Floats
    """Variance of the estimates due to noise."""

    @abstractmethod
    def variance_shares(self) -> Nodes:
        """Posterior of the population's variance, over the largest possible for its mean (`two_point.py`)."""

    @abstractmethod
    def likelihood_by_count(self, law: Binomial) -> Floats:
        """Likelihood of the sums by group and mean of the population, if the sample's mean is binomial as in `law`."""

    @abstractmethod
    def likelihood(self, tries: Floats, means: Floats) -> Floats:
        """Likelihood of the sums by group and mean, if the sample's mean is normal, with the variance of `tries`."""

    def of(self, groups: Bools) -> Self:
        """The rows of these groups."""
        columns = ((field.name, getattr(self, field.name)) for field in fields(self))
        return type(self)(**{name: column[groups] for name, column in columns})


@dataclass(frozen=True)
class NoisySumsOfPublicTotal(NoisySums):
    """Sums of a population whose total weight is public."""

    sums: Floats
    """Noisy sums of w z."""

    weights_less_squares: Floats
    """Noisy sums of w (1 - z**2)."""

    present: Floats
    """By group and node: the weight that may be present, that is, not missing."""

    present_chances: Floats
    """By group and node: the probability of that."""

    @classmethod
    def read(cls, sums: Floats, weights_less_squares: Floats, missing: Floats, weights: Floats, people: Floats) -> Self:
        """The sums as released, with `missing` in nats, and public weights and numbers of people.

        A sum larger than the total weight, which is impossible without noise, says as much as the total weight: beyond
        it, Laplace noise falls by the same factor whatever the true sum. So no released sum is too large.
        """
        weights = np.clip(weights, _LEAST, _MOST)
        nothing_earlier = np.zeros_like(weights)
        absent = missing_nodes(missing, weights, nothing_earlier, nothing_earlier)
        present = weights - absent.means
        sums = np.clip(sums, -weights, weights)
        z = np.clip(sums / present, -1.0, 1.0)
        margin = np.minimum(1 / present, 0.5)
        return cls(
            means=(1 + z) / 2,
            interior=(1 + np.clip(z, margin - 1, 1 - margin)) / 2,
            people=np.clip(people * present / weights, 1.0, _MOST),
            missing=absent.means / weights,
            noise_variance=(2 + z * z * absent.variances) / (4 * present**2),
            sums=sums,
            weights_less_squares=weights_less_squares,
            present=weights[:, None] - absent.places,
            present_chances=absent.chances,
        )

    def variance_shares(self) -> Nodes:
        """From the sum of ``w (1 - z**2)``: the weight times the largest possible variance minus the actual one."""
        z = 2 * self.interior - 1
        largest = np.sum(self.present * self.present_chances, axis=1) * (1 - z * z)
        return variance_shares(self.weights_less_squares / largest, 2 * np.sqrt(1 + z * z) / largest, self.people)

    def likelihood_by_count(self, law: Binomial) -> Floats:
        """Likelihood by a sum over counts; the noise does not depend on the mean."""
        present = self.present[:, None]
        scale = np.maximum(1.0, _LEAST_STEP * 2 * present / law.tries[:, None, None])
        distance = np.abs(self.sums[:, None, None] - present * (2 * law.means - 1)[:, :, None])
        noise = np.exp(-distance / scale) / (2 * scale)
        by_count = noise @ self.present_chances[:, :, None]
        likelihood: Floats = (law.chances @ by_count)[:, :, 0]
        return likelihood

    def likelihood(self, tries: Floats, means: Floats) -> Floats:
        """Likelihood of Laplace noise plus a normal sum, averaged over the weight that may be present."""
        present = self.present[:, None]
        sampling = present * 2 * _deviations(means, tries)[:, :, None]
        distance = self.sums[:, None, None] - present * (2 * means - 1)[:, :, None]
        densities = noisy_normal_density(distance, 1.0, sampling)
        likelihood: Floats = (densities @ self.present_chances[:, :, None])[:, :, 0]
        return likelihood


@dataclass(frozen=True)
class NoisySumsOfPrivateTotal(NoisySums):
    """Sums of a population whose total weight is private; the three sums add up to that weight."""

    lows: Floats
    """Noisy sums of w (1 - u)**2."""

    middles: Floats
    """Noisy sums of 2 w u (1 - u)."""

    highs: Floats
    """Noisy sums of w u**2."""

    weights: Floats
    """Estimates of the total weight."""

    @classmethod
    def read(cls, lows: Floats, middles: Floats, highs: Floats, people: Floats) -> Self:
        """The sums as released. They are clipped to a range that they leave about once in 10^17 times."""
        lows, middles, highs = (np.clip(sums, _LOWEST_SUM, _MOST) for sums in (lows, middles, highs))
        weights = np.maximum(lows + middles + highs, 2.0)
        means = np.clip((highs + middles / 2) / weights, 0.0, 1.0)
        interior = np.clip(means, 0.5 / weights, 1 - 0.5 / weights)
        factors = (1 - interior) ** 2 + (0.5 - interior) ** 2 + interior**2
        return cls(
            means=means,
            interior=interior,
            people=np.clip(people, 1.0, _MOST),
            missing=np.zeros_like(means),
            noise_variance=2 * factors / weights**2,
            lows=lows,
            middles=middles,
            highs=highs,
            weights=weights,
        )

    def variance_shares(self) -> Nodes:
        """From the middle sum: it is largest if all values are equal, and smaller by the variance otherwise."""
        high, low = self.interior, 1 - self.interior
        largest = 2 * self.weights * high * low
        noise = np.sqrt(4 * low**4 + 4 * high**4 + (2 * high * low) ** 2)
        return variance_shares(self.middles / largest, noise / largest, self.people)

    def likelihood_by_count(self, law: Binomial) -> Floats:
        """Likelihood by a sum over counts; the noise of the three sums together depends on the mean."""
        scales, parts = _three_laplaces(law.given, _LEAST_STEP * self.weights / law.tries)
        offset = self._remainder(law.given) + self.weights[:, None] * law.given
        distance = -np.abs(offset[:, :, None] - (self.weights[:, None] * law.means)[:, None])
        likelihood = np.zeros_like(law.given)
        for scale, part in zip(scales, parts, strict=True):
            density = np.exp(distance / scale[:, :, None])
            likelihood += part / (2 * scale) * np.einsum("ruk,ruk->ru", law.chances, density)
        return np.maximum(likelihood, 0.0)

    def likelihood(self, tries: Floats, means: Floats) -> Floats:
        """Likelihood of the sum of three Laplace variables and a normal one."""
        scales, parts = _three_laplaces(means, np.zeros_like(tries))
        sampling = self.weights[:, None] * _deviations(means, tries)
        densities: Floats = noisy_normal_density(self._remainder(means), scales, sampling)
        likelihood: Floats = np.maximum(np.sum(parts * densities, axis=0), 0.0)
        return likelihood

    def _remainder(self, means: Floats) -> Floats:
        """Estimate of ``sum w (u - mean)``, by group and mean; without noise it is 0 at the sample's own mean."""
        lows, middles, highs = (sums[:, None] for sums in (self.lows, self.middles, self.highs))
        return highs * (1 - means) + middles * (0.5 - means) - lows * means


def _deviations(means: Floats, tries: Floats) -> Floats:
    """Standard deviation of the sample's mean in a two-point population, by group and mean of the population."""
    return np.sqrt(means * (1 - means) / tries[:, None])


def _three_laplaces(means: Floats, least: Floats) -> tuple[Floats, Floats]:
    """The noise in `_remainder` as a mixture of Laplace distributions: their scales and weights.

    The density of a sum of three Laplace variables is a weighted sum of their densities. Some weights are negative, and
    large where scales are nearly equal, so scales are kept apart. The largest scale is at least `least`.
    """
    factors = np.abs(np.stack([1 - means, 0.5 - means, means]))
    small, medium, large = np.sort(np.maximum(factors**2, _LEAST_VARIANCE), axis=0)
    medium = np.maximum(medium, _LEAST_RATIO * small)
    large = np.maximum(np.maximum(large, _LEAST_RATIO * medium), (least**2)[:, None])
    parts = [
        small**2 / ((small - medium) * (small - large)),
        medium**2 / ((medium - small) * (medium - large)),
        large**2 / ((large - small) * (large - medium)),
    ]
    return np.sqrt(np.stack([small, medium, large])), np.stack(parts)
