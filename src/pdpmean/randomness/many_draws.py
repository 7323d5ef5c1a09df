"""Noise for many numbers at once: exact discrete Laplace noise on whole arrays, made of uniform words."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdpmean.randomness.keystream import Keystream, this_process
from pdpmean.randomness.scale import LARGEST_BITS

__all__ = ["ManyDraws", "Spare"]

_MOST_AHEAD = 2**14  # the largest number of draws made ahead; a larger batch would not be faster per draw


class ManyDraws(Keystream):
    """A keystream that also draws discrete Laplace noise of scales that are powers of two, exactly."""

    def many_laplaces(self, size: int, bits: int) -> list[int]:
        """`size` independent draws of discrete Laplace noise of scale ``2**bits``, which nobody else gets."""
        if self._process != this_process():
            self._start()
        return self._spare.setdefault(bits, Spare()).take(size, partial(self._laplaces, bits=bits))

    def _start(self) -> None:
        """Begin with a new key, and nothing drawn ahead."""
        self._spare: dict[int, Spare] = {}
        super()._start()

    def _laplaces(self, size: int, bits: int) -> list[int]:
        """`size` draws of X with P(X = x) proportional to ``exp(-|x| / 2**bits)``, exactly.

        This is algorithm 2 of Canonne, Kamath and Steinke (2020) on whole arrays. The absolute value is
        ``u + v * 2**bits``, where u < ``2**bits`` has probability proportional to ``exp(-u / 2**bits)``, and v >= 0 has
        probability proportional to ``exp(-v)``. The sign is a fair coin. A negative 0 is rejected, since 0 would
        otherwise be drawn twice as often.
        """
        drawn: list[int] = []
        while len(drawn) < size:
            wanted = size - len(drawn)
            sizes = _joined(self._truncated_geometric(wanted, bits), self._geometric(wanted), bits)
            negative = (self.words(wanted) & np.uint64(1)).astype(np.bool_)
            drawn += np.where(negative, -sizes, sizes)[(sizes != 0) | ~negative].tolist()
        return drawn

    def _truncated_geometric(self, size: int, bits: int) -> NDArray[np.uint64]:
        """Integers u below ``2**bits``, each with probability proportional to ``exp(-u / 2**bits)``.

        Rejection sampling: a uniform integer u is accepted with probability ``exp(-u / 2**bits)``.
        """
        drawn = np.empty(size, dtype=np.uint64)
        pending = np.arange(size)
        while pending.size:
            proposed = self._bits(pending.size, bits)
            accepted = self._exp_coins(proposed, bits)
            drawn[pending[accepted]] = proposed[accepted]
            pending = pending[~accepted]
        return drawn

    def _geometric(self, size: int) -> NDArray[np.int64]:
        """Integers v >= 0 with probability proportional to ``exp(-v)``: the heads of exp(-1) coins before a tail."""
        drawn = np.zeros(size, dtype=np.int64)
        pending = np.arange(size)
        while pending.size:
            # A rate of 1 with 0 bits: 1 / 2**0, so that the probability is exp(-1).
            pending = pending[self._exp_coins(np.ones(pending.size, dtype=np.uint64), 0)]
            drawn[pending] += 1
        return drawn

    def _exp_coins(self, rates: NDArray[np.uint64], bits: int) -> NDArray[np.bool_]:
        """Coins that are heads with probability ``exp(-rate / 2**bits)``, exactly, for rates up to ``2**bits``.

        With r = rate / 2**bits, toss coins of probability r, r/2, r/3, ... until one is tails. The number of tosses is
        odd with probability exp(-r). A coin of probability r/k is two coins, of probability r and 1/k.
        """
        heads = np.zeros(rates.size, dtype=np.bool_)
        pending = np.arange(rates.size)
        for trial in itertools.count(1):
            again = (self._bits(pending.size, bits) < rates[pending]) & self._one_in(trial, pending.size)
            heads[pending[~again]] = trial % 2 == 1
            pending = pending[again]
            if not pending.size:
                return heads
        raise AssertionError  # unreachable: the count is endless

    def _one_in(self, number: int, size: int) -> NDArray[np.bool_]:
        """Coins that are heads with probability ``1 / number``, exactly: a uniform integer below `number` is 0."""
        bits = (number - 1).bit_length()
        drawn = self._bits(size, bits)
        while (too_large := np.flatnonzero(drawn >= np.uint64(number))).size:
            drawn[too_large] = self._bits(too_large.size, bits)
        heads: NDArray[np.bool_] = drawn == 0
        return heads


class Spare:
    """Noise that was drawn ahead, each number to be used once, since large batches are faster per draw.

    Each new batch is as large as everything taken before. So a single release draws hardly more than it needs, and
    noise for a thousand groups is drawn in about ten batches. After a fork, the child's source drops all of it.
    """

    def __init__(self) -> None:
        self._unused: list[int] = []
        self._taken = 0
        self._lock = Lock()

    def take(self, size: int, draw: Callable[[int], list[int]]) -> list[int]:
        """`size` numbers that nobody else gets, from a new batch by `draw` where there are too few.

        What one thread takes is gone before the next one looks. Noise that two releases shared would cancel in their
        difference.
        """
        taken = self._pop(size)
        while len(taken) < size:
            batch = draw(max(size - len(taken), min(self._taken, _MOST_AHEAD)))
            with self._lock:
                self._unused += batch
            taken += self._pop(size - len(taken))
        self._taken += size
        return taken

    def _pop(self, size: int) -> list[int]:
        """The last `size` unused numbers or, if there are fewer, all of them; they are used from now on."""
        with self._lock:
            first = max(len(self._unused) - size, 0)
            popped = self._unused[first:]
            del self._unused[first:]
        return popped[::-1]


def _joined(low: NDArray[np.uint64], high: NDArray[np.int64], bits: int) -> NDArray[Any]:
    """``low + high * 2**bits``: as 64-bit integers if all fit, otherwise as Python integers."""
    fits = int(high.max()) < 1 << (LARGEST_BITS + 2 - bits)
    kind = np.int64 if fits else object
    joined: NDArray[Any] = low.astype(kind) + high.astype(kind) * (1 << bits)
    return joined
