"""What does a ledger cost, and what does it survive? Times as ratios within one run; races and deaths in full.

    python benchmarks/ledger.py [--people 1e6] [--spends 1e5] [--kills 1000] [--largest 1e7] [--write]

Reserving and committing a release take turns with one bulk upsert of as many rows by hand, in the same kind of
database, each in one transaction. The upsert adds to what a table with a row per person holds: what anybody would do
who keeps a balance and nothing else. Each step of the largest ledger is in a process of its own, whose peak memory is
told. PostgreSQL is a server that this starts, with its usual settings.
"""

from __future__ import annotations

import argparse
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

import pdpmean
from pdpmean.ledger.request import PeopleAsked, Request

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from ledger_stress import kill_releases, race
from postgres_server import running_server

RESULTS = Path(__file__).parent / "results" / "ledger.md"
PART = 2**20
REQUEST = Request("a benchmark", share=Fraction(1, 100))


def ids(people: int) -> Iterator[list[str | None]]:
    for start in range(0, people, PART):
        yield [f"person{number:08d}" for number in range(start, min(start + PART, people))]


def asked(people: Iterable[list[str | None]]) -> Iterator[PeopleAsked]:
    return (PeopleAsked(part) for part in people)


def grants(people: int) -> Iterator[tuple[str, float]]:
    budgets = np.random.default_rng(1).choice([0.1, 0.5, 1.0], people).tolist()
    names = (person for part in ids(people) for person in part if person)
    return zip(names, budgets, strict=True)


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def upsert_sqlite(path: Path, people: list[list[str | None]]) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA cache_size = -131072")
        connection.execute("CREATE TABLE IF NOT EXISTS balances (id TEXT PRIMARY KEY, spent INTEGER)")
        connection.executemany(
            "INSERT INTO balances VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET spent = spent + excluded.spent",
            ((person, 7) for part in people for person in part),
        )
    connection.close()


def upsert_postgres(address: str, people: list[list[str | None]]) -> None:
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS balances (id TEXT PRIMARY KEY, spent BIGINT)")
        connection.execute("CREATE TEMP TABLE new (id TEXT, spent BIGINT) ON COMMIT DROP")
        with connection.cursor().copy("COPY new FROM STDIN") as copy:
            for part in people:
                for person in part:
                    copy.write_row((person, 7))
        connection.execute(
            "INSERT INTO balances SELECT * FROM new ON CONFLICT (id) "
            "DO UPDATE SET spent = balances.spent + excluded.spent"
        )


def release(ledger: pdpmean.Ledger, people: list[list[str | None]]) -> None:
    ledger.reserve(asked(people), REQUEST).commit({"result": "0" * 64})


def compare(where: str, upsert: Callable[[], None], people: list[list[str | None]], repeats: int) -> str:
    with pdpmean.Ledger(where) as ledger:
        ledger.grant_all(grants(sum(map(len, people))))
        upsert()
        ratios, times = [], []
        for _ in range(repeats):
            by_hand = timed(upsert)
            times.append(timed(lambda: release(ledger, people)))
            ratios.append(times[-1] / by_hand)
    return f"{statistics.median(ratios):.2f} times an upsert by hand ({statistics.median(times):.1f} s)"


def small_estimate(folder: Path) -> str:
    people = [f"p{number}" for number in range(10_000)]
    values = np.random.default_rng(1).normal(38, 10, len(people))
    with pdpmean.Ledger(folder / "small.db") as ledger:
        ledger.grant_all((person, 1) for person in people)
        options: dict[str, Any] = {"person": people, "ledger": ledger, "purpose": "a benchmark", "share": 0.05}
        pdpmean.estimate_mean(values, **options)
        found = [timed(lambda: pdpmean.estimate_mean(values, **options)) for _ in range(11)]
    return f"{1000 * statistics.median(found):.0f} ms"


def largest_import(path: str, people: int) -> int:
    with pdpmean.Ledger(path) as ledger:
        ledger.grant_all(grants(people))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def largest_release(path: str, people: int) -> int:
    with pdpmean.Ledger(path) as ledger:
        ledger.reserve(asked(ids(people)), REQUEST).commit({})
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def largest(folder: Path, people: int) -> list[str]:
    path = str(folder / "largest.db")
    lines = []
    for name, work in (("import", largest_import), ("reserve and commit", largest_release)):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            start = time.perf_counter()
            memory = pool.submit(work, path, people).result()
        lines.append(f"- SQLite, {people:,} people, {name}: {time.perf_counter() - start:.0f} s, {memory} MiB")
    return lines


def measure(arguments: argparse.Namespace, folder: Path) -> Iterator[str]:
    people = list(ids(int(arguments.people)))
    count = f"{int(arguments.people):,} people"
    yield f"- an estimate of 10,000 people with a ledger (SQLite): {small_estimate(folder)}"
    by_hand = folder / "hand.db"
    told = compare(str(folder / "a.db"), lambda: upsert_sqlite(by_hand, people), people, arguments.repeats)
    yield f"- SQLite, {count}, reserve and commit: {told}"
    with running_server("") as server:
        hand = server.new_ledger()
        told = compare(server.new_ledger(), lambda: upsert_postgres(hand, people), people, arguments.repeats)
        yield f"- PostgreSQL, {count}, reserve and commit: {told}"
        for name, where in (("SQLite", str(folder / "race.db")), ("PostgreSQL", server.new_ledger())):
            spends = int(arguments.spends)
            within = folder / f"race {name}"
            within.mkdir()
            took = timed(lambda: race(where, within, processes=8, spends=spends, people=100, seed=1))  # noqa: B023
            yield (
                f"- {name}, 8 processes, {spends:,} spends on 100 people ({took:.0f} s): nobody above their grant, "
                "balances are the sums of entries, no entry lost"
            )
        for name, where in (("SQLite", str(folder / "kill.db")), ("PostgreSQL", server.new_ledger())):
            within = folder / f"kill {name}"
            within.mkdir()
            states = kill_releases(where, within, kills=int(arguments.kills), seed=1)
            became = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
            yield f"- {name}, {int(arguments.kills):,} kills: nobody charged too little, the ledger verifies ({became})"
    if arguments.largest:
        yield from largest(folder, int(arguments.largest))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("people", 1e6), ("spends", 1e5), ("kills", 1000), ("largest", 1e7)):
        parser.add_argument(f"--{name}", type=float, default=default)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    command = " ".join(["python benchmarks/ledger.py", *(word for word in sys.argv[1:] if word != "--write")])
    lines = [f"# Ledger\n\n`{command}`, pdpmean {pdpmean.__version__}, 2 cores.\n"]
    with tempfile.TemporaryDirectory() as folder:
        for line in measure(arguments, Path(folder)):
            print(line, flush=True)
            lines.append(line)
    if arguments.write:
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
