"""A ledger in one file, by SQLite: a write-ahead log, flushed to the disk before a transaction counts as done."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar

from pdpmean.errors import LedgerError
from pdpmean.ledger.store import COST_COLUMNS, RepeatedKeyError, Row, Store, Transaction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SqliteStore"]

_PATIENCE = 600  # seconds to wait for others who write
_SETTINGS = (
    "PRAGMA page_size = 16384",  # of a new file; large releases rewrite most pages, and fewer of them are faster
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # a reservation that a power cut could undo would be none
    "PRAGMA cache_size = -131072",  # KiB
    "PRAGMA temp_store = FILE",
)
_TOGETHER = 2**17  # rows that go to and fro as one text
_ADVICE = {
    "SQLITE_FULL": "the disk is full. Make room and try again",
    "SQLITE_READONLY": "it cannot be written. See who may write the file and its folder",
    "SQLITE_CANTOPEN": "it cannot be opened. See that its folder is there, and who may write in it",
    "SQLITE_BUSY": "others have been writing all the time. Try again",
    "SQLITE_NOTADB": "it is no ledger: some other file has this name",
    "SQLITE_CORRUPT": "the file is damaged. Restore it from a backup, and see which releases were made since",
    "SQLITE_IOERR": "the disk cannot be read or written",
}


class SqliteStore(Store):
    """One file, made on first use; only one process writes at a time, and others wait.

    A copied file is refused: two copies could each spend the same budget. Copies are told by the number that the file
    system gives to a file; `moved` says that the file was moved to another one, and that nothing uses the old one.
    """

    dialect: ClassVar[Mapping[str, str]] = {
        "key": "INTEGER PRIMARY KEY",
        "clustered": "WITHOUT ROWID",
        "rewritten": "",
        "temporary": "",
    }

    def __init__(self, path: str, *, moved: bool = False) -> None:
        super().__init__()
        self.path = os.path.abspath(os.path.expanduser(path))
        self._check_identity(moved=moved)

    def connect(self) -> sqlite3.Connection:
        """A new connection."""
        made = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        for setting in _SETTINGS:
            made.execute(setting)
        return made

    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction that no other one writes beside."""
        return self.within("BEGIN IMMEDIATE")

    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one state of the database."""
        return self.within("BEGIN")

    def new_transaction(self) -> Transaction:
        """One of this thread's connection, not begun."""
        return _SqliteTransaction(self.connection)

    def roll_back(self, transaction: Transaction) -> None:
        """Undo what was done; a full disk has SQLite do so by itself."""
        with suppress(sqlite3.Error):
            transaction.change("ROLLBACK")

    def is_prepared(self) -> bool:
        """Whether the tables of a ledger are there."""
        with self.reading() as transaction:
            return transaction.row("SELECT 1 FROM sqlite_master WHERE name = 'costs'") is not None

    def close(self) -> None:
        """Let go of this thread's connection."""
        held = self.forget_connection()
        if held is not None:
            held.close()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """SQLite's errors in words that say what to do."""
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", None) or ""
            advice = next((words for code, words in _ADVICE.items() if name.startswith(code)), str(error))
            raise LedgerError(f"the ledger {self.path} could not be used: {advice}. Nothing was changed") from error

    def _check_identity(self, *, moved: bool) -> None:
        """Raise if the file is a copy of the one that this ledger was made in. A new or moved one is marked."""
        with self.reading() as transaction:
            known = self._known_identity(transaction)
        if known is None or moved:
            with self.writing() as transaction:
                known = self._known_identity(transaction)
                if known is None or moved:
                    transaction.change("CREATE TABLE IF NOT EXISTS file_identity (number TEXT NOT NULL)")
                    transaction.change("DELETE FROM file_identity")
                    transaction.change("INSERT INTO file_identity VALUES (?)", self._identity)
                    return
        if known != self._identity:
            raise LedgerError(
                f"{self.path} is a copy of a ledger: two copies could each spend the same budget. "
                "Use the original; or, if it is gone for good and nothing was spent since, say moved=True once"
            )

    @property
    def _identity(self) -> str:
        """The number of the file: another one for a copy, the same after a new name."""
        return str(os.stat(self.path).st_ino)

    def _known_identity(self, transaction: Transaction) -> str | None:
        if transaction.row("SELECT 1 FROM sqlite_master WHERE name = 'file_identity'") is None:
            return None
        return str(transaction.value("SELECT number FROM file_identity"))


class _SqliteTransaction(Transaction):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, sql: str, *parameters: Any) -> Iterator[Row]:
        """What a query finds, a row at a time."""
        return self._connection.execute(sql, parameters)

    def change(self, sql: str, *parameters: Any) -> int:
        """Do it, and say how many rows it was done to."""
        try:
            return self._connection.execute(sql, parameters).rowcount
        except sqlite3.IntegrityError as error:
            if getattr(error, "sqlite_errorname", "") in ("SQLITE_CONSTRAINT_PRIMARYKEY", "SQLITE_CONSTRAINT_UNIQUE"):
                raise RepeatedKeyError from None
            raise

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert many rows."""
        places = ", ".join("?" for _ in columns)
        self._connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", rows)

    def load_people(self, first: int, ids: Sequence[str | None]) -> None:
        """Insert ids: as one text, which SQLite takes apart much faster than it takes as many parameters."""
        sql = "INSERT INTO asked (place, id) SELECT key + ?, value FROM json_each(?) WHERE value IS NOT NULL"
        for start in range(0, len(ids), _TOGETHER):
            self._connection.execute(sql, (first + start, json.dumps(ids[start : start + _TOGETHER])))

    def costs(self, release: int) -> Iterator[NDArray[np.int64]]:
        """What a release costs: each column as one text, for the same reason."""
        import numpy as np

        low, high = self._connection.execute("SELECT MIN(number), MAX(number) FROM people").fetchone()
        texts = ", ".join(f"GROUP_CONCAT({column})" for column in COST_COLUMNS)
        sql = f"SELECT {texts} FROM costs WHERE release = ? AND person BETWEEN ? AND ?"
        for start in range(low, high + 1, _TOGETHER) if low is not None else ():
            found = self._connection.execute(sql, (release, start, start + _TOGETHER - 1)).fetchone()
            if found[0] is not None:
                yield np.array([np.fromstring(text, dtype=np.int64, sep=",") for text in found])
