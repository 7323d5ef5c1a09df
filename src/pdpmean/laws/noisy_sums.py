"""What sums that were released say of a mean between known bounds: how likely they are for each mean.

Values are u between 0 (the lower bound) and 1, or z = 2 u - 1; weights w are in nats. In each model a record pays w in
all, so noise is Laplace of the scale that is said:

=============  ========================================================================================
public total   ``sum w z`` (1), ``sum w (1 - z**2)`` (2), and the weight of missing values (1)
private total  ``sum w (1 - u)**2`` (1), ``sum 2 w u (1 - u)`` (1), ``sum w u**2`` (1); the three add up to w
=============  ========================================================================================

The second of each says how widely the values lie. It is free: without it the others would need as much noise (nearly,
for a private total).
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

__all__ = ["NoisySums", "PrivateTotal", "PublicTotal"]

_LEAST, _MOST = 1e-6, 1e15  # nats or people; beyond, sums of doubles say nothing
_STEP = 0.25  # of the way from one count to the next: noise believed at least, as unequal weights fall in between
_APART = 1.03  # ratio of the variances of two Laplace numbers, so that nothing cancels
_NO_NOISE = 1e-6  # a variance
_FARTHEST_BELOW = -40.0  # nats; where noise takes a sum of 0 at most


@dataclass(frozen=True)
class NoisySums(ABC):
    """Released sums, one row a group, and how likely they are."""

    means: Floats
    """Estimates: sum over weight, within the bounds."""

    interior: Floats
    """Estimates that are no closer to a bound than the noise can tell."""

    people: Floats
    """Of equal weights, as many would stray as far from the population's mean."""

    missing: Floats
    """The share of the weight that is missing."""

    noise_variance: Floats
    """The noise's part of the variance of the estimates."""

    @abstractmethod
    def variance_shares(self) -> Nodes:
        """The population's variance over the largest there can be for its mean."""

    @abstractmethod
    def likelihood_by_count(self, law: Binomial) -> Floats:
        """How likely the sums are for each mean that is given, if the sample's follows that law."""

    @abstractmethod
    def likelihood(self, tries: Floats, means: Floats) -> Floats:
        """How likely they are if the sample's mean is normal, with the variance of so many tries."""

    def of(self, groups: Bools) -> Self:
        """These groups alone."""
        columns = ((field.name, getattr(self, field.name)) for field in fields(self))
        return type(self)(**{name: column[groups] for name, column in columns})


@dataclass(frozen=True)
class PublicTotal(NoisySums):
    """Sums of a population whose total weight is public."""

    sums: Floats
    spreads: Floats
    present: Floats
    """The weight that is not missing: a place and a chance a node."""

    present_chances: Floats

    @classmethod
    def read(cls, sums: Floats, spreads: Floats, missing: Floats, weights: Floats, people: Floats) -> PublicTotal:
        """From what was released, `missing` in nats, and public numbers.

        A sum beyond all that is possible, the total weight, says as much as that does: Laplace noise falls off by the
        same factor for whatever might be true. So no sum is too large.
        """
        weights = np.clip(weights, _LEAST, _MOST)
        nothing_earlier = np.zeros_like(weights)
        gone = missing_nodes(missing, weights, nothing_earlier, nothing_earlier)
        present = weights - gone.means
        sums = np.clip(sums, -weights, weights)
        z = np.clip(sums / present, -1.0, 1.0)
        margin = np.minimum(1 / present, 0.5)
        return cls(
            means=(1 + z) / 2,
            interior=(1 + np.clip(z, margin - 1, 1 - margin)) / 2,
            people=np.clip(people * present / weights, 1.0, _MOST),
            missing=gone.means / weights,
            noise_variance=(2 + z * z * gone.variances) / (4 * present**2),
            sums=sums,
            spreads=spreads,
            present=weights[:, None] - gone.places,
            present_chances=gone.chances,
        )

    def variance_shares(self) -> Nodes:
        """From the sum of ``w (1 - z**2)``, of which the mean takes one part and the variance the rest."""
        z = 2 * self.interior - 1
        largest = np.sum(self.present * self.present_chances, axis=1) * (1 - z * z)
        return variance_shares(self.spreads / largest, 2 * np.sqrt(1 + z * z) / largest, self.people)

    def likelihood_by_count(self, law: Binomial) -> Floats:
        """The noise does not depend on the mean, so that counts are all there is to sum over."""
        present = self.present[:, None]
        scale = np.maximum(1.0, _STEP * 2 * present / law.tries[:, None, None])
        distance = np.abs(self.sums[:, None, None] - present * (2 * law.means - 1)[:, :, None])
        noise = np.exp(-distance / scale) / (2 * scale)
        by_count = noise @ self.present_chances[:, :, None]
        likelihood: Floats = (law.chances @ by_count)[:, :, 0]
        return likelihood

    def likelihood(self, tries: Floats, means: Floats) -> Floats:
        """Laplace noise on a normal sum, for each weight that may be there."""
        present = self.present[:, None]
        sampling = present * 2 * _deviations(means, tries)[:, :, None]
        distance = self.sums[:, None, None] - present * (2 * means - 1)[:, :, None]
        densities = noisy_normal_density(distance, 1.0, sampling)
        likelihood: Floats = (densities @ self.present_chances[:, :, None])[:, :, 0]
        return likelihood


