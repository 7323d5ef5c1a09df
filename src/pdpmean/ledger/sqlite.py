"""A ledger in one SQLite file, for a single machine.

Every transaction is on disk before it counts as committed, so that a reservation survives a power cut. Most of the care
here is about copies of the file and forked processes, with either of which the same budget could be spent twice.
"""

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
_LOCK_TIMEOUT = 600  # seconds to wait for other writers, who may be charging millions of people
_SETTINGS = (
    "PRAGMA page_size = 16384",  # bytes; large releases rewrite most pages of the file, and few large ones are faster
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # a reservation must survive a power cut
    "PRAGMA cache_size = -131072",  # KiB
    "PRAGMA temp_store = FILE",
    "PRAGMA secure_delete = FAST",  # what is erased before a commit (places of records) is nowhere in the file
)
# What to tell the user, by the beginning of SQLite's name for the error.
_ADVICE = {
    "SQLITE_FULL": "the disk is full. Make room and try again",
    "SQLITE_READONLY": "it cannot be written. Check the permissions of the file and its folder",
    "SQLITE_CANTOPEN": "it cannot be opened. Check that its folder exists and that you may write to it",
    "SQLITE_BUSY": "other programs kept it locked. Try again",
    "SQLITE_NOTADB": "it is not a ledger but some other file",
    "SQLITE_CORRUPT": "the file is damaged. Restore it from a backup, and check which releases were made since",
    "SQLITE_IOERR": "the disk cannot be read or written",
}


_OPEN_CONNECTIONS: WeakValueDictionary[int, _Connection] = WeakValueDictionary()  # by `id` of the object


class _Connection(sqlite3.Connection):
    """A connection that knows which process opened it: a fork of that process must neither use it nor keep it open."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.process = os.getpid()
        _OPEN_CONNECTIONS[id(self)] = self


def _close_inherited() -> None:
    """Close the connections that this process has inherited from its parent by a fork.

    File locks belong to one process, but with an inherited connection SQLite believes that this process has them, too.
    The parent could then close the ledger and delete the write-ahead log that is in use here, and everything written
    since would be lost.
    """
    for reference in _OPEN_CONNECTIONS.valuerefs():  # a list, so that other threads may open connections meanwhile
        connection = reference()
        if connection is not None and connection.process != os.getpid():
            connection.close()


class SqliteStore(Store):
    """A database in one file, created on first use. One process writes at a time, and others wait.

    The ledger records the inode number of its own file, which distinguishes a copy from the original (see
    `LedgerFile`). `moved` says that the file was moved to another file system or restored from a backup, and that the
    old one is no longer in use: the recorded number is then replaced.
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
            self._file_number = self._recorded_file_number(moved=moved)

    def connect(self) -> sqlite3.Connection:
        """Open a new connection."""
        _close_inherited()
        connection = sqlite3.connect(
            self._file.path, timeout=_LOCK_TIMEOUT, isolation_level=None, check_same_thread=False, factory=_Connection
        )
        for setting in _SETTINGS:
            connection.execute(setting)
        return connection

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction that excludes all other writers."""
        with self.within(_BEGIN_WRITING) as transaction:
            self._file.check_in_place(self._file_number)
            yield transaction
            self._file.check_in_place(self._file_number)  # again, since reading the data of a release may take long

    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one consistent state of the database."""
        return self.within("BEGIN")

    def new_transaction(self) -> Transaction:
        """A transaction on this thread's connection, not started yet."""
        return _SqliteTransaction(self.connection)

    def roll_back(self, transaction: Transaction) -> None:
        """Undo the transaction. If the disk is full, SQLite does so itself."""
        with suppress(sqlite3.Error):
            transaction.change("ROLLBACK")

    def close(self) -> None:
        """Close this thread's connection."""
        connection = self.forget_connection()
        if connection is not None:
            connection.close()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """A context in which errors of SQLite become a `LedgerError` that says what to do."""
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", None) or ""
            advice = next((words for code, words in _ADVICE.items() if name.startswith(code)), str(error))
            raise LedgerError(
                f"the ledger {self._file.path} could not be used: {advice}. Nothing was changed"
            ) from error

    def _recorded_file_number(self, *, moved: bool) -> str:
        """The inode number that the ledger has recorded of its file; raises if the file is a copy.

        The number of a new file, or of one that was `moved`, is recorded first.
        """
        with self.reading() as transaction:
            recorded = _single_entry(transaction, "file_identity")
            path = _single_entry(transaction, "file_path")
            if recorded is None and transaction.row("SELECT 1 FROM sqlite_master") is not None:
                raise LedgerError(f"{self._file.path} is not a ledger but some other database")
        self._file.check_nothing_left_behind(path)
        if recorded is None or moved:
            with self.within(_BEGIN_WRITING) as transaction:
                # Read once more: another process may have recorded it in the meantime.
                recorded = None if moved else _single_entry(transaction, "file_identity")
                if recorded is None:
                    recorded = self._file.number
                    _set_single_entry(transaction, "file_identity", recorded)
        self._file.check_original(recorded)
        if path != self._file.path:
            with suppress(LedgerError), self.within(_BEGIN_WRITING) as transaction:  # it may be read-only
                _set_single_entry(transaction, "file_path", self._file.path)
        return recorded


