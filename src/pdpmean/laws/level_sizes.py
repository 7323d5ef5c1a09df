"""How many people each level of budgets has, if that is known from noisy weights alone.

Noise of one nat is many people where each adds little: at a budget of 0.01, one nat is a hundred people. So the number
of people who grant little is hardly known, and the mean of everyone depends on it if values correlate with budgets. A
level's noisy number is improved by those of its neighbours. The prior is a random walk: the logarithm of the ratio of
two neighbouring numbers is Cauchy distributed. Numbers of neighbours are then mostly alike, but any may be far from the
others. The posterior is that of a hidden Markov chain, which is computed on a grid for each level.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pdpmean.core.quiet import quietly
from pdpmean.core.types import Floats

__all__ = ["LevelSizes", "level_sizes"]

_STEP = 0.8  # the scale of the log ratio of two neighbours
_FEWEST = 0.1  # the smallest number of people of a grid
_REACH = 8.0  # how far a grid reaches beyond the noisy number, in standard deviations of its noise
_EVEN_NODES = 40  # nodes of a grid that are spread evenly over all logarithms
_NEAR_NODES = 33  # and those around the noisy number
_LOGISTIC_STD = np.pi / np.sqrt(3)  # the standard deviation of the standard logistic distribution


class LevelSizes(NamedTuple):
    """The numbers of people of all levels: the mean and the covariance of their posterior."""

    people: Floats
    covariance: Floats


class _Grid(NamedTuple):
    """The numbers of people that one level may have."""

    people: Floats
    logs: Floats
    evidence: Floats
    """The likelihood of the noisy number, times the part of all logarithms that a node stands for."""


@quietly
def level_sizes(noisy_people: Floats, noise_std: Floats) -> LevelSizes:
    """The posterior of the numbers of people, given noisy ones and the standard deviations of their noise."""
    grids = [_grid(noisy, std) for noisy, std in zip(noisy_people.tolist(), noise_std.tolist(), strict=True)]
    chances, transitions = _chain(grids)
    squares = np.zeros((len(grids), len(grids)))  # expected products of two levels' numbers
    people = np.zeros(len(grids))
    for level, grid in enumerate(grids):
        people[level] = chances @ grid.people
        weights = chances * grid.people
        for later, transition in zip(range(level, len(grids)), [*transitions[level:], None], strict=True):
            squares[level, later] = squares[later, level] = weights @ grids[later].people
            weights = weights if transition is None else weights @ transition
        chances = chances if level + 1 == len(grids) else chances @ transitions[level]
    return LevelSizes(people, squares - np.outer(people, people))


def _chain(grids: list[_Grid]) -> tuple[Floats, list[Floats]]:
    """The posterior as a Markov chain: the probabilities of the first level's nodes, and of steps to the next level."""
    transitions: list[Floats] = []
    later_evidence = np.ones_like(grids[-1].people)
    for grid, following in reversed(list(pairwise(grids))):
        log_ratios = following.logs - grid.logs[:, None]
        steps = following.evidence * later_evidence / (1 + (log_ratios / _STEP) ** 2)
        later_evidence = steps.sum(axis=1)
        transitions.append(steps / later_evidence[:, None])
        later_evidence = later_evidence / later_evidence.max()
    chances = grids[0].evidence * later_evidence
    return chances / chances.sum(), transitions[::-1]


def _grid(noisy: float, std: float) -> _Grid:
    """The grid of a level, fine around its noisy number and coarse elsewhere."""
    most = max(noisy, 2 * _FEWEST) + _REACH * std
    near = noisy + std * np.linspace(-_REACH, _REACH, _NEAR_NODES)
    people = np.unique([*np.geomspace(_FEWEST, most, _EVEN_NODES), *near[(near > _FEWEST) & (near < most)]])
    logs = np.log(people)
    distances = np.abs(people - noisy) / std * _LOGISTIC_STD
    # The noise is a sum of Laplace variables, to which a logistic density is close. It is relative to about its largest
    # value on the grid, which would otherwise be 0 for a number far below 0.
    likelihood = 4 * np.exp(distances.min() - distances) / (1 + np.exp(-distances)) ** 2
    return _Grid(people, logs, likelihood * np.gradient(logs))
