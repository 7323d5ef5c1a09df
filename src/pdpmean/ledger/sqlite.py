"""A ledger in one SQLite file, with a write-ahead log that is on disk before a transaction counts as committed."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from pdpmean.errors import LedgerError
from pdpmean.ledger import queries
from pdpmean.ledger.file import LedgerFile
from pdpmean.ledger.store import TOGETHER, RepeatedKeyError, Row, Store, Transaction

__all__ = ["SqliteStore"]

_BEGIN_WRITING = "BEGIN IMMEDIATE"
_PATIENCE = 600  # seconds to wait for other writers
_SETTINGS = (
    "PRAGMA page_size = 16384",  # of a new file; large releases rewrite most pages, and few large ones are faster
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # a reservation must survive a power cut
    "PRAGMA cache_size = -131072",  # KiB
    "PRAGMA temp_store = FILE",
    "PRAGMA secure_delete = FAST",  # what is forgotten before it is committed is nowhere in the file
)
_ADVICE = {
    "SQLITE_FULL": "the disk is full. Make room and try again",
    "SQLITE_READONLY": "it cannot be written. Check the permissions of the file and its folder",
    "SQLITE_CANTOPEN": "it cannot be opened. Check that its folder exists and that you may write to it",
    "SQLITE_BUSY": "other programs kept it locked. Try again",
    "SQLITE_NOTADB": "it is not a ledger but some other file",
    "SQLITE_CORRUPT": "the file is damaged. Restore it from a backup, and check which releases were made since",
    "SQLITE_IOERR": "the disk cannot be read or written",
}


_OPEN: WeakValueDictionary[int, _Connection] = WeakValueDictionary()  # by their identity


class _Connection(sqlite3.Connection):
    """A connection that knows which process opened it: a fork of that process must neither use it nor keep it open."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.process = os.getpid()
        _OPEN[id(self)] = self


def _close_inherited() -> None:
    """Close connections that a forked process has inherited.

    Locks belong to a process, but SQLite takes an inherited connection to mean that this process holds them. Its parent
    could then close the ledger and delete the write-ahead log in use here, and everything written since would be lost.
    """
    for reference in _OPEN.valuerefs():  # a list, so that other threads may open connections meanwhile
        held = reference()
        if held is not None and held.process != os.getpid():
            held.close()


