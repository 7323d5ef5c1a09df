"""Faults: races, deaths, full disks, files that cannot be written, lost connections, wrong clocks, copied files."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import psycopg
import pytest
from ledger_stress import all_well, kill_releases, race, start_child
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


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """In which this process can make no file longer than this: like a full disk."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


def test_a_disk_that_is_full_when_all_is_written_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    """What a transaction wrote goes to the disk at its end."""

    def work() -> None:
        with filled(tmp_path / "people.db") as ledger:
            with files_of_at_most(2**16), pytest.raises(LedgerError, match="cannot be read or written"):
                ledger.reserve(MANY, REQUEST)
            assert nothing_was_charged(ledger)
            ledger.reserve(MANY, REQUEST).commit({})
            assert ledger.verify().passed

    assert all_well([start_child(work)])  # whose limit is not that of the other tests


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    filled(path).close()
    path.chmod(0o444)

    def work() -> None:
        if os.getuid() == 0:  # whom nothing is forbidden
            for folder in (tmp_path, *tmp_path.parents[:3]):
                folder.chmod(folder.stat().st_mode | 0o055)
            os.setuid(65534)
        else:
            tmp_path.chmod(0o555)
        with pytest.raises(LedgerError, match="cannot be written"):
            Ledger(path).grant("p1", 2)

    try:
        assert all_well([start_child(work)])
    finally:
        tmp_path.chmod(0o755)
    path.chmod(0o644)
    with Ledger(path) as ledger:
        assert nothing_was_charged(ledger)


def test_a_file_that_is_no_ledger_is_told_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "people.db"
    path.write_bytes(b"id,hours\n" * 1000)
    with pytest.raises(LedgerError, match="it is not a ledger"):
        Ledger(path)
    assert path.read_bytes() == b"id,hours\n" * 1000
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger(tmp_path / "nowhere" / "people.db")


def test_a_database_of_something_else_is_told_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "browser.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE bookmarks (id INTEGER)")
    other.close()
    with pytest.raises(LedgerError, match="some other database"):
        Ledger(path)
    with sqlite3.connect(path) as other:
        assert [name for (name,) in other.execute("SELECT name FROM sqlite_master")] == ["bookmarks"]
    other.close()


def test_many_make_the_same_ledger_at_once(where: str) -> None:
    def work() -> None:
        with Ledger(where) as ledger:
            ledger.people()

    assert all_well([start_child(work) for _ in range(8)])


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


def test_a_file_with_a_second_name_is_refused(tmp_path: Path) -> None:
    """SQLite goes by names: by two of them, the same budget would be spent twice."""
    path = tmp_path / "people.db"
    with filled(path) as ledger:
        os.link(path, tmp_path / "same.db")
        with pytest.raises(LedgerError, match="has a second name"):
            ledger.reserve(MANY, REQUEST)
        with pytest.raises(LedgerError, match="has a second name"):
            Ledger(tmp_path / "same.db")
    (tmp_path / "same.db").unlink()
    with Ledger(path) as ledger:
        assert nothing_was_charged(ledger)


def test_a_symbolic_link_is_the_ledger_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "people.db")
    with filled(tmp_path / "people.db") as ledger, Ledger(tmp_path / "link.db") as linked:
        linked.reserve(MANY, REQUEST)
        assert ledger.reserve(MANY, REQUEST).budgets.sum() == 0


@pytest.mark.parametrize("moment", ["before", "in the middle"])
@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_moved_while_it_is_in_use_is_told(tmp_path: Path, moment: str, replaced: bool) -> None:
    path, elsewhere = tmp_path / "people.db", tmp_path / "elsewhere.db"
    shutil.copy(filled(path)._store._file.path, tmp_path / "copy.db")  # type: ignore[attr-defined]

    def move() -> None:
        path.rename(elsewhere)
        if replaced:
            (tmp_path / "copy.db").rename(path)

    def moving() -> Iterator[PeopleAsked]:
        yield MANY[0]
        move()

    with Ledger(path) as ledger:
        if moment == "before":
            move()
        with pytest.raises(LedgerError, match="was moved or replaced"):
            ledger.reserve(moving() if moment == "in the middle" else MANY, REQUEST)


def test_what_was_spent_last_is_not_left_behind_when_a_file_is_moved(tmp_path: Path) -> None:
    """A program that is killed leaves it in a file of its own."""
    path, elsewhere = tmp_path / "people.db", tmp_path / "elsewhere.db"
    filled(path).close()

    def work() -> None:
        Ledger(path).reserve(MANY, REQUEST)
        os.kill(os.getpid(), signal.SIGKILL)

    os.waitpid(start_child(work), 0)
    path.rename(elsewhere)
    for moved in (False, True):
        with pytest.raises(LedgerError, match=r"moved without .*people\.db-wal"):
            Ledger(elsewhere, moved=moved)
    (tmp_path / "people.db-wal").rename(tmp_path / "elsewhere.db-wal")
    for _ in range(2):
        with Ledger(elsewhere) as ledger:
            assert ledger.verify().reserved == (1,)
    elsewhere.rename(path)
    with Ledger(path) as ledger:
        assert ledger.verify().reserved == (1,)


