"""Store: the interface to a ledger's database, which `sqlite.py` and `postgres.py` implement."""

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
TOGETHER = 2**17  # rows that are transferred as one text
_COST_COLUMNS = ("person", "place", "cost_infinite", "cost_nats", "cost_units")
_PEOPLE_OF_RELEASE = (
    "SELECT (SELECT MIN(person) FROM costs WHERE release = ?), (SELECT MAX(person) FROM costs WHERE release = ?)"
)


class RepeatedKeyError(Exception):
    """Two rows would have the same key."""


class Transaction(ABC):
    """What can be done within a transaction. In SQL, ``?`` stands for a parameter on every database."""

    @abstractmethod
    def rows(self, sql: str, *parameters: Any) -> Iterator[Row]:
        """The rows that a query finds."""

    def many_rows(self, sql: str, *parameters: Any) -> Iterator[Row]:
        """The same for very many rows, in bounded memory."""
        return self.rows(sql, *parameters)

    @abstractmethod
    def has_table(self, name: str) -> bool:
        """Whether there is a table of this name."""

    @abstractmethod
    def change(self, sql: str, *parameters: Any) -> int:
        """Execute it; the number of rows affected."""

    @abstractmethod
    def load(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert many rows, as fast as the database can."""

    @abstractmethod
    def load_people(self, first: int, ids: Sequence[str | None]) -> None:
        """Insert ids into the table `asked`, with their places from `first` on, skipping None."""

    @abstractmethod
    def joined(self, column: str) -> str:
        """The SQL expression for all numbers of a column as one text, separated by commas."""

    def costs(self, release: int) -> Iterator[NDArray[np.int64]]:
        """What a release costs: people, places and the three columns of amounts, as arrays, in parts.

        Parts are in the order of people's numbers. Each column comes as one text, which is much faster than row by row.
        """
        import numpy as np

        first, last = self.row(_PEOPLE_OF_RELEASE, release, release) or (None, None)
        texts = ", ".join(self.joined(column) for column in _COST_COLUMNS)
        sql = f"SELECT {texts} FROM costs WHERE release = ? AND person BETWEEN ? AND ?"
        for start in () if first is None else range(first, last + 1, TOGETHER):
            found = self.row(sql, release, start, start + TOGETHER - 1)
            if found is not None and found[0] is not None:
                yield np.array([np.fromstring(text, dtype=np.int64, sep=",") for text in found])

    @abstractmethod
    def charge(self, release: int, among: str = "") -> None:
        """Add the costs of a release to what people have spent; `among` restricts it to some of them."""

    def expect_many(self) -> None:  # noqa: B027 (not every database needs the hint)
        """Hint that the next changes affect very many new rows, of which the database has no statistics."""

    def empty_temporary(self, table: str) -> None:  # noqa: B027 (some databases do so when a transaction ends)
        """Delete what earlier transactions left in a temporary table."""

    def row(self, sql: str, *parameters: Any) -> Row | None:
        """The first row that a query finds."""
        return next(iter(list(self.rows(sql, *parameters))), None)

    def value(self, sql: str, *parameters: Any) -> Any:
        """The single value that a query finds."""
        found = self.row(sql, *parameters)
        assert found is not None
        return found[0]


class Store(ABC):
    """A database, with a connection of its own in every thread and every process."""

    dialect: ClassVar[Mapping[str, str]]
    """The SQL in which databases differ: the type of a numeric `key`, also in temporary tables (`temporary_key`), and
    the suffix of a table that is ordered by its key (`clustered`), often `rewritten`, or `temporary`."""

    def __init__(self) -> None:
        self._local = threading.local()

    @abstractmethod
    def connect(self) -> Any:
        """A new connection."""

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
        """The time by the clock that this database uses."""
        return datetime.now(UTC)

    @property
    def connection(self) -> Any:
        """The connection of this thread; a forked process gets its own."""
        if getattr(self._local, "process", None) != os.getpid():
            self._local.connection = self.connect()
            self._local.process = os.getpid()
        return self._local.connection

    def forget_connection(self) -> Any:
        """Detach this thread's connection, and return it; None if there is none."""
        held = getattr(self._local, "connection", None) if self.is_connected else None
        self._local.process = None
        return held

    @property
    def is_connected(self) -> bool:
        """Whether this thread has a connection."""
        return getattr(self._local, "process", None) == os.getpid()

    @contextmanager
    def opening(self) -> Iterator[None]:
        """A context in which an error closes the connection."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    @contextmanager
    def within(self, begin: str) -> Iterator[Transaction]:
        """A transaction that `begin` starts, committed at the end unless there was an error."""
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
        """A transaction of this thread's connection, not started yet."""

    @abstractmethod
    def explained(self) -> AbstractContextManager[None]:
        """A context in which errors of the database become a `LedgerError`."""

    @abstractmethod
    def roll_back(self, transaction: Transaction) -> None:
        """Undo what was done; no error if the database has done so itself or cannot be reached."""


def open_store(where: str, *, moved: bool, make: bool) -> Store:
    """The database at a path or address; only the driver that it needs is imported."""
    if where.startswith(("postgresql://", "postgres://")):
        from pdpmean.ledger.postgres import PostgresStore

        return PostgresStore(where)
    from pdpmean.ledger.sqlite import SqliteStore

    if not make and not os.path.exists(os.path.expanduser(where)):
        raise no_ledger(where)
    return SqliteStore(where, moved=moved)


def no_ledger(where: str) -> InvalidInputError:
    """The error to raise where no ledger was found, and none should be created."""
    shown = without_password(where)
    return InvalidInputError(f"there is no ledger {shown}; create one with pdpmean ledger init {shown}", name="ledger")
