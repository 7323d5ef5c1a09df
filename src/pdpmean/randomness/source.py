"""`Randomness`: the source that every release draws from.

`Randomness.secure()` is what a release needs. Single draws of discrete Laplace noise come from OpenDP; everything else
comes from a keystream that is keyed by the operating system. `Randomness.seeded(seed)` has the same methods, repeats
itself, and protects nobody: it is for simulations and tests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.threads import SMALLEST_BATCH
from pdpmean.core.traces import load_kernels
from pdpmean.errors import InvalidInputError
from pdpmean.randomness.keystream import secure_key, this_process
from pdpmean.randomness.many_draws import ManyDraws
from pdpmean.randomness.scale import LARGEST_BITS, LARGEST_SCALE
from pdpmean.randomness.single_draws import drawn_ahead, secure_laplace, simulated_laplace

__all__ = ["FirstBits", "Randomness", "check_randomness", "places_below"]

FirstBits = NDArray[np.uint8] | NDArray[np.uint16]
"""The first 8 or 16 bits of the random word behind each coin."""


def check_randomness(randomness: Randomness | None) -> Randomness:
    """The given source of randomness, or a new secure one if it is None."""
    if randomness is None:
        return Randomness.secure()
    if not hasattr(randomness, "add_laplace"):
        raise InvalidInputError(
            "randomness must be Randomness.secure() or Randomness.seeded(integer)", name="randomness", value=randomness
        )
    return randomness


def places_below(first: FirstBits, limit: int) -> NDArray[np.intp]:
    """The indices of the coins whose first bits are below the limit."""
    if first.size < SMALLEST_BATCH or limit == 0:
        return np.flatnonzero(first < limit)
    places: NDArray[np.intp] = load_kernels().find_at_most(first, first.dtype.type(limit - 1))
    return places


class Randomness(ManyDraws):
    """The source of all random choices of a release; `private` says whether they protect anyone.

    Make one with `Randomness.secure()` or `Randomness.seeded(seed)`. No two holders ever see the same coins: a source
    cannot be copied or pickled, and a secure one draws a new key after a fork. Each thread uses a source of its own,
    made by `spawn`.
    """

    def __init__(
        self, new_key: Callable[[], bytes], laplace: Callable[[Randomness, float], int], *, private: bool
    ) -> None:
        self.private = private
        self._laplace = laplace
        super().__init__(new_key)

    @classmethod
    def secure(cls) -> Randomness:
        """Cryptographic randomness, different on every run: what every real release uses."""
        return cls(secure_key, _secure_laplace, private=True)

    @classmethod
    def seeded(cls, seed: int) -> Randomness:
        """Repeatable randomness for simulations: the same seed gives the same draws. NOT PRIVATE."""
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise InvalidInputError(f"seed must be an integer; got {seed!r}", name="seed", value=seed)
        key = hashlib.sha256(f"pdpmean seed {seed}".encode()).digest()
        return cls(lambda: key, simulated_laplace, private=False)

    def spawn(self) -> Randomness:
        """Another source of the same kind, independent of this one, for work in parallel."""
        if self.private:
            return Randomness.secure()
        key = self.words(4).tobytes()
        return Randomness(lambda: key, self._laplace, private=False)

    def remote(self) -> Callable[[str], Randomness]:
        """A function from the name of a task to a new source, which can be sent to other processes, unlike a source.

        A secure source takes its key from the machine it is made on. So no secret is sent, and no two sources share
        coins, not even those of two attempts at one task. A seeded source follows from the seed and the task's name.
        """
        return _secure_anywhere if self.private else partial(_seeded_anywhere, self.words(4).tobytes())

    def __repr__(self) -> str:
        return "Randomness.secure()" if self.private else "Randomness.seeded(...)  # NOT PRIVATE"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Randomness cannot be copied or pickled: its coins would repeat. Make a new one")

    def add_laplace(self, value: int, scale: float) -> int:
        """`value` plus discrete Laplace noise X, unlimited, with P(X = x) proportional to ``exp(-|x| / scale)``."""
        if not 0 <= scale <= LARGEST_SCALE:
            raise ValueError(f"scale must lie in [0, 2**60]; got {scale!r}")
        return value if scale == 0 else value + self._laplace(self, scale)

    def add_laplace_to_each(self, numbers: Sequence[int], bits: int) -> list[int]:
        """Each number plus independent discrete Laplace noise of scale ``2**bits``; fast for many numbers at once."""
        if not 0 <= bits <= LARGEST_BITS:
            raise ValueError(f"bits must lie in [0, {LARGEST_BITS}]; got {bits!r}")
        draws = self.many_laplaces(len(numbers), bits)
        return [number + noise for number, noise in zip(numbers, draws, strict=True)]

    def coins(self, rates: NDArray[np.float64]) -> NDArray[np.bool_]:
        """One coin per rate, heads with probability `rate` rounded down to a multiple of 2**-64."""
        if not ((rates >= 0) & (rates <= 1)).all():
            raise ValueError("rates must lie in [0, 1]")
        first = self.first_bytes(rates.size).reshape(rates.shape)
        heads = first < rates * 256
        heads[heads] = self.finish_coins(first[heads], rates[heads])
        return heads

    def first_bytes(self, size: int) -> NDArray[np.uint8]:
        """The first byte of the word behind each of `size` coins: if rates are small, most are tails by it alone."""
        return self.words(-(-size // 8)).view(np.uint8)[:size]

    def first_pairs(self, size: int) -> NDArray[np.uint16]:
        """The first two bytes of the word behind each of `size` coins, to be used before their rates are known."""
        return self.words(-(-size // 4)).view(np.uint16)[:size]

    def finish_coins(self, first: FirstBits, rates: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which coins are heads, among those whose first bits do not already say tails.

        These are the coins whose first byte is below 256 times their rate (or first two bytes, below 65536 times).
        """
        certain = rates >= 1
        # Scaling by a power of two is exact, so the cast alone rounds rates, down to multiples of 2**-64.
        limits = (np.where(certain, 0.0, rates) * 2.0**64).astype(np.uint64)
        drawn_bits = 8 * first.itemsize
        high_bits = first.astype(np.uint64) << np.uint64(64 - drawn_bits)
        words = high_bits | (self.words(first.size) >> np.uint64(drawn_bits))
        return certain | (words < limits)

    def below(self, bound: int) -> int:
        """A uniform integer in [0, bound), for a bound of any size."""
        if bound < 1:
            raise ValueError(f"bound must be at least 1; got {bound}")
        bits = (bound - 1).bit_length()
        if bits == 0:
            return 0
        while True:
            drawn = int.from_bytes(self.words(-(-bits // 64)).tobytes(), "little") & ((1 << bits) - 1)
            if drawn < bound:
                return drawn

    def permutation(self, size: int) -> NDArray[np.intp]:
        """A uniformly random order of 0, 1, ..., size - 1."""
        while True:
            keys = self.words(size)
            order = np.argsort(keys)
            keys = keys[order]
            # If no two keys are equal, every order is equally likely. So draw again if two are.
            if (keys[1:] != keys[:-1]).all():
                return order

    def drawn_ahead(self, scale: float) -> Iterator[int]:
        """An endless iterator over noise of this scale from OpenDP, as 64-bit integers; a fork gets a new one."""
        if self._process != this_process():
            self._start()
        return self._ahead.setdefault(scale, drawn_ahead(scale))

    def _start(self) -> None:
        """Begin with a new key, and nothing drawn ahead."""
        self._ahead: dict[float, Iterator[int]] = {}
        super()._start()


def _secure_laplace(source: Randomness, scale: float) -> int:
    """One draw of discrete Laplace noise from OpenDP."""
    return secure_laplace(source.drawn_ahead(scale))


def _secure_anywhere(_: str) -> Randomness:
    """A secure source for a task in whichever process this is called; see `Randomness.remote`."""
    return Randomness.secure()


def _seeded_anywhere(secret: bytes, task: str) -> Randomness:
    """A seeded source for a task in whichever process this is called; see `Randomness.remote`."""
    key = hashlib.sha256(secret + task.encode()).digest()
    return Randomness(lambda: key, simulated_laplace, private=False)