@pytest.mark.parametrize(
    ("mounts", "kind"),
    [
        ("/dev/sda1 / ext4 rw\nserver:/home {folder} nfs4 rw", "nfs4"),
        ("/dev/sda1 / ext4 rw\n//server/x {folder} cifs rw", "cifs"),
        ("server:/ / nfs rw\n/dev/sda1 {folder} ext4 rw", None),
        ("/dev/sda1 / ext4 rw\nserver:/home {folder}/people nfs rw", None),
        ("", None),
    ],
)
def test_a_network_folder_is_refused(tmp_path: Path, mounts: str, kind: str | None) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    listed = tmp_path / "mounts"
    listed.write_text(mounts.format(folder=str(folder).replace(" ", "\\040")))
    with mock.patch("pdpmean.ledger.file._MOUNTS", listed):
        if kind is None:
            Ledger(folder / "people.db").close()
        else:
            with pytest.raises(LedgerError, match=rf"in a network folder \({kind}\).*PostgreSQL"):
                Ledger(folder / "people.db")
            assert list(folder.iterdir()) == []


def test_a_file_that_is_mounted_by_itself_is_refused(tmp_path: Path) -> None:
    """Of its write-ahead log, a file beside it, there would be one for each name."""
    path = tmp_path / "people.db"
    Ledger(path).close()
    listed = tmp_path / "mounts"
    listed.write_text(f"/dev/sda1 / ext4 rw\n/dev/sda1 {path} ext4 rw\n")
    with (
        mock.patch("pdpmean.ledger.file._MOUNTS", listed),
        pytest.raises(LedgerError, match=r"mounted by itself.*Mount the folder"),
    ):
        Ledger(path)
    Ledger(path).close()


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

    assert all_well([start_child(work)])
    assert str(ledger.balance("p1")) == "granted 1, spent 1, left 0"


def test_a_forked_process_loses_nothing_when_its_parent_closes_the_ledger(ledger: Ledger, where: str) -> None:
    ledger.grant("p1", 1)
    quarter = Request("a test", share=Fraction(1, 4))
    second = Ledger(where)
    written, closed = os.pipe(), os.pipe()

    def work() -> None:
        ledger.reserve([PeopleAsked(["p1"])], quarter)
        os.write(written[1], b".")
        os.read(closed[0], 1)
        ledger.reserve([PeopleAsked(["p1"])], quarter)

    child = start_child(work)
    os.read(written[0], 1)
    second.close()
    ledger.close()
    assert str(ledger.balance("p1")) == "granted 1, spent 0.25, left 0.75"
    ledger.close()
    os.write(closed[1], b".")
    assert all_well([child])
    assert str(ledger.balance("p1")) == "granted 1, spent 0.5, left 0.5"
    assert ledger.verify().passed


# PostgreSQL


def test_a_server_whose_disk_is_full_is_told_and_nothing_is_lost(server: Server) -> None:
    """And nothing is quoted of what was being written: who takes part may be private."""
    long_ids = [PeopleAsked([f"{number:01000}" for number in range(20_000)])]
    with filled(server.new_ledger()) as ledger:
        server.stop()
        server.start(largest_file=17 * 2**20)  # more than a part of the server's own log, which it needs
        ledger.close()
        with pytest.raises(LedgerError, match="could not extend file") as raised:
            ledger.reserve(long_ids, REQUEST)
        assert nothing_was_charged(ledger)
        ledger.reserve(MANY, REQUEST).commit({})
        assert ledger.verify().passed
    server.stop()
    server.start()
    assert "COPY asked, line" not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_processes_spend_at_once_whatever_isolation_the_server_prefers(
    server: Server, tmp_path: Path, level: str
) -> None:
    settings = f"%20-cdefault_transaction_isolation%3D{level.replace(' ', '%5C%20')}"
    race(server.new_ledger() + settings, tmp_path, processes=4, spends=80, people=5, seed=3)


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
        assert ledger.verify().reserved == (1,)
        made.commit({})
        assert ledger.verify().passed


def test_a_database_that_cannot_hold_every_id_is_refused(server: Server) -> None:
    """By its encoding: an error about an id would say that there is one, even where people are private."""
    with psycopg.connect(server.address("postgres"), autocommit=True) as connection:
        for encoding in ("LATIN1", "SQL_ASCII"):
            sql = f"CREATE DATABASE {encoding} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"
            connection.execute(sql)  # type: ignore[arg-type,unused-ignore]
    with pytest.raises(LedgerError, match="has the encoding LATIN1, which lacks most characters"):
        Ledger(server.address("latin1"))
    with Ledger(server.address("sql_ascii")) as ledger:
        ledger.grant("Łukasz", 1)
        reserved = ledger.reserve([PeopleAsked(["Łukasz", "😀"])], replace(REQUEST, people_are_public=False))
        assert reserved.budgets.tolist() == [1, 0]


def test_a_database_that_is_not_there_is_told(server: Server) -> None:
    with pytest.raises(LedgerError, match="nowhere"):
        Ledger(server.address("nowhere"))
