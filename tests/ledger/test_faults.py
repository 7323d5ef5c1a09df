"""Faults: races, deaths, full disks, files that cannot be written, lost connections, wrong clocks, copied files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from ledger_stress import all_well, in_child, kill_releases, race
from postgres_server import Server

from pdpmean import Ledger, LedgerError
from pdpmean.ledger.amount import NOTHING
from pdpmean.ledger.log import entries
from pdpmean.ledger.request import PeopleAsked, Request

MANY = [PeopleAsked([f"p{number}" for number in range(5000)])]
REQUEST = Request("a test")


def test_processes_spend_at_once(where: str, tmp_path: Path) -> None:
    race(where, tmp_path, processes=4, spends=200, people=12, seed=1)


def test_a_release_that_is_killed_stays_charged(where: str, tmp_path: Path) -> None:
    states = kill_releases(where, tmp_path, kills=15, seed=2)
    assert states["reserved"] + states["committed"] > 1


def filled(where: str | Path) -> Ledger:
    ledger = Ledger(where)
    ledger.grant_all((person, 1) for person in MANY[0].ids if person)
    return ledger


def nothing_was_charged(ledger: Ledger) -> bool:
    return ledger.releases() == [] and ledger.balance("p1").spent == NOTHING and ledger.verify().passed


# SQLite


def test_a_full_disk_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    with filled(tmp_path / "people.db") as ledger:
        pages = ledger._store.connection.execute("PRAGMA page_count").fetchone()[0]
        ledger._store.connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LedgerError, match="the disk is full"):
            ledger.reserve(MANY, REQUEST)
        assert nothing_was_charged(ledger)
        ledger._store.connection.execute("PRAGMA max_page_count = 1000000")
        ledger.reserve(MANY, REQUEST).commit({})


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    filled(path).close()
    path.chmod(0o444)

    def work() -> None:
        if os.getuid() == 0:  # whom nothing is forbidden
            for folder in (tmp_path, *tmp_path.parents[:3]):
                folder.chmod(folder.stat().st_mode | 0o005)
            os.setuid(65534)
        else:
            tmp_path.chmod(0o555)
        with pytest.raises(LedgerError, match=r"cannot be (written|opened)"):
            Ledger(path).grant("p1", 2)

    try:
        assert all_well([in_child(work)])
    finally:
        tmp_path.chmod(0o755)
    path.chmod(0o644)
    with Ledger(path) as ledger:
        assert nothing_was_charged(ledger)


def test_a_file_that_is_no_ledger_is_told_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    path.write_bytes(b"id,hours\n" * 1000)
    with pytest.raises(LedgerError, match="it is no ledger"):
        Ledger(path)
    assert path.read_bytes() == b"id,hours\n" * 1000
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger(tmp_path / "nowhere" / "people.db")


def test_a_copied_file_is_refused_and_a_moved_one_is_not(tmp_path: Path) -> None:
    filled(tmp_path / "people.db").close()
    shutil.copy(tmp_path / "people.db", tmp_path / "copy.db")
    with pytest.raises(LedgerError, match="is a copy of a ledger"):
        Ledger(tmp_path / "copy.db")
    (tmp_path / "people.db").rename(tmp_path / "renamed.db")
    with Ledger(tmp_path / "renamed.db") as renamed:
        assert renamed.people() == 5000
    with Ledger(tmp_path / "copy.db", moved=True) as adopted:
        assert adopted.people() == 5000
    with Ledger(tmp_path / "copy.db") as again:
        assert again.verify().passed


# Both


@pytest.mark.parametrize(("behind", "allowed"), [(timedelta(seconds=30), True), (timedelta(hours=1), False)])
def test_a_clock_that_was_set_back_is_told(ledger: Ledger, behind: timedelta, allowed: bool) -> None:
    ledger.grant("p1", 1)
    with mock.patch.object(type(ledger._store), "now", return_value=datetime.now(UTC) - behind):
        if allowed:
            ledger.reserve([PeopleAsked(["p1"])], REQUEST).cancel("")
        else:
            with pytest.raises(LedgerError, match="set the clock"):
                ledger.reserve([PeopleAsked(["p1"])], REQUEST)
            assert nothing_was_charged(ledger)
    ats = [release.at for release in ledger.releases()]
    assert ats == sorted(ats)
    assert ledger.verify().passed


def test_a_clock_that_stands_still_gives_no_two_entries_one_moment(ledger: Ledger) -> None:
    still = ledger._store.now()
    with mock.patch.object(type(ledger._store), "now", return_value=still):
        for budget in range(1, 5):
            ledger.grant("a", budget)
            ledger.grant_all([("a", budget + 10), ("b", budget)])
    with ledger._store.reading() as transaction:
        moments = [entry.at for entry in entries(transaction)]
    assert moments == sorted(set(moments))
    assert ledger.verify().passed


def test_a_forked_process_has_a_connection_of_its_own(ledger: Ledger) -> None:
    ledger.grant("p1", 1)

    def work() -> None:
        ledger.reserve([PeopleAsked(["p1"])], REQUEST).commit({})
        ledger.close()

    assert all_well([in_child(work)])
    assert str(ledger.balance("p1")) == "granted 1, spent 1, left 0"


# PostgreSQL


def cut(ledger: Ledger, people: Any) -> Iterator[PeopleAsked]:
    """The people, and in their middle an administrator who ends the connection."""
    number = ledger._store.connection.info.backend_pid
    yield people[0]
    with Ledger(ledger.where) as other:
        other._store.connection.execute(f"SELECT pg_terminate_backend({number})")


def test_a_lost_connection_is_told_and_the_next_one_works(server: Server) -> None:
    with filled(server.new_ledger()) as ledger:
        with pytest.raises(LedgerError, match="could not be used"):
            ledger.reserve(cut(ledger, MANY), REQUEST)
        assert nothing_was_charged(ledger)
        made = ledger.reserve(MANY, REQUEST)
        server.stop("immediate")
        with pytest.raises(LedgerError, match="could not be used"):
            made.commit({})
        server.start()
        assert ledger.verify().dangling == (1,)
        made.commit({})
        assert ledger.verify().passed


def test_a_database_that_is_not_there_is_told(server: Server) -> None:
    with pytest.raises(LedgerError, match="nowhere"):
        Ledger(server.address("nowhere"))
