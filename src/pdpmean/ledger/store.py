"""Store: the interface to a ledger's database, which `sqlite.py` and `postgres.py` implement.

All other modules of the ledger use only this interface: a `Store` opens transactions, and a `Transaction` runs SQL that
both databases understand. What differs between them, such as fast loading, is a method here.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from pdpmean.core.text import without_password
from pdpmean.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["TOGETHER", "RepeatedKeyError", "Row", "Store", "Transaction", "no_ledger", "open_store"]

Row = tuple[Any, ...]
TOGETHER = 2**17  # rows that are transferred as one text, which bounds the memory this takes
_COST_COLUMNS = ("person", "place", "cost_infinite", "cost_nats", "cost_units")
_PEOPLE_OF_RELEASE = (
    "SELECT (SELECT MIN(person) FROM costs WHERE release = ?), (SELECT MAX(person) FROM costs WHERE release = ?)"
)


class RepeatedKeyError(Exception):
    """An insertion would give two rows of a table the same key."""


class Transaction(ABC):
    """A running transaction, in which SQL is executed. Parameters are written ``?`` on every database."""

    @abstractmethod
    def rows(self, sql: str, *parameters: Any) -> Iterator[Row]:
        """The rows that a query returns."""

    def many_rows(self, sql: str, *parameters: Any) -> Iterator[Row]:
        """The rows that a query returns, fetched in parts so that memory stays bounded."""
        return self.rows(sql, *parameters)

    @abstractmethod
    def has_table(self, name: str) -> bool:
        """Whether a table of this name exists."""

    @abstractmethod
    def change(self, sql: str, *parameters: Any) -> int:
        """Execute a statement; returns the number of rows affected."""

    @abstractmethod
    def load(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert many rows, in the fastest way that the database offers."""

    @abstractmethod
    def load_people(self, first: int, ids: Sequence[str | None]) -> None:
        """Insert ids into the temporary table `asked`, numbered from `first` on; None keeps its number, but no row."""

    @abstractmethod
    def joined(self, column: str) -> str:
        """The SQL aggregate that joins all numbers of a column into one text, separated by commas."""

    def costs(self, release: int) -> Iterator[NDArray[np.int64]]:
        """The costs of a release, in batches: arrays with the rows `_COST_COLUMNS` and one column per person.

        Batches are in the order of people's numbers. The database sends each column as one text, which is much faster
        than row by row.
        """
        import numpy as np

        first, last = self.row(_PEOPLE_OF_RELEASE, release, release) or (None, None)
        texts = ", ".join(self.joined(column) for column in _COST_COLUMNS)
        sql = f"SELECT {texts} FROM costs WHERE release = ? AND person BETWEEN ? AND ?"
        for start in () if first is None else range(first, last + 1, TOGETHER):
            joined_columns = self.row(sql, release, start, start + TOGETHER - 1)
            if joined_columns is not None and joined_columns[0] is not None:
                yield np.array([np.fromstring(text, dtype=np.int64, sep=",") for text in joined_columns])

    @abstractmethod
    def charge(self, release: int, among: str = "") -> None:
        """Add the costs of a release to what people have spent; `among`, an SQL condition, restricts it to some."""

    def expect_many(self) -> None:  # noqa: B027 (not every database needs the hint)
        """Tell the query planner that the next changes affect very many new rows, on which it has no statistics."""

    def empty_temporary(self, table: str) -> None:  # noqa: B027 (some databases do so when a transaction ends)
        """Delete the rows that earlier transactions left in a temporary table."""

    def row(self, sql: str, *parameters: Any) -> Row | None:
        """The first row that a query returns; None if there is none."""
        return next(iter(list(self.rows(sql, *parameters))), None)

    def value(self, sql: str, *parameters: Any) -> Any:
        """The value that a query returns in the first column of its first row; the row must exist."""
        row = self.row(sql, *parameters)
        assert row is not None
        return row[0]


class Store(ABC):
    """A ledger's database. Every thread and every process has a connection of its own."""

    dialect: ClassVar[Mapping[str, str]]
    """The SQL in which databases differ, by placeholder. Column types: a numeric `key`, and `temporary_key`, the same
    in temporary tables. Suffixes of CREATE TABLE: `clustered` for a table that is stored in the order of its key,
    `rewritten` for one whose rows are often updated, and `temporary`."""

    def __init__(self) -> None:
        self._local = threading.local()

    @abstractmethod
    def connect(self) -> Any:
        """Open a new connection."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction that excludes all other writers, and is durable once it has committed."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one consistent state of the database."""

    @abstractmethod
    def close(self) -> None:
        """Close this thread's connection."""

    def now(self) -> datetime:
        """The current time, by the clock that all users of this database share."""
        return datetime.now(UTC)

    @property
    def connection(self) -> Any:
        """The connection of this thread, opened on first use; a forked process opens its own."""
        if getattr(self._local, "process", None) != os.getpid():
            self._local.connection = self.connect()
            self._local.process = os.getpid()
        return self._local.connection

    def forget_connection(self) -> Any:
        """Detach this thread's connection, and return it for closing; None if there is none."""
        connection = getattr(self._local, "connection", None) if self.is_connected else None
        self._local.process = None
        return connection

    @property
    def is_connected(self) -> bool:
        """Whether this thread has a connection."""
        return getattr(self._local, "process", None) == os.getpid()

    @contextmanager
    def opening(self) -> Iterator[None]:
        """A context in which any error closes the connection; for steps that open a ledger."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    @contextmanager
    def within(self, begin: str) -> Iterator[Transaction]:
        """A transaction started by the SQL `begin`: committed at the end, or rolled back if there is an error."""
        with self.explained():
            transaction = self.new_transaction()
            transaction.change(begin)
            try:
                yield transaction
                transaction.change("COMMIT")
            except BaseException:
                self.roll_back(transaction)
                raise

    @abstractmethod
    def new_transaction(self) -> Transaction:
        """A transaction on this thread's connection, not started yet."""

    @abstractmethod
    def explained(self) -> AbstractContextManager[None]:
        """A context in which errors of the database driver become a `LedgerError`."""

    @abstractmethod
    def roll_back(self, transaction: Transaction) -> None:
        """Undo the transaction; no error if the database has done so itself or cannot be reached."""


def open_store(where: str, *, moved: bool, make: bool) -> Store:
    """The database at a path (SQLite) or address (PostgreSQL); only the driver that it needs is imported.

    With `make` false, a missing SQLite file is an error. `moved` is described at `Ledger`.
    """
    if where.startswith(("postgresql://", "postgres://")):
        from pdpmean.ledger.postgres import PostgresStore

        return PostgresStore(where)
    from pdpmean.ledger.sqlite import SqliteStore

    if not make and not os.path.exists(os.path.expanduser(where)):
        raise no_ledger(where)
    return SqliteStore(where, moved=moved)


def no_ledger(where: str) -> InvalidInputError:
    """The error for a path or address that has no ledger, where none should be created."""
    shown = without_password(where)
    return InvalidInputError(f"there is no ledger {shown}; create one with pdpmean ledger init {shown}", name="ledger")
