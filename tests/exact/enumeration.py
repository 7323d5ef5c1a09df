"""The exact law of a mechanism, by running its real code once for every way its random draws can fall.

`Enumerator` stands in for `Randomness`. A coin, an integer or a permutation takes each of its values in turn; a
noisy number takes as many values as matter: one of two when it is only compared, every integer up to where
`TAIL` of its mass is left when it is used. `law(mechanism)` visits every path and adds up the probabilities,
`loss` compares two laws. `collapsed` replaces a step inside a larger mechanism by one draw from that step's own
law, so that steps multiply as outcomes and not as paths.

A number that is released as it is (`law(..., released=True)`) is not enumerated: a path then carries the exact
integer under the noise, and `loss` takes the supremum over all outputs in closed form.

Stated error: noise beyond ``TAIL`` of its mass (2e-17) and paths below ``SMALLEST_PATH`` (1e-18) are dropped, and
outcomes rarer than ``FLOOR`` (1e-8) are not compared, so a loss is off by less than 1e-9 for laws of fewer than
some ten million paths. Probabilities are doubles, each off by less than 1e-12 of itself.
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache, lru_cache, partial
from typing import Any, cast
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from pdpmean.laws.lattice import Lattice
from pdpmean.randomness import Randomness

TAIL = 2e-17
SMALLEST_PATH = 1e-18
FLOOR = 1e-8

_HASHABLE = {bool, float, int, str, Fraction, Lattice}

Mechanism = Callable[[Randomness], Any]
Shifted = dict[tuple[int, ...], float]  # the integers under released noise -> probability


class Law:
    """What a mechanism can put out: outcome -> probability, for each set of integers under released noise."""

    def __init__(self) -> None:
        self.weights: defaultdict[Any, Shifted] = defaultdict(lambda: defaultdict(float))
        self.outcomes: dict[Any, Any] = {}

    def add(self, outcome: Any, probability: float, scales: tuple[float, ...], shifts: tuple[int, ...]) -> None:
        key = (frozen(outcome), scales)
        self.outcomes.setdefault(key, outcome)
        self.weights[key][shifts] += probability

    def items(self) -> list[tuple[Any, float]]:
        """Every outcome with its probability."""
        return [(self.outcomes[key], sum(parts.values())) for key, parts in self.weights.items()]

    def total(self) -> float:
        return math.fsum(probability for _, probability in self.items())


class Choice:
    """The branches of a draw, with their probabilities; branches of probability 0 are never taken."""

    def __init__(self, probabilities: Iterable[float]) -> None:
        possible = [(branch, chance) for branch, chance in enumerate(probabilities) if chance > 0]
        self.branches = [branch for branch, _ in possible]
        self.chances = [chance for _, chance in possible]


@lru_cache(maxsize=2**16)
def _coin(probability: float) -> Choice:
    return Choice([1 - probability, probability])


@cache
def _uniform(size: int) -> Choice:
    return Choice([1 / size] * size)


@cache
def _laplace(scale: float) -> tuple[range, Choice]:
    """The values that noise of this scale takes, up to where `TAIL` of its mass is left."""
    reach = math.ceil(scale * -math.log(TAIL / 2))
    values = range(-reach, reach + 1)
    return values, Choice(laplace_mass(x, scale) for x in values)


class Enumerator:
    """A stand-in for `Randomness` that takes, on one run, the path written in `script`."""

    private = False

    def __init__(self, script: list[int], *, released: bool) -> None:
        self.script, self.sizes = script, list[int]()
        self.probability = 1.0
        self.releasing = released
        self.scales, self.shifts, self.transcript = list[float](), list[int](), list[Any]()

    def choose(self, choice: Choice) -> int:
        """The branch this run takes."""
        position = len(self.sizes)
        if position == len(self.script):
            self.script.append(0)
        self.sizes.append(len(choice.branches))
        taken = self.script[position]
        self.probability *= choice.chances[taken]
        if self.probability < SMALLEST_PATH:
            raise Negligible
        return choice.branches[taken]

    def heads(self, probability: float) -> bool:
        return bool(self.choose(_coin(probability)))

    def spawn(self) -> Enumerator:
        return self

    def coins(self, rates: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.array([self.heads(rate) for rate in rates.tolist()], dtype=bool)

    def first_bytes(self, size: int) -> FirstBits:
        return FirstBits(self, [1.0] * size, 2**8)

    def first_pairs(self, size: int) -> FirstBits:
        return FirstBits(self, [1.0] * size, 2**16)

    def finish_coins(self, first: FirstBits, rates: NDArray[np.float64]) -> NDArray[np.bool_]:
        chances = [min(rate / known, 1.0) for rate, known in zip(rates.tolist(), first.below, strict=True)]
        return np.array([self.heads(chance) for chance in chances], dtype=bool)

    def below(self, bound: int) -> int:
        return self.choose(_uniform(bound))

    def permutation(self, size: int) -> NDArray[np.intp]:
        orders = list(itertools.permutations(range(size)))
        return np.array(orders[self.below(len(orders))], dtype=np.intp)

    def add_laplace(self, value: int, scale: float) -> Any:
        if scale == 0:
            return value
        if self.releasing:
            self.scales.append(scale)
            self.shifts.append(value)
            return value
        return Noisy(self, value, scale)

    def add_laplace_to_each(self, numbers: Sequence[int], bits: int) -> list[Any]:
        """That the shipped one has the law used here is shown on its own, in tests/test_randomness.py."""
        return [self.add_laplace(number, 2.0**bits) for number in numbers]


class FirstBits:
    """The first bits of coins, as far as they have been looked at: each is known to be below a part of their range."""

    def __init__(self, source: Enumerator, below: list[float], range_: int) -> None:
        self.source, self.below, self.range = source, below, range_
        self.size = len(below)

    def __lt__(self, limits: int | NDArray[np.int64]) -> NDArray[np.bool_]:
        assert not np.isnan(self.below).any(), "looked at again, though it is known only to be above a limit"
        parts = np.minimum(np.broadcast_to(limits, self.size) / self.range, self.below).tolist()
        found = [self.source.heads(part / known) for part, known in zip(parts, self.below, strict=True)]
        self.below = [part if less else math.nan for part, less in zip(parts, found, strict=True)]
        return np.array(found, dtype=bool)

    def __getitem__(self, where: NDArray[np.intp]) -> FirstBits:
        return FirstBits(self.source, [self.below[place] for place in where.tolist()], self.range)

    def __array_function__(self, function: Any, _types: Any, args: Any, _options: Any) -> FirstBits:
        assert function is np.concatenate
        known = [part.below for part in args[0] if isinstance(part, FirstBits)]
        return FirstBits(self.source, list(itertools.chain.from_iterable(known)), self.range)


class Noisy:
    """A number plus discrete Laplace noise that has not fallen yet: comparing it costs two branches."""

    def __init__(self, source: Enumerator, shift: float, scale: float) -> None:
        self.source, self.shift, self.scale = source, shift, scale
        self.noise: int | None = None
        self.compared = False

    def __add__(self, other: float) -> Noisy:
        return Noisy(self.source, self.shift + other, self.scale)

    __radd__ = __add__

    def __sub__(self, other: int) -> int:
        return int(self.value()) - other

    def __gt__(self, other: Noisy | float) -> bool:
        limit = other.value() if isinstance(other, Noisy) else other
        if self.noise is not None:
            return self.value() > limit
        assert not self.compared, "compared twice: the two answers would not be independent"
        self.compared = True
        return self.source.heads(laplace_above(math.floor(limit - self.shift), self.scale))

    def value(self) -> float:
        assert not self.compared, "used after a comparison"
        if self.noise is None:
            values, choice = _laplace(self.scale)
            self.noise = values[self.source.choose(choice)]
        return self.shift + self.noise


class Negligible(Exception):  # noqa: N818 - not an error
    """The path's probability has fallen below what is counted."""


