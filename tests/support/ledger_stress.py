"""What a ledger must survive: many processes at once, and death at any moment. Benchmarks do it at full size."""

from __future__ import annotations

import os
import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from pdpmean import BudgetWarning, Ledger, Randomness, estimate_mean
from pdpmean.ledger.amount import Amount, columns_of_budgets
from pdpmean.ledger.request import PeopleAsked, Request
from pdpmean.ledger.reservation import Reservation

PURPOSE = "a test"


def start_child(work: Callable[[], None]) -> int:
    """Run it in a forked process; the process's number."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def all_well(children: list[int]) -> bool:
    """Whether all of them ended as they should."""
    return all(os.waitpid(child, 0)[1] == 0 for child in children)


# Races


def race(where: str, folder: Path, *, processes: int, spends: int, people: int, seed: int) -> None:
    """Many processes spend at random on overlapping people; each keeps a journal of what it was given, and no more.

    Afterwards nobody is above their grant, balances are the sums of all journals, and no entry is lost.
    """
    with Ledger(where) as ledger:
        rng = np.random.default_rng(seed)
        ledger.grant_all((f"p{number}", Fraction(int(rng.integers(1, 2**20)), 2**19)) for number in range(people))
    works = [
        _spender(where, folder / f"journal{one}", spends // processes, people, seed + one) for one in range(processes)
    ]
    assert all_well([start_child(work) for work in works])
    _check_journals(where, folder, people)


def _spender(where: str, journal: Path, spends: int, people: int, seed: int) -> Callable[[], None]:
    def work() -> None:
        rng = np.random.default_rng(seed)
        with Ledger(where) as ledger, journal.open("w") as file:
            for _ in range(spends):
                _spend(ledger, rng, people, file)

    return work


def _spend(ledger: Ledger, rng: np.random.Generator, people: int, file: Any) -> None:
    who = rng.choice(people, size=int(rng.integers(1, 6)), replace=False).tolist()
    share = Fraction(int(rng.integers(2**10, 2**14)), 2**20)
    made = ledger.reserve([PeopleAsked([f"p{number}" for number in who])], Request(PURPOSE, share=share))
    end = rng.random()
    if end < 0.1:
        made.cancel("nothing was drawn")
        print(f"{made.number} cancelled", file=file)
        return
    state = "reserved"
    if end < 0.9:
        made.commit({})
        state = "committed"
    units = [str(Amount.of_columns(*row).units) for row in zip(*columns_of_budgets(made.budgets), strict=True)]
    print(made.number, state, *(f"{number}:{cost}" for number, cost in zip(who, units, strict=True)), file=file)


def _check_journals(where: str, folder: Path, people: int) -> None:
    lines = [line.split() for journal in folder.glob("journal*") for line in journal.read_text().splitlines()]
    spent: Counter[int] = Counter()
    for _, _, *costs in lines:
        for person, units in (cost.split(":") for cost in costs):
            spent[int(person)] += int(units)
    with Ledger(where) as ledger:
        found = ledger.verify()
        assert found.passed, found
        states = {release.number: release.state for release in ledger.releases()}
        assert states == {int(number): state for number, state, *_ in lines}
        for number in range(people):
            held = ledger.balance(f"p{number}")
            assert held.spent == Amount(units=spent[number])
            assert held.spent <= held.granted


# Death at any moment


def kill_releases(where: str, folder: Path, *, kills: int, seed: int) -> Counter[str]:
    """Start estimates and kill each at a random moment; what became of them, by state.

    A journal says which releases began to draw. All of them are charged in full, at the end as at the moment of death.
    """
    rng = np.random.default_rng(seed)
    people = [f"p{number}" for number in range(50)]
    values = rng.normal(38, 10, len(people))
    _grant_much(where, people)
    journal = folder / "drawn"
    _import_all(folder, values, people)
    duration = min(_duration(lambda: _release(where, values, people, journal)) for _ in range(3))
    for _ in range(kills):
        child = start_child(lambda: _release(where, values, people, journal))
        time.sleep(float(rng.uniform(0, 1.5 * duration)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    states = _check_deaths(where, journal, people)
    states["not begun"] = kills + 3 - states.total()
    return states


def _grant_much(where: str, people: list[str]) -> None:
    with Ledger(where) as ledger, warnings.catch_warnings():
        warnings.simplefilter("ignore", BudgetWarning)
        ledger.grant_all((person, 2**20) for person in people)


def _import_all(folder: Path, values: Any, people: list[str]) -> None:
    """Make a release somewhere else, which imports what it needs: children are then not killed while they import."""
    elsewhere = str(folder / "imports.db")
    _grant_much(elsewhere, people)
    _release(elsewhere, values, people, folder / "imports")


def _duration(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    assert all_well([start_child(work)])
    return time.perf_counter() - start


class _NotingLedger(Ledger):
    """A ledger that knows the number of its last reservation: to look for it would take longer with every release."""

    last = 0

    def reserve(self, *asked: Any) -> Reservation:
        made = super().reserve(*asked)
        self.last = made.number
        return made


def _release(where: str, values: Any, people: list[str], journal: Path) -> None:
    """An estimate that says, before it draws anything, what number its release has."""
    said: set[int] = set()
    original = Randomness.add_laplace
    with _NotingLedger(where) as ledger, journal.open("ab", buffering=0) as file:

        def add_laplace(self: Randomness, *numbers: Any) -> Any:
            if ledger.last not in said:
                said.add(ledger.last)
                file.write(f"{ledger.last}\n".encode())
            return original(self, *numbers)

        with mock.patch.object(Randomness, "add_laplace", add_laplace):
            estimate_mean(values, person=people, ledger=ledger, purpose=PURPOSE, spend=2, bounds=(0, 100))


def _check_deaths(where: str, journal: Path, people: list[str]) -> Counter[str]:
    drawn = {int(line) for line in journal.read_text().split()}
    assert drawn, "the first was not killed"
    with Ledger(where) as ledger:
        found = ledger.verify()
        assert found.passed, found
        made = {release.number: release for release in ledger.releases()}
        assert all(made[number].state in ("reserved", "committed") for number in drawn)
        charged = [release for release in made.values() if release.state != "cancelled"]
        assert found.reserved == tuple(release.number for release in charged if release.state == "reserved")
        assert {ledger.balance(person).spent.units for person in people} == {2 * len(charged) * 2**40}
        for number in found.reserved:
            ledger.settle(number)
        settled = ledger.verify()
        assert settled.passed
        assert settled.reserved == ()
        assert {ledger.balance(person).spent.units for person in people} == {2 * len(charged) * 2**40}
    return Counter(release.state for release in made.values())
