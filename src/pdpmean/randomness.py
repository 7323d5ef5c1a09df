"""The only source of randomness in the library: noise, coins, integers and permutations.

`Randomness.secure()` is what a release needs. Single draws of discrete Laplace noise come from OpenDP; everything else
comes from an AES-256-CTR keystream that is keyed by the operating system. `Randomness.seeded(seed)` has the same
methods, repeats itself, and protects nobody: it is for simulations and tests. A test over the syntax tree checks that
no other module draws random numbers, so this is the only file to review for the quality of the randomness.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from threading import Lock
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

# The largest scale of noise. OpenDP's noise saturates at the ends of a 64-bit word, which draws of this scale rarely
# reach (`_unlimited` treats those that do).
LARGEST_SCALE = 2.0**60
_LARGEST_BITS = 60  # the binary logarithm of the largest scale
_MOST_AHEAD = 2**14  # the largest number of draws made ahead; a larger batch would not be faster per draw
FirstBits = NDArray[np.uint8] | NDArray[np.uint16]
"""The first 8 or 16 bits of the random word behind each coin."""
_WORD_LIMIT = 2**63 - 1  # the absolute value at which OpenDP's noise saturates
# The plaintext of the keystream. It is kept, since threads that allocate memory wait for each other.
_ZEROS = memoryview(bytes(2**20))
_forks = 0  # the number of forks from the first process to this one: process numbers alone are reused


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


def this_process() -> tuple[int, int]:
    """An identifier of this process that no fork shares, to detect that a source was inherited through a fork.

    A child that went on with its parent's state would repeat the parent's draws.
    """
    return os.getpid(), _forks


def new_run_id() -> str:
    """A unique name for a release: 128 random bits, which are used for nothing else."""
    return os.urandom(16).hex()


@lru_cache(maxsize=64)  # most groups share a few pairs of arguments
def laplace_scale(sensitivity: int, budget: float | Fraction) -> float:
    """The noise scale `sensitivity / budget`, rounded up to a double, so that the loss never exceeds the budget."""
    if math.isinf(budget):
        return 0.0
    exact = Fraction(sensitivity) / Fraction(budget)
    nearest = float(exact)
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


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


class Randomness:
    """The source of all random choices of a release; `private` says whether they protect anyone.

    Make one with `Randomness.secure()` or `Randomness.seeded(seed)`. No two holders ever see the same coins: a source
    cannot be copied or pickled, and a secure one draws a new key after a fork. Each thread uses a source of its own,
    made by `spawn`.
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
        if not 0 <= bits <= _LARGEST_BITS:
            raise ValueError(f"bits must lie in [0, {_LARGEST_BITS}]; got {bits!r}")
        if self._process != this_process():
            self._start()
        draws = self._spare.setdefault(bits, _Spare()).take(len(numbers), partial(self._laplaces, bits=bits))
        return [number + noise for number, noise in zip(numbers, draws, strict=True)]

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

    def _bits(self, size: int, bits: int) -> NDArray[np.uint64]:
        """Uniform integers below ``2**bits``."""
        return self.words(size) >> np.uint64(64 - bits) if bits else np.zeros(size, dtype=np.uint64)

    def words(self, size: int) -> NDArray[np.uint64]:
        """`size` independent uniform 64-bit words."""
        if self._process != this_process():
            self._start()
        stream = np.empty(8 * size + 15, dtype=np.uint8)  # the cipher requires space for one more block, less a byte
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
        return self._ahead.setdefault(scale, _drawn_ahead(scale))

    def _start(self) -> None:
        """Begin with a new key and no noise drawn ahead: at first, and in a process that was forked."""
        self._process = this_process()
        self._ahead: dict[float, Iterator[int]] = {}
        self._spare: dict[int, _Spare] = {}
        self._keystream: Any = Cipher(AES(self._new_key()), CTR(bytes(16))).encryptor()


class _Spare:
    """Noise that was drawn ahead, each number to be used once, since large batches are faster per draw.

    Each new batch is as large as everything taken before. So a single release draws hardly more than it needs, and
    noise for a thousand groups is drawn in about ten batches.
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
            self._unused += draw(max(size - len(taken), min(self._taken, _MOST_AHEAD)))
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
    fits = int(high.max()) < 1 << (_LARGEST_BITS + 2 - bits)
    kind = np.int64 if fits else object
    joined: NDArray[Any] = low.astype(kind) + high.astype(kind) * (1 << bits)
    return joined


def _secure_anywhere(_: str) -> Randomness:
    """A secure source for a task in whichever process this is called; see `Randomness.remote`."""
    return Randomness.secure()


def _seeded_anywhere(secret: bytes, task: str) -> Randomness:
    """A seeded source for a task in whichever process this is called; see `Randomness.remote`."""
    key = hashlib.sha256(secret + task.encode()).digest()
    return Randomness(lambda: key, _simulated_laplace, private=False)


@lru_cache(maxsize=1)
def _opendp_maker() -> Callable[..., Any]:
    """OpenDP's constructor of Laplace mechanisms for lists of integers, which is still to be given a scale."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    # Domain and metric are made once. With many groups, each with its scale, that would take longer than all draws.
    return partial(make_laplace, vector_domain(atom_domain(T="i64")), l1_distance(T="i64"))


@lru_cache(maxsize=256)
def _opendp_laplace(scale: float) -> Callable[[list[int]], list[int]]:
    """OpenDP's Laplace mechanism of this scale: adds noise to a list of integers, saturating at 64 bits."""
    draw: Callable[[list[int]], list[int]] = _opendp_maker()(scale=scale)
    return draw


def _drawn_ahead(scale: float) -> Iterator[int]:
    """Endless noise from OpenDP, in batches that double up to 256: large batches take a tenth of the time per draw."""
    for doublings in itertools.count():
        yield from _opendp_laplace(scale)([0] * 2 ** min(doublings, 8))


def _secure_laplace(source: Randomness, scale: float) -> int:
    """One draw of discrete Laplace noise from OpenDP."""
    return _unlimited(partial(next, source.drawn_ahead(scale)), _WORD_LIMIT)


def _unlimited(draw: Callable[[], int], limit: int) -> int:
    """A discrete Laplace draw without a limit, from draws that saturate at +-limit.

    |X| is memoryless: given that it reaches the limit, the excess is geometric again, and so is a draw given that it is
    not negative. (The lowest 64-bit integer, -limit - 1, counts as -limit.)
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
    """Approximate discrete Laplace noise in doubles, for simulations: the difference of two geometric variables.

    floor(scale * E) is geometric if E is exponential.
    """
    uniforms = ((source.words(2) >> np.uint64(11)) + 0.5) * 2.0**-53
    first, second = (math.floor(-scale * math.log(uniform)) for uniform in uniforms)
    return first - second
