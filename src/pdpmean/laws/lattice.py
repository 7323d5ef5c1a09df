"""The finite doubles as ordered integers, and measures on them: where a private choice of a number is made.

Every finite double has a *key*, an integer in the same order: its bit pattern, negated for negative ones. A
`Lattice` gives every key in its pieces a positive integer *multiplicity*, so that a private choice prefers some
numbers beforehand, at no cost in privacy.

Over all doubles, numbers of ordinary size count most: 256 times where the exponent is at most 24 in size, then 64, 16
and 4 times, and once beyond 192. Against a uniform measure that saves 3.3 nats of some 14 for ordinary data, and costs
2.3 where numbers are astronomical.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.types import Floats

__all__ = ["Lattice", "double_of", "everywhere", "keys_of", "linear", "positive"]

_LARGEST_KEY = int(np.float64(np.finfo(np.float64).max).view(np.int64))
_BELOW_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)

# Multiplicity by |exponent|: 4 times more for each of these limits that an exponent stays within. Knowing nothing, a
# number of ordinary size is likelier than one of 1e200.
_ORDINARY = (24, 48, 96, 192)
_AROUND_ZERO = 2**40  # so are as many of the smallest doubles: zero is an ordinary number


_ROUND = 2**42  # keys: what is a multiple of it has 10 bits beyond the first, as all whole numbers to 2048 have
# What 0 counts more, in keys: 16 octaves of them, about a twelfth of all. Where many values are 0, the doubles between
# it and the next value, most of them tiny, would be found instead.
_ZERO = 2**56


def _rounded_up(keys: Any) -> Any:
    """The next round key."""
    return -(-keys // _ROUND) * _ROUND


def keys_of(numbers: Floats) -> NDArray[np.int64]:
    """The key of each number; infinities lie just beyond the largest doubles."""
    bits = np.ascontiguousarray(numbers, dtype=np.float64).view(np.int64)
    return np.where(bits < 0, -(bits & _BELOW_SIGN), bits)


def double_of(key: int) -> float:
    """The finite double with this key."""
    size = float(np.array(abs(key), dtype=np.int64).view(np.float64))
    return -size if key < 0 else size


@dataclass(frozen=True)
class Lattice:
    """Keys ``starts[j] <= key < starts[j + 1]`` count `multiplicities[j]` times each; nothing lies outside."""

    starts: tuple[int, ...]
    multiplicities: tuple[int, ...]
    with_round: bool = False
    """Whether round numbers, a key in 2**42, count 2**42 times more: together as much as all others. And 0 itself."""

    def with_round_numbers(self) -> Lattice:
        """The same, half of whose measure is that of round numbers.

        Where one number is frequent, it mostly is a round one: the doubles next to it are so many that they would
        outweigh it, though few values lie there.
        """
        return replace(self, with_round=True)

    def within(self, low: float, high: float) -> Lattice:
        """What lies between two numbers, which may be infinite."""
        first, last = (int(key) for key in keys_of(np.array([low, high])))
        first, end = max(first, self.starts[0]), min(last + 1, self.starts[-1])
        pieces = [
            (max(start, first), count)
            for start, stop, count in zip(self.starts, self.starts[1:], self.multiplicities, strict=False)
            if start < end and stop > first
        ]
        return replace(self, starts=(*(start for start, _ in pieces), end), multiplicities=tuple(n for _, n in pieces))

    @cached_property
    def _measures(self) -> list[int]:
        """The measure below each start."""
        total, measures = 0, [0]
        for low, high, count in zip(self.starts, self.starts[1:], self.multiplicities, strict=False):
            total += (self._position(high) - self._position(low)) * count
            measures.append(total)
        return measures

    def _position(self, key: int) -> int:
        """How many keys there are below, from 0 on, each as often as it is counted in a piece of multiplicity 1."""
        if not self.with_round:
            return key
        return key + int(_rounded_up(key)) + (_ZERO if key > 0 else 0)

    def _key(self, position: int) -> int:
        """The key at this position."""
        if not self.with_round:
            return position
        if position > 0:  # beyond the start of key 0
            position = max(position - _ZERO, 0)
        before, beyond = divmod(position, 2 * _ROUND)
        return before * _ROUND + max(beyond - _ROUND, 0)

    @property
    def total(self) -> int:
        """The measure of everything."""
        return self._measures[-1]

    def below(self, key: int) -> int:
        """The measure of the keys below `key`."""
        piece = bisect_right(self.starts, key) - 1
        if piece < 0:
            return 0
        if piece >= len(self.multiplicities):
            return self.total
        passed = self._position(key) - self._position(self.starts[piece])
        return self._measures[piece] + passed * self.multiplicities[piece]

    def key_at(self, position: int) -> int:
        """The key whose measure covers `position`, counted from the first."""
        piece = bisect_right(self._measures, position) - 1
        passed = (position - self._measures[piece]) // self.multiplicities[piece]
        return self._key(self._position(self.starts[piece]) + passed)

    def log_measures(self, lows: NDArray[np.int64], highs: NDArray[np.int64]) -> Floats:
        """Logarithms of the measures from each low key to the high one, both within the lattice."""
        stops, counts = self._pieces
        pieces = np.searchsorted(stops[:-1], lows, side="right")
        measures = (highs.view(np.uint64) - lows.view(np.uint64)).astype(np.float64)
        if self.with_round:
            measures += (_rounded_up(highs) // _ROUND - _rounded_up(lows) // _ROUND).astype(np.float64) * _ROUND
            measures += np.where((lows <= 0) & (highs > 0), float(_ZERO), 0.0)
        measures *= counts[pieces]
        with np.errstate(divide="ignore"):
            logs = np.log(measures, out=measures)
        # The few that reach over the end of a piece are measured in integers.
        for index in np.flatnonzero(highs > stops[pieces]).tolist():
            logs[index] = math.log(self.below(int(highs[index])) - self.below(int(lows[index])))
        return logs

    @cached_property
    def _pieces(self) -> tuple[NDArray[np.int64], Floats]:
        """Where each piece ends, and the multiplicities."""
        return np.array(self.starts[1:], dtype=np.int64), np.array(self.multiplicities, dtype=np.float64)


@lru_cache(maxsize=1)
def everywhere() -> Lattice:
    """All finite doubles, ordinary exponents first."""
    half = positive()
    mirrored = [1 - start for start in reversed(half.starts)]
    # Key 0 is both zeros; it belongs to the positive half.
    return Lattice((*mirrored[:-1], *half.starts), (*reversed(half.multiplicities), *half.multiplicities))


@lru_cache(maxsize=1)
def positive() -> Lattice:
    """All finite doubles from 0 on, ordinary exponents first."""
    limits = [-limit for limit in reversed(_ORDINARY)] + [limit + 1 for limit in _ORDINARY]
    starts = [0, _AROUND_ZERO, *(int(keys_of(np.array([2.0**limit]))[0]) for limit in limits), _LARGEST_KEY + 1]
    tiers = [4**tier for tier in range(len(_ORDINARY) + 1)]
    return Lattice(tuple(starts), (tiers[-1], *tiers, *tiers[-2::-1]))


def linear(low: float, high: float) -> Lattice:
    """The doubles of [low, high], each as often as it is wide, down to 2**-30 of the widest: nearly uniform."""
    first, last = (int(key) for key in keys_of(np.array([low, high])))
    widest = math.frexp(max(abs(low), abs(high)))[1]
    # From 2**-1021 down all doubles are equally wide; the largest double is below 2**1024, which is none.
    exponents = sorted({max(widest - step, -1021) for step in range(30, 0, -1)})
    upward = [0, *(int(key) for key in keys_of(np.ldexp(1.0, np.array(exponents))))]
    cuts = sorted(
        {first, last + 1, *(key for key in upward if first < key <= last)}
        | {1 - key for key in upward if first < 1 - key <= last}
    )
    counts = [2 ** (max(bisect_right(upward, abs(key)), 1) - 1) for key in (_middle(a, b) for a, b in pairwise(cuts))]
    return Lattice(tuple(cuts), tuple(counts))


def _middle(low: int, high: int) -> int:
    return (low + high - 1) // 2
