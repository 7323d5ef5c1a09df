"""How far a sample's mean strays from the population's where all values lie between 0 and 1.

No such population of mean u has a larger variance than u (1 - u), which is that of two points: u of all values are 1,
the others 0. The sample's mean is then a count over the number of people, and binomial. Any other population has a
share of that variance, and its sample is taken for a two-point one of more people: of people / share. Where only few
counts matter, chances are those of the binomial law itself, which is skew near a bound and never beyond it; where many
do, a normal law is as good, and quicker.

The share is seen through noise, so there is a posterior of it, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from pdpmean.core.types import Floats

__all__ = ["Binomial", "Bools", "Nodes", "binomial", "matters_by_count", "variance_shares"]

Bools = NDArray[np.bool_]

_MOST_COUNTS = 120
_SPREAD_IN_COUNTS = 12.0  # so that the counts above reach five standard deviations to either side
_NEVER = 1e-12  # a chance that is as good as none

_SMALLEST_SHARE, _CELLS = 1e-5, 90
_EDGES = np.geomspace(_SMALLEST_SHARE, 1.0, _CELLS + 1)
_CENTERS = np.sqrt(_EDGES[1:] * _EDGES[:-1])
_EDGES[0] = 0.0
_SHARES = np.append(_CENTERS, 1.0)
_TWO_POINT = 0.3  # prior: all values are at one of the bounds
_PRIOR = np.append((1 - _TWO_POINT) * np.sqrt(_CENTERS) / np.sum(np.sqrt(_CENTERS)), _TWO_POINT)
_PARTS = np.array([0.0, 0.25, 0.5, 0.8, 1.0])  # of the posterior of the share; one node each
_WIDEST = 1e3  # noise on a share; more does not say less
_FEWEST = 4.0  # people of whom the sample's variance says something


class Nodes(NamedTuple):
    """A law in a few points: places and their chances; one row a group."""

    places: Floats
    chances: Floats

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
    """The law of the sample's mean for every mean of the population that is given."""

    given: Floats
    """The population's means that are thought of, by group."""

    chances: Floats
    """By group, given mean and count."""

    means: Floats
    """The sample's: count over tries, by group and count."""

    tries: Floats
    """By group."""


def matters_by_count(tries: Floats, spread: Floats) -> Bools:
    """Whether few counts matter: because there are no more, or because the mean is known to so few of them."""
    matters: Bools = (tries <= _MOST_COUNTS) | (tries * spread <= _SPREAD_IN_COUNTS)
    return matters


def binomial(given: Floats, tries: Floats, near: Floats) -> Binomial:
    """The law of a count over `tries`, at those counts that are `near` an estimate."""
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
    """``exp(log_choices + counts log(means) + others log(1 - means))``, in one product of matrices and in place."""
    by_mean = np.stack([np.log(means), np.log1p(-means), np.ones_like(means)], axis=2)
    by_count = np.stack([counts, others, np.maximum(log_choices, -1e300)], axis=1)
    logs: Floats = by_mean @ by_count
    np.minimum(logs, 0.0, out=logs)
    return np.exp(logs, out=logs)


def variance_shares(seen: Floats, noise: Floats, people: Floats) -> Nodes:
    """The variance over the largest there can be, when 1 minus that is seen through Laplace noise of a scale.

    A number beyond 0 and 1 says as much as 0 or 1 does. Before, it is likely that all values are at the bounds, as they
    are for yes and no.
    """
    likelihood = _likelihood(np.clip(seen, 0.0, 1.0)[:, None], np.minimum(noise, _WIDEST)[:, None])
    likelihood[:, :-1] = _smoothed(likelihood[:, :-1], people)
    posterior = likelihood * _PRIOR
    return _few_nodes(posterior / np.sum(posterior, axis=1, keepdims=True))


def _likelihood(seen: Floats, noise: Floats) -> Floats:
    """How likely it is to see that for shares in a cell, on average, so that no noise is too small for the cells."""
    distance = (1 - _EDGES) - seen
    chances = -np.sign(distance) * np.expm1(-np.abs(distance) / noise) / 2
    by_cell = -np.diff(chances, axis=1) / np.diff(_EDGES)
    at_the_bounds = np.exp(-seen / noise) / (2 * noise)
    return np.concatenate([by_cell, at_the_bounds], axis=1)


def _smoothed(likelihood: Floats, people: Floats) -> Floats:
    """The sample's variance is not the population's, except where all values are at the bounds."""
    width = np.sqrt(2 / np.maximum(people, _FEWEST))[:, None, None]
    distance = np.log(_CENTERS)[:, None] - np.log(_CENTERS)
    kernel = np.exp(-((distance / width) ** 2) / 2)
    kernel /= np.sum(kernel, axis=2, keepdims=True)
    smoothed: Floats = (kernel @ likelihood[:, :, None])[:, :, 0]
    return smoothed


def _few_nodes(posterior: Floats) -> Nodes:
    """The mean share in each part of the posterior: enough for an integral over it."""
    ends = np.cumsum(posterior, axis=1)[:, None]
    starts = ends - posterior[:, None]
    overlap = np.minimum(ends, _PARTS[1:, None]) - np.maximum(starts, _PARTS[:-1, None])
    weights = np.maximum(overlap, 0.0)
    chances = np.sum(weights, axis=2)
    return Nodes(weights @ _SHARES / chances, chances)
