"""Ledger: the time that a ledger costs, and whether it survives concurrent processes and sudden deaths.

    python benchmarks/ledger.py [--people 1e6] [--spends 1e5] [--kills 1000] [--largest 1e7] [--write]

Times are ratios within one run. Reserving and committing a release alternate with a hand-written bulk upsert of as
many rows, in the same kind of database, each in one transaction; the fastest of each are compared. The upsert adds to a
table with one row per person, as anybody would do who keeps a balance and nothing else. Each step of the largest ledger
runs in a process of its own, whose peak memory is reported. The script starts its own PostgreSQL server, with default
settings.

In a race, a spend is two transactions, a reservation and its end, each of which waits until it is on disk. Since only
one process writes at a time, a spend takes at least as long as two such waits, which are reported beside it.
"""

from __future__ import annotations

import argparse
import os
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from functools import partial
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from timing import seconds

import pdpmean
from pdpmean.ledger.request import PeopleAsked, Request

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from ledger_stress import kill_releases, race
from postgres_server import running_server

RESULTS = Path(__file__).parent / "results" / "ledger.md"
PART = 2**20
ESTIMATES = 101
FLUSHES = 100
REQUEST = Request("a benchmark", share=Fraction(1, 100))


def ids(people: int) -> Iterator[list[str | None]]:
    for start in range(0, people, PART):
        yield [f"person{number:08d}" for number in range(start, min(start + PART, people))]


def as_request(people: Iterable[list[str | None]]) -> Iterator[PeopleAsked]:
    return (PeopleAsked(part) for part in people)


def grants(people: int) -> Iterator[tuple[str, float]]:
    budgets = np.random.default_rng(1).choice([0.1, 0.5, 1.0], people).tolist()
    names = (person for part in ids(people) for person in part if person)
    return zip(names, budgets, strict=True)


def wait_for_disk(folder: Path) -> float:
    """The seconds until a page is written to disk."""
    start = time.perf_counter()
    with (folder / "page").open("wb", buffering=0) as file:
        for _ in range(FLUSHES):
            file.write(bytes(4096))
            os.fsync(file.fileno())
    return (time.perf_counter() - start) / FLUSHES


def line_of_race(name: str, where: str, folder: Path, spends: int) -> str:
    within = folder / f"race {name}"
    within.mkdir()
    took = seconds(lambda: race(where, within, processes=8, spends=spends, people=100, seed=1))
    each, waits = (f"{1000 * duration:.1f} ms" for duration in (took / spends, 2 * wait_for_disk(folder)))
    return (
        f"- {name}, 8 processes, {spends:,} spends on 100 people: nobody above their grant, balances are the sums of "
        f"entries, no entry lost ({took:.0f} s; {each} for each, in which the disk is waited for twice: {waits})"
    )


def line_of_kills(name: str, where: str, folder: Path, kills: int) -> str:
    within = folder / f"kill {name}"
    within.mkdir()
    states = kill_releases(where, within, kills=kills, seed=1)
    became = ", ".join(f"{count:,} {state}" for state, count in sorted(states.items()))
    return f"- {name}, {kills:,} kills: nobody charged too little, the ledger verifies ({became})"


def upsert_sqlite(path: str, people: list[list[str | None]]) -> None:
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
    ledger.reserve(as_request(people), REQUEST).commit({"result": "0" * 64})


def compare(where: str, upsert: Callable[[], None], people: list[list[str | None]], repeats: int) -> str:
    with pdpmean.Ledger(where) as ledger:
        ledger.grant_all(grants(sum(map(len, people))))
        upsert()
        rounds = [(seconds(upsert), seconds(lambda: release(ledger, people))) for _ in range(repeats)]
    by_hand, ours = (min(times) for times in zip(*rounds, strict=True))
    return f"{ours / by_hand:.2f} times an upsert by hand ({ours:.1f} s; the fastest of {repeats} of each)"


def comparisons(new_ledgers: dict[str, Callable[[], str]], people: int, repeats: int) -> Iterator[str]:
    parts = list(ids(people))
    upserts = {"SQLite": upsert_sqlite, "PostgreSQL": upsert_postgres}
    for name, new_ledger in new_ledgers.items():
        upsert = partial(upserts[name], new_ledger(), parts)
        ratio = compare(new_ledger(), upsert, parts, repeats)
        yield f"- {name}, {people:,} people, reserve and commit: {ratio}"


def small_estimate(where: str) -> str:
    people = [f"p{number}" for number in range(10_000)]
    values = np.random.default_rng(1).normal(38, 10, len(people))
    with pdpmean.Ledger(where) as ledger:
        ledger.grant_all((person, 20) for person in people)
        options: dict[str, Any] = {"person": people, "ledger": ledger, "purpose": "a benchmark", "share": 1 / 128}
        pdpmean.estimate_mean(values, **options)
        found = [seconds(lambda: pdpmean.estimate_mean(values, **options)) for _ in range(ESTIMATES)]
    return f"{1000 * min(found):.0f} ms (the fastest of {ESTIMATES})"


def largest_import(path: str, people: int) -> int:
    with pdpmean.Ledger(path) as ledger:
        ledger.grant_all(grants(people))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def largest_release(path: str, people: int) -> int:
    with pdpmean.Ledger(path) as ledger:
        ledger.reserve(as_request(ids(people)), REQUEST).commit({})
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


def measure(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    numbers = count()
    with running_server("") as server:
        new_ledgers = {"SQLite": lambda: str(folder / f"{next(numbers)}.db"), "PostgreSQL": server.new_ledger}
        for name, new_ledger in new_ledgers.items():
            yield f"- {name}, an estimate of 10,000 people with a ledger: {small_estimate(new_ledger())}"
        yield from comparisons(new_ledgers, int(options.people), options.repeats)
        for name, new_ledger in new_ledgers.items():
            yield line_of_race(name, new_ledger(), folder, int(options.spends))
        for name, new_ledger in new_ledgers.items():
            yield line_of_kills(name, new_ledger(), folder, int(options.kills))
    if options.largest:
        yield from largest(folder, int(options.largest))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("people", 1e6), ("spends", 1e5), ("kills", 1000), ("largest", 1e7)):
        parser.add_argument(f"--{name}", type=float, default=default)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    command = " ".join(["python benchmarks/ledger.py", *(word for word in sys.argv[1:] if word != "--write")])
    lines = [f"# Ledger\n\n`{command}`, pdpmean {pdpmean.__version__}, 2 cores.\n"]
    with tempfile.TemporaryDirectory() as folder:
        for line in measure(options, Path(folder)):
            print(line, flush=True)
            lines.append(line)
    if options.write:
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