def laplace_mass(x: int, scale: float) -> float:
    """P(X = x) for discrete Laplace noise."""
    return math.tanh(0.5 / scale) * math.exp(-abs(x) / scale)


def laplace_above(x: int, scale: float) -> float:
    """P(X > x) for discrete Laplace noise."""
    tail = math.exp(-(abs(x + 0.5) + 0.5) / scale) / (1 + math.exp(-1 / scale))
    return tail if x >= 0 else 1 - tail


def law(mechanism: Mechanism, *, released: bool = False) -> Law:
    """The exact law of ``mechanism(randomness)``: every path of its draws, each once.

    With `released`, noisy numbers are outputs: an outcome is then the transcript of the collapsed steps together
    with the scales of the noise, and the integers under the noise are kept beside it.
    """
    found, script = Law(), list[int]()
    while True:
        run = Enumerator(script, released=released)
        try:
            outcome = mechanism(cast(Randomness, run))
            if released:
                outcome = tuple(run.transcript)
            found.add(outcome, run.probability, tuple(run.scales), tuple(run.shifts))
        except Negligible:
            pass
        sizes = run.sizes
        del script[len(sizes) :]
        while script and script[-1] == sizes[len(script) - 1] - 1:
            script.pop()
        if not script:
            return found
        script[-1] += 1