class SqliteStore(Store):
    """One file, created on first use; one process writes at a time, and others wait.

    The ledger records the number of its file, which tells a copy from the original (see `LedgerFile`). `moved` says
    that the file was moved to another file system or restored, and that the old one is no longer in use.
    """

    dialect: ClassVar[Mapping[str, str]] = {
        "key": "INTEGER PRIMARY KEY",
        "temporary_key": "INTEGER PRIMARY KEY",
        "clustered": "WITHOUT ROWID",
        "rewritten": "",
        "temporary": "",
    }

    def __init__(self, path: str, *, moved: bool = False) -> None:
        super().__init__()
        self._file = LedgerFile(path)
        self._file.check_before_opening()
        with self.opening():
            self._number = self._known_number(moved=moved)

    def connect(self) -> sqlite3.Connection:
        """A new connection."""
        _close_inherited()
        made = sqlite3.connect(
            self._file.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False, factory=_Connection
        )
        for setting in _SETTINGS:
            made.execute(setting)
        return made

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction that excludes all other writers."""
        with self.within(_BEGIN_WRITING) as transaction:
            self._file.check_in_place(self._number)
            yield transaction
            self._file.check_in_place(self._number)  # again, since reading the data of a release may take long

    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one consistent state of the database."""
        return self.within("BEGIN")

    def new_transaction(self) -> Transaction:
        """A transaction of this thread's connection, not started yet."""
        return _SqliteTransaction(self.connection)

    def roll_back(self, transaction: Transaction) -> None:
        """Undo what was done. If the disk is full, SQLite does so itself."""
        with suppress(sqlite3.Error):
            transaction.change("ROLLBACK")

    def close(self) -> None:
        """Close this thread's connection."""
        held = self.forget_connection()
        if held is not None:
            held.close()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn errors of SQLite into errors of the ledger, which say what to do."""
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", None) or ""
            advice = next((words for code, words in _ADVICE.items() if name.startswith(code)), str(error))
            raise LedgerError(
                f"the ledger {self._file.path} could not be used: {advice}. Nothing was changed"
            ) from error

    def _known_number(self, *, moved: bool) -> str:
        """The recorded number of the file, after recording that of a new or moved one. Raises if it is a copy."""
        with self.reading() as transaction:
            known = _remembered(transaction, "file_identity")
            path = _remembered(transaction, "file_path")
            if known is None and transaction.row("SELECT 1 FROM sqlite_master") is not None:
                raise LedgerError(f"{self._file.path} is not a ledger but some other database")
        self._file.check_nothing_left_behind(path)
        if known is None or moved:
            with self.within(_BEGIN_WRITING) as transaction:
                known = None if moved else _remembered(transaction, "file_identity")
                if known is None:
                    known = self._file.number
                    _remember(transaction, "file_identity", known)
        self._file.check_original(known)
        if path != self._file.path:
            with suppress(LedgerError), self.within(_BEGIN_WRITING) as transaction:  # it may be read-only
                _remember(transaction, "file_path", self._file.path)
        return known


def _remembered(transaction: Transaction, table: str) -> str | None:
    """The entry of a table that holds only one; None if there is no such table."""
    return str(transaction.value(f"SELECT * FROM {table}")) if transaction.has_table(table) else None


def _remember(transaction: Transaction, table: str, entry: str) -> None:
    transaction.change(f"CREATE TABLE IF NOT EXISTS {table} (entry TEXT NOT NULL)")
    transaction.change(f"DELETE FROM {table}")
    transaction.change(f"INSERT INTO {table} VALUES (?)", entry)


class _SqliteTransaction(Transaction):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, *parameters: Any) -> Iterator[Row]:
        """The rows that a query finds."""
        return self._connection.execute(sql, parameters)

    def has_table(self, name: str) -> bool:
        """Whether there is a table of this name."""
        return self.row("SELECT 1 FROM sqlite_master WHERE name = ?", name) is not None

    def change(self, sql: str, *parameters: Any) -> int:
        """Execute it; the number of rows affected."""
        try:
            return self._connection.execute(sql, parameters).rowcount
        except sqlite3.IntegrityError as error:
            if getattr(error, "sqlite_errorname", "") in ("SQLITE_CONSTRAINT_PRIMARYKEY", "SQLITE_CONSTRAINT_UNIQUE"):
                raise RepeatedKeyError from None
            raise

    def empty_temporary(self, table: str) -> None:
        """Delete what earlier transactions left in it."""
        self._connection.execute(f"DELETE FROM {table}")

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert many rows."""
        places = ", ".join("?" for _ in columns)
        self._connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", rows)

    def load_people(self, first: int, ids: Sequence[str | None]) -> None:
        """Insert ids as one JSON text, which is much faster than as many parameters."""
        sql = "INSERT INTO asked (place, id) SELECT key + ?, value FROM json_each(?) WHERE value IS NOT NULL"
        for start in range(0, len(ids), TOGETHER):
            self._connection.execute(sql, (first + start, json.dumps(ids[start : start + TOGETHER])))

    def charge(self, release: int, among: str = "") -> None:
        """Add the costs of a release by an upsert; UPDATE would first write all new rows into a temporary table."""
        self.change(f"{queries.UPSERT_COSTS}{among} {queries.ADD_TO_SPENT}", release)

    def joined(self, column: str) -> str:
        """The SQL expression for all numbers of a column as one text."""
        return f"GROUP_CONCAT({column})"
