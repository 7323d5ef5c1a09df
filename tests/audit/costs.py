"""What one record costs in a whole estimate, added up in fractions from what the shipped code really does.

`audit` runs `estimate_mean` itself, with plans of the shipped planner, on two neighbouring data sets. A `Ledger` stands
in for its randomness: of every noisy number it writes down the integer under the noise and the scale, of every coin the
rate, and of locating the integer weights. On the neighbour it releases the same numbers again, so that all later steps
are the same. What a record costs is then the sum over all noisy numbers of by how much the integers differ over the
scale, and what locating may cost by the amplification theorem: no formula of the planner is repeated here.
"""

from __future__ import annotations

import decimal
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple, NoReturn
from unittest import mock

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from audit.scenarios import KINDS, Kind, Scenario, draw
from pdpmean import estimate
from pdpmean.core.integers import STEPS
from pdpmean.core.options import Options
from pdpmean.core.types import Counts, Floats
from pdpmean.core.weights import WEIGHT_UNIT
from pdpmean.errors import InsufficientBudgetError
from pdpmean.laws.lattice import Lattice
from pdpmean.passes.batch import Batch, Keeping, Tallying
from pdpmean.passes.cells import Cells
from pdpmean.passes.source import Source
from pdpmean.planning.census import Census
from pdpmean.planning.make import plan_groups
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import Location, Released, ReleasedSums
from pdpmean.randomness import Randomness
from pdpmean.release import any_shape, locate, private_median
from pdpmean.release.shapes import RELEASES

Outcome = Plan | InsufficientBudgetError
Costs = dict[str, Fraction]  # by step

SPIKES = 3  # cells of a histogram, of all groups together, that seem to hold a population
MARKED = ("take_census", "weight_squares", "locate", "average")  # the steps of estimate.py that see the data
CENSUS, SQUARES, LOCATING, AVERAGING = MARKED
COSTED = {
    "census": (CENSUS,),
    "squares": (SQUARES,),
    "average": (AVERAGING,),
    "locate and average": (LOCATING, AVERAGING),  # the one may spend what the other is spared
    "all": MARKED,
}


class Record(NamedTuple):
    """The record that two neighbouring data sets differ in."""

    value: float
    budget: float
    group: int


class Noisy(NamedTuple):
    """Numbers that got noise of one scale, each its own."""

    step: str
    numbers: tuple[int, ...]
    scale: float

    def cost(self, other: Noisy) -> Fraction:
        """By what factor, at most, the probability of any noisy numbers differs: its logarithm."""
        assert (self.step, self.scale) == (other.step, other.scale), "noise that tells"
        moved = sum(abs(ours - theirs) for ours, theirs in zip(self.numbers, other.numbers, strict=True))
        assert self.scale or not moved, "released without noise"
        return moved / Fraction(self.scale) if moved else Fraction(0)


class Ledger(Randomness):
    """Writes down what noise is added to; says what an earlier one said, or else adds noise of a simulation."""

    def __init__(self, source: Generator, place: float, replayed: Ledger | None = None) -> None:
        super().__init__(lambda: bytes(32), lambda *_: 0, private=False)
        self.source, self.place = source, place
        self.replayed = None if replayed is None else iter(replayed.released)
        self.step = ""
        self.noisy: list[Noisy] = []
        self.released: list[tuple[int, ...]] = []
        self.rates: list[float] = []
        self.weights: list[int] = []
        self.in_cells = Fraction(0)

    def spawn(self) -> Ledger:
        return self

    def add_laplace(self, value: int, scale: float) -> int:
        return self._release(Noisy(self.step, (value,), scale))[0]

    def add_laplace_to_each(self, numbers: Sequence[int], bits: int) -> list[int]:
        """In locating, all is due to the one record: nobody else is sampled. It costs that only if it is kept."""
        noisy = Noisy(self.step, tuple(numbers), 2.0**bits)
        if self.step == LOCATING:
            nothing = Noisy(self.step, (0,) * len(numbers), 2.0**bits)
            self.in_cells += noisy.cost(nothing)
            return list(self._release(nothing, spikes=SPIKES))
        return list(self._release(noisy))

    def _release(self, noisy: Noisy, spikes: int = 0) -> tuple[int, ...]:
        self.noisy.append(noisy)
        said = next(self.replayed) if self.replayed else self._simulated(noisy, spikes)
        self.released.append(said)
        return said

    def _simulated(self, noisy: Noisy, spikes: int) -> tuple[int, ...]:
        """The numbers with noise, and some with far more, as if a population lay there."""
        nats = self.source.laplace(size=len(noisy.numbers))
        nats[self.source.integers(nats.size, size=spikes)] += 400.0
        return tuple(number + round(noisy.scale * nat) for number, nat in zip(noisy.numbers, nats, strict=True))

    def first_bytes(self, size: int) -> NDArray[np.uint8]:
        return np.zeros(size, dtype=np.uint8)

    def finish_coins(self, first: Any, rates: NDArray[np.float64]) -> NDArray[np.bool_]:  # noqa: ARG002
        """Everybody who may be kept is."""
        self.rates += rates.tolist()
        return rates > 0

    @cached_property
    def locating_cost(self) -> Fraction:
        """What adding the record costs in locating."""
        weight = Fraction(sum(self.weights), WEIGHT_UNIT) + self.in_cells
        return amplified(weight, max(self.rates)) if weight else weight


