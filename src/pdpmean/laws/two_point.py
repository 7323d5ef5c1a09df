"""Sampling error of a mean of values between 0 and 1.

No population of mean u on [0, 1] has a larger variance than u (1 - u). That is the variance of a two-point population,
in which a share u of all values is 1 and the others are 0; the sample's mean is then binomial. Any other population has
a fraction of that variance, its *variance share*. Its sample is treated like a two-point one of more people, namely
people / share. Where few counts matter, probabilities are those of the binomial distribution itself, which is skewed
near a bound and never beyond it. Where many do, a normal distribution is as good, and faster.

The variance share is only seen through noise, so there is a posterior for it, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from pdpmean.core.types import Floats

__all__ = ["Binomial", "Bools", "Nodes", "binomial", "matters_by_count", "variance_shares"]

Bools = NDArray[np.bool_]

_MOST_COUNTS = 120  # counts of a binomial distribution that are computed
_SPREAD_IN_COUNTS = 12.0  # largest standard deviation of a count: `_MOST_COUNTS` reach five of these to either side
_NEVER = 1e-12  # a probability that is as good as 0

# Variance shares that are considered: cells in geometric steps, and 1 itself, that of a two-point population. The
# first cell reaches down to 0.
_SMALLEST_SHARE = 1e-5
_CELLS = 90
_EDGES = np.geomspace(_SMALLEST_SHARE, 1.0, _CELLS + 1)
_CENTERS = np.sqrt(_EDGES[1:] * _EDGES[:-1])
_EDGES[0] = 0.0
_SHARES = np.append(_CENTERS, 1.0)

_TWO_POINT = 0.3  # prior probability that all values are at one of the bounds
_PRIOR = np.append((1 - _TWO_POINT) * np.sqrt(_CENTERS) / np.sum(np.sqrt(_CENTERS)), _TWO_POINT)

_NODE_EDGES = np.array([0.0, 0.25, 0.5, 0.8, 1.0])  # quantiles between which the posterior is reduced to one node
_MOST_NOISE = 1e3  # scale of the noise of a share; with more, a release says just as little
_FEWEST = 4.0  # people; the sampling error of a variance is taken to be no larger than that of so few


class Nodes(NamedTuple):
    """A discrete distribution on a few points, one row per group."""

    places: Floats
    """The points."""

    chances: Floats
    """Their probabilities, which add up to 1 in each row."""

    @property
    def means(self) -> Floats:
        """The mean of each row."""
        means: Floats = np.sum(self.places * self.chances, axis=1)
        return means

    @property
    def variances(self) -> Floats:
        """The variance of each row."""
        variances: Floats = np.sum((self.places - self.means[:, None]) ** 2 * self.chances, axis=1)
        return variances


class Binomial(NamedTuple):
    """The distribution of the sample's mean, for several possible means of the population."""

    given: Floats
    """By group and number: means of the population."""

    chances: Floats
    """By group, mean of the population and count: the probability of the count."""

    means: Floats
    """By group and count: the sample's mean, count / tries."""

    tries: Floats
    """By group: the number of people."""


def matters_by_count(tries: Floats, spread: Floats) -> Bools:
    """By group: whether few counts matter, because there are no more or because the mean is known so exactly.

    `spread` is the standard deviation of the sample's mean.
    """
    matters: Bools = (tries <= _MOST_COUNTS) | (tries * spread <= _SPREAD_IN_COUNTS)
    return matters


def binomial(given: Floats, tries: Floats, near: Floats) -> Binomial:
    """The binomial distribution of ``count / tries`` for each mean in `given`, at counts around the estimate `near`."""
    whole = np.maximum(np.round(tries), 1.0)[:, None]
    size = int(min(_MOST_COUNTS, np.max(whole)))
    first = np.clip(np.round(near[:, None] * whole) - size // 2, 0.0, np.maximum(whole - size, 0.0))
    counts = first + np.arange(size + 1)
    others = np.maximum(whole - counts, 0.0)
    log_choices = gammaln(whole + 1) - gammaln(counts + 1) - gammaln(others + 1)
    log_choices[counts > whole] = -np.inf
    chances = _exp_of_sums(np.clip(given, _NEVER, 1 - _NEVER), counts, others, log_choices)
    return Binomial(given, chances, np.minimum(counts / whole, 1.0), whole[:, 0])


def _exp_of_sums(means: Floats, counts: Floats, others: Floats, log_choices: Floats) -> Floats:
    """``exp(log_choices + counts log(means) + others log(1 - means))``, by one matrix product and in place."""
    by_mean = np.stack([np.log(means), np.log1p(-means), np.ones_like(means)], axis=2)
    by_count = np.stack([counts, others, np.maximum(log_choices, -1e300)], axis=1)
    logs: Floats = by_mean @ by_count
    np.minimum(logs, 0.0, out=logs)
    return np.exp(logs, out=logs)


def variance_shares(seen: Floats, noise: Floats, people: Floats) -> Nodes:
    """The posterior of the variance share of each group, on a few nodes.

    `seen` is 1 minus the share, plus Laplace noise of scale `noise`; below 0 or above 1 it says as much as 0 or 1. The
    prior gives much weight to a share of 1, where all values are at the bounds, as answers of yes and no are.
    """
    likelihood = _likelihood(np.clip(seen, 0.0, 1.0)[:, None], np.minimum(noise, _MOST_NOISE)[:, None])
    likelihood[:, :-1] = _smoothed(likelihood[:, :-1], people)
    posterior = likelihood * _PRIOR
    return _few_nodes(posterior / np.sum(posterior, axis=1, keepdims=True))


def _likelihood(seen: Floats, noise: Floats) -> Floats:
    """Likelihood of each cell of shares, averaged over the cell, so that no noise is too small for the cells."""
    distance = (1 - _EDGES) - seen
    chances = -np.sign(distance) * np.expm1(-np.abs(distance) / noise) / 2
    by_cell = -np.diff(chances, axis=1) / np.diff(_EDGES)
    at_the_bounds = np.exp(-seen / noise) / (2 * noise)
    return np.concatenate([by_cell, at_the_bounds], axis=1)


def _smoothed(likelihood: Floats, people: Floats) -> Floats:
    """The likelihood of the population's share, from that of the sample's: the two differ by sampling."""
    width = np.sqrt(2 / np.maximum(people, _FEWEST))[:, None, None]
    distance = np.log(_CENTERS)[:, None] - np.log(_CENTERS)
    kernel = np.exp(-((distance / width) ** 2) / 2)
    kernel /= np.sum(kernel, axis=2, keepdims=True)
    smoothed: Floats = (kernel @ likelihood[:, :, None])[:, :, 0]
    return smoothed


def _few_nodes(posterior: Floats) -> Nodes:
    """The posterior reduced to its mean in each of a few quantile ranges, which is enough to integrate over it."""
    ends = np.cumsum(posterior, axis=1)[:, None]
    starts = ends - posterior[:, None]
    overlap = np.minimum(ends, _NODE_EDGES[1:, None]) - np.maximum(starts, _NODE_EDGES[:-1, None])
    weights = np.maximum(overlap, 0.0)
    chances = np.sum(weights, axis=2)
    return Nodes(weights @ _SHARES / chances, chances)