@dataclass(frozen=True)
class PrivateTotal(NoisySums):
    """Sums of a population whose total weight is private: the weight is the three together."""

    lows: Floats
    middles: Floats
    highs: Floats
    weights: Floats

    @classmethod
    def read(cls, lows: Floats, middles: Floats, highs: Floats, people: Floats) -> PrivateTotal:
        """From what was released; sums are beyond what is read here about once in 10^17."""
        lows, middles, highs = (np.clip(sums, _FARTHEST_BELOW, _MOST) for sums in (lows, middles, highs))
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
        """From the middle sum, which would be this large if all values were equal; what is less is the variance."""
        high, low = self.interior, 1 - self.interior
        largest = 2 * self.weights * high * low
        noise = np.sqrt(4 * low**4 + 4 * high**4 + (2 * high * low) ** 2)
        return variance_shares(self.middles / largest, noise / largest, self.people)

    def likelihood_by_count(self, law: Binomial) -> Floats:
        """By mean and count: the noise of the three sums together depends on the mean, too."""
        scales, parts = _three_laplaces(law.given, _STEP * self.weights / law.tries)
        offset = self._remainder(law.given) + self.weights[:, None] * law.given
        distance = -np.abs(offset[:, :, None] - (self.weights[:, None] * law.means)[:, None])
        likelihood = np.zeros_like(law.given)
        for scale, part in zip(scales, parts, strict=True):
            density = np.exp(distance / scale[:, :, None])
            likelihood += part / (2 * scale) * np.einsum("ruk,ruk->ru", law.chances, density)
        return np.maximum(likelihood, 0.0)

    def likelihood(self, tries: Floats, means: Floats) -> Floats:
        """Three Laplace numbers and a normal one."""
        scales, parts = _three_laplaces(means, np.zeros_like(tries))
        sampling = self.weights[:, None] * _deviations(means, tries)
        densities: Floats = noisy_normal_density(self._remainder(means), scales, sampling)
        likelihood: Floats = np.maximum(np.sum(parts * densities, axis=0), 0.0)
        return likelihood

    def _remainder(self, means: Floats) -> Floats:
        """``sum w (u - mean)``, whose noise is what the three sums add to it: 0 for the sample's own mean."""
        lows, middles, highs = (sums[:, None] for sums in (self.lows, self.middles, self.highs))
        return highs * (1 - means) + middles * (0.5 - means) - lows * means


def _deviations(means: Floats, tries: Floats) -> Floats:
    """Standard deviation of the sample's mean, by group and mean."""
    return np.sqrt(means * (1 - means) / tries[:, None])


def _three_laplaces(means: Floats, least: Floats) -> tuple[Floats, Floats]:
    """Scales, of which the largest is at `least` that, and parts: the density of a sum of three is a mixture of theirs.

    Some parts are negative. They are large where scales are nearly equal, which therefore are kept apart.
    """
    factors = np.abs(np.stack([1 - means, 0.5 - means, means]))
    small, medium, large = np.sort(np.maximum(factors**2, _NO_NOISE), axis=0)
    medium = np.maximum(medium, _APART * small)
    large = np.maximum(np.maximum(large, _APART * medium), (least**2)[:, None])
    parts = [
        small**2 / ((small - medium) * (small - large)),
        medium**2 / ((medium - small) * (medium - large)),
        large**2 / ((large - small) * (large - medium)),
    ]
    return np.sqrt(np.stack([small, medium, large])), np.stack(parts)