def loss(first: Law, second: Law) -> float:
    """The largest absolute log-ratio of the two laws, over outcomes that either gives at least `FLOOR`."""
    worst = 0.0
    for key in first.weights.keys() | second.weights.keys():
        nothing: Shifted = {}
        ours, theirs = first.weights.get(key, nothing), second.weights.get(key, nothing)
        total, other = math.fsum(ours.values()), math.fsum(theirs.values())
        if max(total, other) < FLOOR:
            continue
        if min(total, other) == 0:
            return math.inf
        worst = max(worst, _mixture_loss(ours, theirs, key[1]))
    return worst


def _mixture_loss(ours: Shifted, theirs: Shifted, scales: tuple[float, ...]) -> float:
    """The supremum of the log-ratio of two mixtures of shifted discrete Laplace laws of the same scales.

    In each coordinate, between two neighbouring shifts, either mixture is A e^x + B e^-x, and the ratio of two
    such functions is monotone: so its extremes are at the shifts, and beyond the outermost it is constant. Coordinates
    that have one shift throughout cancel.
    """
    axes = [sorted(set(shifts)) for shifts in zip(*ours, *theirs, strict=True)]
    moved = [axis for axis, shifts in enumerate(axes) if len(shifts) > 1]

    def in_nats(parts: Shifted) -> list[tuple[tuple[float, ...], float]]:
        return [(tuple(shift[axis] / scales[axis] for axis in moved), chance) for shift, chance in parts.items()]

    def density(parts: list[tuple[tuple[float, ...], float]], point: tuple[float, ...]) -> float:
        return math.fsum(
            chance * math.exp(-sum(abs(a - s) for a, s in zip(point, shift, strict=True))) for shift, chance in parts
        )

    first, second = in_nats(ours), in_nats(theirs)
    points = itertools.product(*([shift / scales[axis] for shift in axes[axis]] for axis in moved))
    return max(abs(math.log(density(first, point) / density(second, point))) for point in points)


def replacement_losses(law_of: Callable[[tuple[Any, ...]], Law], domain: Sequence[Any], size: int) -> list[float]:
    """Bounded neighbours: each record's worst loss over every data set of `size` values from `domain`."""
    laws = {
        picks: law_of(tuple(domain[pick] for pick in picks))
        for picks in itertools.product(range(len(domain)), repeat=size)
    }
    return [
        max(
            loss(laws[picks], laws[(*picks[:record], other, *picks[record + 1 :])])
            for picks in laws
            for other in range(picks[record] + 1, len(domain))
        )
        for record in range(size)
    ]


def removal_losses(law_of: Callable[[tuple[Any, ...]], Law], people: Sequence[Any]) -> dict[Any, float]:
    """Unbounded neighbours: each person's worst loss over every subset of `people` that they may leave or join."""
    subsets = [subset for size in range(len(people) + 1) for subset in itertools.combinations(people, size)]
    laws = {subset: law_of(subset) for subset in subsets}
    return {
        person: max(
            loss(laws[subset], laws[tuple(other for other in subset if other is not person)])
            for subset in subsets
            if person in subset
        )
        for person in people
    }