def _single_entry(transaction: Transaction, table: str) -> str | None:
    """The entry of a table that holds a single one; None if there is no such table."""
    return str(transaction.value(f"SELECT * FROM {table}")) if transaction.has_table(table) else None


def _set_single_entry(transaction: Transaction, table: str, entry: str) -> None:
    """Create a table that holds this entry alone, or replace the entry that it has."""
    transaction.change(f"CREATE TABLE IF NOT EXISTS {table} (entry TEXT NOT NULL)")
    transaction.change(f"DELETE FROM {table}")
    transaction.change(f"INSERT INTO {table} VALUES (?)", entry)


class _SqliteTransaction(Transaction):
    """A transaction on an SQLite connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, *parameters: Any) -> Iterator[Row]:
        """The rows that a query returns."""
        return self._connection.execute(sql, parameters)

    def has_table(self, name: str) -> bool:
        """Whether a table of this name exists."""
        return self.row("SELECT 1 FROM sqlite_master WHERE name = ?", name) is not None

    def change(self, sql: str, *parameters: Any) -> int:
        """Execute a statement; returns the number of rows affected."""
        try:
            return self._connection.execute(sql, parameters).rowcount
        except sqlite3.IntegrityError as error:
            if getattr(error, "sqlite_errorname", "") in ("SQLITE_CONSTRAINT_PRIMARYKEY", "SQLITE_CONSTRAINT_UNIQUE"):
                raise RepeatedKeyError from None
            raise

    def empty_temporary(self, table: str) -> None:
        """Delete the rows that earlier transactions left in a temporary table."""
        self._connection.execute(f"DELETE FROM {table}")

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert many rows."""
        placeholders = ", ".join("?" for _ in columns)
        self._connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({placeholders})", rows)

    def load_people(self, first: int, ids: Sequence[str | None]) -> None:
        """Insert ids as JSON texts, which is much faster than one parameter per id."""
        sql = "INSERT INTO asked (place, id) SELECT key + ?, value FROM json_each(?) WHERE value IS NOT NULL"
        for start in range(0, len(ids), TOGETHER):
            self._connection.execute(sql, (first + start, json.dumps(ids[start : start + TOGETHER])))

    def charge(self, release: int, among: str = "") -> None:
        """Add the costs of a release to what people have spent.

        By an upsert, since UPDATE ... FROM would first write all new rows into a temporary table.
        """
        self.change(f"{queries.UPSERT_COSTS}{among} {queries.ADD_TO_SPENT}", release)

    def joined(self, column: str) -> str:
        """The SQL aggregate that joins all numbers of a column into one text."""
        return f"GROUP_CONCAT({column})"
