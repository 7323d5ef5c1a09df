"""The only door through which randomness enters.

`Randomness.secure()` is what a release needs: discrete Laplace noise from OpenDP, coins, integers and
permutations from an AES-256-CTR keystream keyed by the operating system. `Randomness.seeded(seed)` has the
same methods, repeats itself, and protects nobody: it is for simulations and tests.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

from pdpmean.core.threads import SMALLEST_BATCH
from pdpmean.core.traces import load_kernels
from pdpmean.errors import InvalidInputError

__all__ = [
    "LARGEST_SCALE",
    "Randomness",
    "check_randomness",
    "laplace_scale",
    "new_run_id",
    "places_below",
    "this_process",
]

# OpenDP draws without limit but returns 64-bit words; up to this scale a draw rarely meets their end.
LARGEST_SCALE = 2.0**60
_LARGEST_BITS = 60
_MOST_AHEAD = 2**14  # draws: more would take no less time each
FirstBits = NDArray[np.uint8] | NDArray[np.uint16]
_WORD_LIMIT = 2**63 - 1
_ZEROS = memoryview(bytes(2**20))  # what is encrypted; kept, since threads wait for each other to get memory
_forks = 0  # how many forks lie between this process and the first: a process number alone may come again


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


def this_process() -> tuple[int, int]:
    """What no other process has in common with this one: what was drawn in another must not be used here, too."""
    return os.getpid(), _forks


def new_run_id() -> str:
    """A name that no other release has: 128 random bits, which nothing else is made of."""
    return os.urandom(16).hex()


@lru_cache(maxsize=64)  # groups mostly have the same few
def laplace_scale(sensitivity: int, budget: float | Fraction) -> float:
    """The least double that is at least `sensitivity / budget`: noise of this scale never costs more."""
    if math.isinf(budget):
        return 0.0
    exact = Fraction(sensitivity) / Fraction(budget)
    nearest = float(exact)
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


def check_randomness(randomness: Randomness | None) -> Randomness:
    """The source given, or a secure one."""
    if randomness is None:
        return Randomness.secure()
    if not hasattr(randomness, "add_laplace"):
        raise InvalidInputError(
            "randomness must be Randomness.secure() or Randomness.seeded(integer)", name="randomness", value=randomness
        )
    return randomness


def places_below(first: FirstBits, limit: int) -> NDArray[np.intp]:
    """Which of the first bits of coins are below the limit."""
    if first.size < SMALLEST_BATCH or limit == 0:
        return np.flatnonzero(first < limit)
    found: NDArray[np.intp] = load_kernels().find_at_most(first, first.dtype.type(limit - 1))
    return found


class Randomness:
    """All random choices of a release; `private` says whether they protect anyone.

    Make one with `Randomness.secure()` or `Randomness.seeded(seed)`. It cannot be copied or pickled, and a
    secure one draws a new key in a forked process: no two holders ever see the same coins. Threads use one each, made
    by `spawn`.
    """

    def __init__(
        self, new_key: Callable[[], bytes], laplace: Callable[[Randomness, float], int], *, private: bool
    ) -> None:
        self.private = private
        self._new_key = new_key
        self._laplace = laplace
        self._start()

    @classmethod
    def secure(cls) -> Randomness:
        """Cryptographic randomness, different on every run: what every real release uses."""
        return cls(lambda: os.urandom(32), _secure_laplace, private=True)

    @classmethod
    def seeded(cls, seed: int) -> Randomness:
        """Repeatable randomness for simulations: the same seed gives the same draws. NOT PRIVATE."""
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise InvalidInputError(f"seed must be an integer; got {seed!r}", name="seed", value=seed)
        key = hashlib.sha256(f"pdpmean seed {seed}".encode()).digest()
        return cls(lambda: key, _simulated_laplace, private=False)

    def spawn(self) -> Randomness:
        """Another source of the same kind, independent of this one: for work side by side."""
        if self.private:
            return Randomness.secure()
        key = self.words(4).tobytes()
        return Randomness(lambda: key, self._laplace, private=False)

    def remote(self) -> Callable[[str], Randomness]:
        """What makes such sources in other processes, one for each task named: it can be sent there, a source cannot.

        A secure one takes its key from the system it is made on: no secret travels, and no two share coins, not even
        two attempts at one task. A seeded one follows from the seed and the task's name.
        """
        return _secure_anywhere if self.private else partial(_seeded_anywhere, self.words(4).tobytes())

    def __repr__(self) -> str:
        return "Randomness.secure()" if self.private else "Randomness.seeded(...)  # NOT PRIVATE"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Randomness cannot be copied or pickled: its coins would repeat. Make a new one")

    def add_laplace(self, value: int, scale: float) -> int:
        """`value` plus discrete Laplace noise X, P(X = x) proportional to exp(-|x| / scale), of any size."""
        if not 0 <= scale <= LARGEST_SCALE:
            raise ValueError(f"scale must lie in [0, 2**60]; got {scale!r}")
        return value if scale == 0 else value + self._laplace(self, scale)

    def add_laplace_to_each(self, numbers: Sequence[int], bits: int) -> list[int]:
        """Each number plus discrete Laplace noise of its own, of scale ``2**bits``: many at once, in little time."""
        if not 0 <= bits <= _LARGEST_BITS:
            raise ValueError(f"bits must lie in [0, {_LARGEST_BITS}]; got {bits!r}")
        if self._process != this_process():
            self._start()
        noise = self._spare.setdefault(bits, _Spare()).take(len(numbers), partial(self._laplaces, bits=bits))
        return [number + own for number, own in zip(numbers, noise, strict=True)]

    def _laplaces(self, size: int, bits: int) -> list[int]:
        """Draws X with P(X = x) proportional to ``exp(-|x| / 2**bits)``, exactly.

        A size and a sign, both signs of 0 being one number: a negative 0 is drawn again. The size is ``u + v 2**bits``
        with P(u) proportional to ``exp(-u / 2**bits)`` for u below ``2**bits`` and P(v) to ``exp(-v)`` (Canonne, Kamath
        and Steinke, 2020, algorithm 2; here in whole arrays).
        """
        drawn: list[int] = []
        while len(drawn) < size:
            wanted = size - len(drawn)
            sizes = _joined(self._decayed_words(wanted, bits), self._exponential_steps(wanted), bits)
            negative = (self.words(wanted) & np.uint64(1)).astype(np.bool_)
            drawn += np.where(negative, -sizes, sizes)[(sizes != 0) | ~negative].tolist()
        return drawn

    def _decayed_words(self, size: int, bits: int) -> NDArray[np.uint64]:
        """Integers u below ``2**bits``, each with probability proportional to ``exp(-u / 2**bits)``."""
        found = np.empty(size, dtype=np.uint64)
        left = np.arange(size)
        while left.size:
            tried = self._bits(left.size, bits)
            taken = self._decaying(tried, bits)
            found[left[taken]] = tried[taken]
            left = left[~taken]
        return found

    def _exponential_steps(self, size: int) -> NDArray[np.int64]:
        """Integers v from 0 with probability proportional to ``exp(-v)``: how often a coin of exp(-1) is heads."""
        found = np.zeros(size, dtype=np.int64)
        left = np.arange(size)
        while left.size:
            # A rate of 1 is 2**0 over 2**0: its first coin is always heads.
            left = left[self._decaying(np.ones(left.size, dtype=np.uint64), 0)]
            found[left] += 1
        return found

    def _decaying(self, rates: NDArray[np.uint64], bits: int) -> NDArray[np.bool_]:
        """Coins that are heads with probability ``exp(-rate / 2**bits)``, exactly, for rates up to ``2**bits``.

        Of chances r, r/2, r/3 ... the first to fail is one of odd number so often. A chance of r/k is two coins, of r
        and of 1/k.
        """
        heads = np.zeros(rates.size, dtype=np.bool_)
        left = np.arange(rates.size)
        for trial in itertools.count(1):
            again = (self._bits(left.size, bits) < rates[left]) & self._one_in(trial, left.size)
            heads[left[~again]] = trial % 2 == 1
            left = left[again]
            if not left.size:
                return heads
        raise AssertionError  # never: coins end

    def _one_in(self, number: int, size: int) -> NDArray[np.bool_]:
        """Coins that are heads one time in `number`, exactly."""
        bits = (number - 1).bit_length()
        drawn = self._bits(size, bits)
        while (beyond := np.flatnonzero(drawn >= np.uint64(number))).size:
            drawn[beyond] = self._bits(beyond.size, bits)
        heads: NDArray[np.bool_] = drawn == 0
        return heads

    def _bits(self, size: int, bits: int) -> NDArray[np.uint64]:
        """Uniform integers below ``2**bits``."""
        return self.words(size) >> np.uint64(64 - bits) if bits else np.zeros(size, dtype=np.uint64)

    def words(self, size: int) -> NDArray[np.uint64]:
        """`size` independent uniform 64-bit words."""
        if self._process != this_process():
            self._start()
        stream = np.empty(8 * size + 15, dtype=np.uint8)  # the cipher asks for room for one more block
        zeros = _ZEROS[: 8 * size] if 8 * size <= len(_ZEROS) else bytes(8 * size)
        written = self._keystream.update_into(zeros, stream)
        return stream[:written].view("<u8").astype(np.uint64, copy=False)

    def coins(self, rates: NDArray[np.float64]) -> NDArray[np.bool_]:
        """One coin per rate, heads with probability `rate` rounded down to a multiple of 2**-64."""
        if not ((rates >= 0) & (rates <= 1)).all():
            raise ValueError("rates must lie in [0, 1]")
        first = self.first_bytes(rates.size).reshape(rates.shape)
        heads = first < rates * 256
        heads[heads] = self.finish_coins(first[heads], rates[heads])
        return heads

    def first_bytes(self, size: int) -> NDArray[np.uint8]:
        """The first byte of the word of each of `size` coins: for most of them it already says tails."""
        return self.words(-(-size // 8)).view(np.uint8)[:size]

    def first_pairs(self, size: int) -> NDArray[np.uint16]:
        """The first two bytes, for coins that are to be looked at before their rates are known."""
        return self.words(-(-size // 4)).view(np.uint16)[:size]

    def finish_coins(self, first: FirstBits, rates: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which coins are heads, of those whose first byte (or two) is below 256 (or 65536) times their rate."""
        certain = rates >= 1
        # Scaling by a power of two is exact, and so is the cast: it drops what is below 2**-64.
        limits = (np.where(certain, 0.0, rates) * 2.0**64).astype(np.uint64)
        known = 8 * first.itemsize
        words = (first.astype(np.uint64) << np.uint64(64 - known)) | (self.words(first.size) >> np.uint64(known))
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
            # Given that no two keys are equal, every order is equally likely; so draw again if two are.
            if (keys[1:] != keys[:-1]).all():
                return order

    def drawn_ahead(self, scale: float) -> Iterator[int]:
        """Noise of this scale from OpenDP, as words; a fork does not see what was drawn before it."""
        if self._process != this_process():
            self._start()
        return self._ahead.setdefault(scale, _drawn_ahead(scale))

    def _start(self) -> None:
        self._process = this_process()
        self._ahead: dict[float, Iterator[int]] = {}
        self._spare: dict[int, _Spare] = {}
        self._keystream: Any = Cipher(AES(self._new_key()), CTR(bytes(16))).encryptor()