def frozen(thing: Any) -> Any:
    """A hashable twin of an outcome or an argument: equal exactly when the things are."""
    if type(thing) in _HASHABLE:
        return thing
    if isinstance(thing, np.ndarray):
        return (thing.dtype.str, thing.shape, (thing + 0.0 if thing.dtype.kind == "f" else thing).tobytes())
    if isinstance(thing, (list, tuple)):
        return tuple([frozen(part) for part in thing])
    if is_dataclass(thing) and not isinstance(thing, type):
        return tuple([frozen(getattr(thing, field.name)) for field in fields(thing)])
    return thing


@contextmanager
def collapsed(*steps: str, **overrides: dict[str, Any]) -> Iterator[None]:
    """Replace each step, named "module:function" under pdpmean, by one draw from its own exact law.

    A step takes its randomness as a keyword or as its last argument. `overrides[function]` are extra arguments for
    it, such as a shorter list of powers of two. The exact selection of a segment is replaced throughout, since its
    2**64 draws cannot be visited: that it has the law used here is shown on its own, in tests/test_exact_choice.py.
    What a private median works out before it draws anything is worked out once for the same values.
    """
    memory: dict[Any, tuple[list[Any], Choice]] = {}

    def replace(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        real = partial(real, **overrides.get(name, {}))

        def step(*args: Any, randomness: Any = None, **options: Any) -> Any:
            if randomness is None:
                *args, randomness = args  # type: ignore[assignment]
            key = (name, frozen(args), frozen(sorted(options.items())))
            if key not in memory:
                found = law(lambda inner: real(*args, randomness=inner, **options)).items()
                memory[key] = [outcome for outcome, _ in found], Choice(chance for _, chance in found)
            outcomes, choice = memory[key]
            outcome = outcomes[randomness.choose(choice)]
            randomness.transcript.append(outcome)
            return outcome

        return step

    with ExitStack() as stack:
        for selecting in ("pdpmean.paper.find_quantile", "pdpmean.release.private_median"):
            stack.enter_context(
                mock.patch.object(importlib.import_module(selecting), "choose_segments", _choose_segments)
            )
        median = importlib.import_module("pdpmean.release.private_median")
        stack.enter_context(mock.patch.object(median, "_segments", _remembered(median._segments)))
        stack.enter_context(mock.patch.object(Lattice, "log_measures", _remembered(Lattice.log_measures)))
        for step in steps:
            module_name, function = step.split(":")
            module = importlib.import_module(f"pdpmean.{module_name}")
            stack.enter_context(mock.patch.object(module, function, replace(function, getattr(module, function))))
        yield


def _remembered(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which must be a pure one, called once for the same arguments."""
    memory: dict[Any, Any] = {}

    def recall(*args: Any) -> Any:
        key = frozen(args)
        if key not in memory:
            memory[key] = function(*args)
        return memory[key]

    return recall


def _choose_segments(
    log_lengths: NDArray[np.float64],
    length: Callable[[int], int],
    penalties: NDArray[np.int64],
    rate: float,
    randomness: Any,
    starts: Sequence[int] = (0,),
) -> list[int]:
    """`pdpmean.release.exact_choice.choose_segments` with its draws enumerated: one branch a segment."""
    sizes = tuple(length(index) if log > -math.inf else 0 for index, log in enumerate(log_lengths.tolist()))
    choices = _segment_choices(sizes, tuple(penalties.tolist()), rate, tuple(map(int, starts)))
    return [start + randomness.choose(choice) for start, choice in zip(starts, choices, strict=True)]


@lru_cache(maxsize=2**12)
def _segment_choices(
    sizes: tuple[int, ...], penalties: tuple[int, ...], rate: float, starts: tuple[int, ...]
) -> list[Choice]:
    """Of each part, its segments in proportion to ``size exp(-rate penalty)``.

    Penalties are integers, of which the least possible one is subtracted exactly: then the largest weight is at least
    1, and what underflows is far below `SMALLEST_PATH`. An exponent of at most 800 is off by less than 1e-13.
    """
    choices = []
    for start, stop in itertools.pairwise([*starts, len(sizes)]):
        part = list(zip(sizes[start:stop], penalties[start:stop], strict=True))
        least = min(penalty for size, penalty in part if size)
        weights = [size * math.exp(-rate * (penalty - least)) if size else 0.0 for size, penalty in part]
        total = math.fsum(weights)
        choices.append(Choice(weight / total for weight in weights))
    return choices