def amplified(weight: Fraction, rate: float) -> Fraction:
    """At least ``ln(1 + rate (e**weight - 1))``: what a record costs that is kept so often, and if kept, its weight.

    Every decimal operation here is correctly rounded. The weight is at least 2**-30 and the rate above 1e-60, so the
    subtraction and the logarithm leave far more than 100 of the 200 digits right.
    """
    if rate >= 1:
        return weight
    assert weight * WEIGHT_UNIT >= 1
    assert rate > 1e-60
    with decimal.localcontext() as context:
        context.prec = 200
        context.Emax = decimal.MAX_EMAX
        nats = Decimal(weight.numerator) / Decimal(weight.denominator)
        return Fraction((1 + Decimal(rate) * (nats.exp() - 1)).ln()) * (1 + Fraction(1, 10**100))


class Crowd(Source):
    """Many people of a few budgets; and the one record, which alone is sampled and summed: sums do not mix."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.groups = len(scenario.groups) if scenario.grouped else None
        self.record: Record | None = None
        self._counted: dict[Tallying, Counts] = {}

    def duplicate_person(self) -> bool:
        return False

    def people(self) -> NoReturn:
        raise NotImplementedError

    def groups_of_people(self) -> NoReturn:
        raise NotImplementedError

    def charged(self, budgets: Floats) -> NoReturn:
        raise NotImplementedError

    def census(self, rule: Tallying) -> Counts:
        if rule not in self._counted:
            self._counted[rule] = self._count(rule)
        table = self._counted[rule].copy()
        if self.scenario.model.budget_range:  # in the bounded model the record is one of a tier
            rule.tally(self._own, table)
        elif isinstance(rule, Cells):
            rule.distinct_budgets.note(np.array([tier.budget for tiers in self.scenario.groups for tier in tiers]))
        return table

    def _count(self, rule: Tallying) -> Counts:
        table = np.zeros(rule.shape, dtype=np.int64)
        for group, tiers in enumerate(self.scenario.groups):
            for tier in tiers:
                one = np.zeros(rule.shape, dtype=np.int64)
                rule.tally(self._batch([Record(math.nan, tier.budget, group)]), one)
                table += tier.people * one
        return table

    def sample(self, rule: Keeping, randomness: Randomness) -> Batch:
        return self._own.at(rule.keep(self._own, randomness))

    def sum(self, rule: Tallying) -> Counts:
        table = np.zeros(rule.shape, dtype=np.int64)
        rule.tally(self._own, table)
        return table

    @property
    def _own(self) -> Batch:
        return self._batch([self.record] if self.record else [])

    def _batch(self, records: list[Record]) -> Batch:
        values = np.array([record.value for record in records], dtype=np.float64)
        budgets = np.array([record.budget for record in records], dtype=np.float64)
        groups = np.array([record.group for record in records], dtype=np.int32) if self.groups else None
        return Batch(values, budgets, groups)


@dataclass
class Run:
    """One run of `estimate_mean`: what was planned, what it released, and what it made of that."""

    ledger: Ledger
    censuses: list[Census] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    located: Sequence[Location | None] = ()
    averaged: Sequence[ReleasedSums | None] = ()
    squares: Sequence[float | None] = ()

    def costs(self, other: Run) -> Costs:
        """What telling the two runs apart costs, by step: nothing may differ that got no noise."""
        assert len(self.ledger.noisy) == len(other.ledger.noisy), "more numbers are released of one than of the other"
        assert (self.averaged, self.squares) == (other.averaged, other.squares), "shown without noise"
        costs = dict.fromkeys(MARKED, Fraction(0))
        for ours, theirs in zip(self.ledger.noisy, other.ledger.noisy, strict=True):
            costs[ours.step] += ours.cost(theirs)
        costs[LOCATING] += self.ledger.locating_cost + other.ledger.locating_cost
        return costs


@dataclass
class Auditor:
    """Runs of one scenario, all planned alike."""

    scenario: Scenario
    source: Generator
    first: Run | None = None
    concluded: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    """What the first run made of its released histograms: all others release the same."""

    @cached_property
    def crowd(self) -> Crowd:
        """Whom the scenario is about."""
        return Crowd(self.scenario)

    def run(self, record: Record | None) -> Run:
        """`estimate_mean` with this record; all but the first run release what that one did."""
        earlier = self.first.ledger if self.first else None
        run = Run(Ledger(self.source, self.scenario.place, earlier))
        self.crowd.record = record
        whole_method: Callable[..., Any] = estimate.estimate_mean
        with self._watched(run):
            whole_method(None, **self.scenario.options, randomness=run.ledger)
        self.first = self.first or run
        return run

    @contextmanager
    def _watched(self, run: Run) -> Iterator[None]:
        patches: dict[Any, dict[str, Any]] = {
            estimate: {
                **{name: _marked(getattr(estimate, name)) for name in MARKED},
                "read": lambda *_: self.crowd,
                "plan_groups": self._planned(run),
                "conclude": _noting(run),
            },
            private_median: {"private_medians": _medians},
            locate: {"in_threads": map},  # draws are replayed in their order
            any_shape: {name: self._once(name) for name in ("read_histograms", "choose_clips")},
        }
        with ExitStack() as stack:
            for module, functions in patches.items():
                stack.enter_context(mock.patch.multiple(module, **functions))
            yield

    def _once(self, name: str) -> Callable[..., Any]:
        real = getattr(any_shape, name)

        def once(*released: Any) -> Any:
            key = name, *(group.anchor for group in released[0])  # groups with a centre and those without come apart
            if key not in self.concluded:
                self.concluded[key] = real(*released)
            return self.concluded[key]

        return once

    def _planned(self, run: Run) -> Callable[..., list[Outcome]]:
        """Plans are made once: of the same censuses the same plans."""

        def planned(censuses: list[Census], options: Options) -> list[Outcome]:
            run.censuses = censuses
            if self.first:
                assert all(map(_same, censuses, self.first.censuses)), "a census that tells more than was released"
            run.outcomes = self.first.outcomes if self.first else plan_groups(censuses, options)
            return run.outcomes

        return planned


def _same(ours: Census, theirs: Census) -> bool:
    pairs = [(ours.profile.allowances, theirs.profile.allowances), (ours.profile.counts, theirs.profile.counts)]
    rest = [(one.share, one.total_noise_std, one.left_out) for one in (ours, theirs)]
    return all(np.array_equal(*pair) for pair in pairs) and rest[0] == rest[1]


def _marked(real: Callable[..., Any]) -> Callable[..., Any]:
    """The step, telling its ledger, the last argument, that it is next."""

    def step(*args: Any) -> Any:
        args[-1].step = real.__name__
        return real(*args)

    return step


def _noting(run: Run) -> Callable[..., list[Any]]:
    def conclude(groups: list[Released | None], *_: object) -> list[Any]:
        run.located = [group.location if group else None for group in groups]
        run.averaged = [group.averaged if group else None for group in groups]
        run.squares = [group.weight_squares if group else None for group in groups]
        return [group and SimpleNamespace(warnings=(), contradictions=()) for group in groups]

    return conclude


def _medians(
    _values: Floats,
    weights: Counts,
    _lattice: Lattice,
    ledger: Ledger,
    *,
    grain: int,  # noqa: ARG001
    sizes: Counts,
) -> list[float]:
    ledger.weights += weights.tolist()
    return [ledger.place] * sizes.size


# --- what an audit finds ------------------------------------------------------------------------------------------


@dataclass
class Audit:
    """What records cost in one scenario, over what they may, at most; and what is wrong."""

    plans: list[Plan]
    refused: int
    records: int = 0
    used: dict[str, float] = field(default_factory=dict)
    """The largest cost over what its shares allow, by step and in "all"."""
    thinned: bool = False
    wrong: list[str] = field(default_factory=list)

    def note(self, costs: Costs, plan: Outcome | None, scenario: Scenario, record: Record) -> None:
        """Hold what a record costs against what it granted; who is of no group that was asked for has no plan."""
        self.records += 1
        granted = scenario.promised(record.budget) if plan else 0.0
        for name, part in allowed_parts(plan, scenario.share).items():
            cost = sum((costs[step] for step in COSTED[name]), Fraction(0))
            self._hold(name, cost, part, granted, record)

    def _hold(self, name: str, cost: Fraction, part: Fraction, granted: float, record: Record) -> None:
        if granted == math.inf:
            return
        most = part * Fraction(granted)
        if cost > most:
            self.wrong.append(f"{name} costs {record} {float(cost)!r}, allowed {float(most)!r}")
        elif most:
            self.used[name] = max(self.used.get(name, 0.0), float(cost / most))


def allowed_parts(plan: Outcome | None, share: Fraction) -> dict[str, Fraction]:
    """The part of a budget that steps may cost; where a plan is refused, a sixteenth of the share, for the census."""
    if not isinstance(plan, Plan):
        return {"all": share / 16}
    census = plan.shares.get("census", Fraction(0))
    squares = plan.shares.get("weight_squares", Fraction(0))
    return {
        "census": census,
        "squares": squares,
        "average": plan.shares["sum"],
        "locate and average": sum(plan.shares.values(), Fraction(0)) - census - squares,
        "all": share,
    }


def audit_drawn(kind: Kind, number: int) -> Audit:
    """The audit of the scenario of this kind and number."""
    source = np.random.default_rng([KINDS.index(kind), number])
    return audit(draw(kind, source), source)


def audit(scenario: Scenario, source: Generator) -> Audit:
    """What every record of a scenario costs that differs in the worst ways."""
    auditor = Auditor(scenario, source)
    try:
        first = auditor.run(None)
    except InsufficientBudgetError:
        return Audit([], 1)
    plans = [plan for plan in first.outcomes if isinstance(plan, Plan)]
    found = Audit(plans, len(first.outcomes) - len(plans))
    found.wrong += [text for plan in plans for text in wrong_shares(plan, scenario.share)]
    group = int(source.integers(len(scenario.groups)))
    for budget in scenario.audited(group, first.outcomes[group], source):
        _audit_budget(auditor, first, budget, group, found)
    if scenario.grouped:  # somebody of no group that was asked for
        _audit_budget(auditor, first, scenario.groups[0][0].budget, len(scenario.groups), found)
    return found


def _audit_budget(auditor: Auditor, first: Run, budget: float, group: int, found: Audit) -> None:
    outcome = first.outcomes[group] if group < len(first.outcomes) else None
    located = first.located[group] if group < len(first.located) else None
    records = [Record(value, budget, group) for value in worst_values(outcome, located, auditor.source)]
    runs = [auditor.run(record) for record in records]
    found.thinned |= any(0 < rate < 1 for run in runs for rate in run.ledger.rates)
    if auditor.scenario.model.budget_range:  # the record is there or is not
        pairs = [(run, first, record) for run, record in zip(runs, records, strict=True)]
    else:  # it has one value or another
        pairs = [(runs[one], runs[two], records[one]) for one, two in itertools.combinations(range(len(runs)), 2)]
    for run, other, record in pairs:
        found.note(run.costs(other), outcome, auditor.scenario, record)


def worst_values(outcome: Outcome | None, location: Location | None, source: Generator) -> list[float]:
    """Infinite, missing, the middle of the clip, its end, who is hardly near any more, far, and anywhere."""
    if not (location and isinstance(outcome, Plan)):
        return [math.inf, -math.inf, math.nan]
    near = getattr(RELEASES[outcome.shape].clip(outcome, location), "near", 0)
    places = [0.0, 1.0, max(near - 1, 0) / STEPS, source.uniform(-1, 1), 2.0 ** source.uniform(0.5, 13.0)]
    return [math.inf, -math.inf, math.nan, *(location.middle + location.half * place for place in places)]


def wrong_shares(plan: Plan, share: Fraction) -> list[str]:
    """What is wrong with the shares of a plan: they must add up, and none be below 0."""
    shares = plan.shares
    total = sum(shares.values(), Fraction(0))
    wrong = [f"the share of {name} is {part}" for name, part in shares.items() if part < 0]
    return wrong + [f"shares add up to {total}, not {share}"] * (total != share)