class _Spare:
    """Noise drawn ahead, each used once: as much again as was taken before, since many at once take little time each.

    So the first are drawn as they are asked for, and a thousand groups in ten turns.
    """

    def __init__(self) -> None:
        self._left: list[int] = []
        self._taken = 0

    def take(self, size: int, draw: Callable[[int], list[int]]) -> list[int]:
        """So many, some of them newly drawn where there are too few.

        They are popped one by one, which threads cannot do at the same time: noise that two releases shared would
        cancel in their difference.
        """
        taken: list[int] = []
        while len(taken) < size:
            try:
                taken.append(self._left.pop())
            except IndexError:
                self._left += draw(max(size - len(taken), min(self._taken, _MOST_AHEAD)))
        self._taken += size
        return taken


def _joined(low: NDArray[np.uint64], high: NDArray[np.int64], bits: int) -> NDArray[Any]:
    """``low + high * 2**bits``: in words if they have room, else in integers of any size."""
    fits = int(high.max()) < 1 << (_LARGEST_BITS + 2 - bits)
    kind = np.int64 if fits else object
    joined: NDArray[Any] = low.astype(kind) + high.astype(kind) * (1 << bits)
    return joined


def _secure_anywhere(_: str) -> Randomness:
    return Randomness.secure()


def _seeded_anywhere(secret: bytes, task: str) -> Randomness:
    key = hashlib.sha256(secret + task.encode()).digest()
    return Randomness(lambda: key, _simulated_laplace, private=False)


@lru_cache(maxsize=1)
def _opendp_maker() -> Callable[..., Any]:
    """What makes noise of a scale, for a list of numbers."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    # Domain and metric are kept: with many groups, and a scale each, they would take longer than all draws.
    return partial(make_laplace, vector_domain(atom_domain(T="i64")), l1_distance(T="i64"))


@lru_cache(maxsize=256)
def _opendp_laplace(scale: float) -> Callable[[list[int]], list[int]]:
    draw: Callable[[list[int]], list[int]] = _opendp_maker()(scale=scale)
    return draw


def _drawn_ahead(scale: float) -> Iterator[int]:
    """Noise without end, drawn more and more at a time: many together take a tenth of the time of one by one."""
    for doublings in itertools.count():
        yield from _opendp_laplace(scale)([0] * 2 ** min(doublings, 8))


def _secure_laplace(source: Randomness, scale: float) -> int:
    return _unlimited(partial(next, source.drawn_ahead(scale)), _WORD_LIMIT)


def _unlimited(draw: Callable[[], int], limit: int) -> int:
    """A discrete Laplace draw without limit, from draws that stop at +-limit.

    The law has no memory: given that |X| reaches the limit, what lies beyond it is again geometric, which is
    a draw given that it is not negative. (A word's lowest value, -limit - 1, counts as -limit.)
    """
    first = draw()
    if abs(first) < limit:
        return first
    size = limit
    while True:
        beyond = draw()
        if beyond >= limit:
            size += limit
        elif beyond >= 0:
            return size + beyond if first > 0 else -size - beyond


def _simulated_laplace(source: Randomness, scale: float) -> int:
    """The difference of two geometric variables; floor(scale * exponential) is geometric."""
    uniforms = ((source.words(2) >> np.uint64(11)) + 0.5) * 2.0**-53
    first, second = (math.floor(-scale * math.log(uniform)) for uniform in uniforms)
    return first - second
