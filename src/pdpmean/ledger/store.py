"""Store: the one interface behind which a ledger's database lies; `sqlite.py` and `postgres.py` are the two."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["COST_COLUMNS", "RepeatedKeyError", "Row", "Store", "Transaction", "open_store"]

Row = tuple[Any, ...]
COST_COLUMNS = ("person", "place", "cost_infinite", "cost_nats", "cost_units")


class RepeatedKeyError(Exception):
    """Two rows would have the same key."""


class Transaction(ABC):
    """What can be done inside a transaction. In SQL, ``?`` stands for a parameter on every database."""

    @abstractmethod
    def rows(self, sql: str, *parameters: Any) -> Iterator[Row]:
        """What a query finds, a row at a time."""

    def many_rows(self, sql: str, *parameters: Any) -> Iterator[Row]:
        """The same of very many rows, not all of which are in memory at once."""
        return self.rows(sql, *parameters)

    @abstractmethod
    def change(self, sql: str, *parameters: Any) -> int:
        """Do it, and say how many rows it was done to."""

    @abstractmethod
    def load(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert many rows, as fast as the database can."""

    @abstractmethod
    def load_people(self, first: int, ids: Sequence[str | None]) -> None:
        """Insert ids into the table `asked`, with their places from `first` on, but for those that are None."""

    @abstractmethod
    def costs(self, release: int) -> Iterator[NDArray[np.int64]]:
        """What a release costs: people, places and the three columns of amounts, as arrays of some rows at a time.

        No part has a person below one of the part before.
        """

    def expect_many(self) -> None:  # noqa: B027 (most databases need no telling)
        """Told that the next changes are of very many rows, which the database may not know of new ones."""

    def row(self, sql: str, *parameters: Any) -> Row | None:
        """The first row that a query finds."""
        return next(iter(list(self.rows(sql, *parameters))), None)

    def value(self, sql: str, *parameters: Any) -> Any:
        """The one number or text that a query finds."""
        found = self.row(sql, *parameters)
        assert found is not None
        return found[0]


class Store(ABC):
    """A database, with a connection of its own in every thread and every process."""

    dialect: ClassVar[Mapping[str, str]]
    """The words in which databases differ: how a `key` of numbers is declared, and what ends the definition of a
    table that lies in the order of its key (`clustered`), is `rewritten` often, or is `temporary`."""

    def __init__(self) -> None:
        self._local = threading.local()

    @abstractmethod
    def connect(self) -> Any:
        """A new connection."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction that no other one writes beside; all of it is done, for good, or nothing is."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one state of the database."""

    @abstractmethod
    def is_prepared(self) -> bool:
        """Whether the tables of a ledger are there."""

    @abstractmethod
    def close(self) -> None:
        """Let go of this thread's connection."""

    def now(self) -> datetime:
        """The time, by the clock that this database goes by."""
        return datetime.now(UTC)

    @property
    def connection(self) -> Any:
        """The connection of this thread; a forked process gets its own."""
        if getattr(self._local, "process", None) != os.getpid():
            self._local.connection = self.connect()
            self._local.process = os.getpid()
        return self._local.connection

    def forget_connection(self) -> Any:
        """The connection of this thread, which is to be used no more; None if there is none."""
        held = getattr(self._local, "connection", None) if self.is_connected else None
        self._local.process = None
        return held

    @property
    def is_connected(self) -> bool:
        """Whether this thread has a connection."""
        return getattr(self._local, "process", None) == os.getpid()

    @contextmanager
    def within(self, begin: str) -> Iterator[Transaction]:
        """A transaction between its first word and its last, the latter only if all went well."""
        with self.explained():
            transaction = self.new_transaction()
            transaction.change(begin)
            try:
                yield transaction
            except BaseException:
                self.roll_back(transaction)
                raise
            transaction.change("COMMIT")

    @abstractmethod
    def new_transaction(self) -> Transaction:
        """One of this thread's connection, not begun."""

    @abstractmethod
    def explained(self) -> AbstractContextManager[None]:
        """In which errors of the database become those of a ledger, in words."""

    @abstractmethod
    def roll_back(self, transaction: Transaction) -> None:
        """Undo what was done, also where the database has done so by itself or cannot be reached."""


def open_store(where: str, *, moved: bool) -> Store:
    """The database at a path or an address; what it needs is imported for it alone."""
    if where.startswith(("postgresql://", "postgres://")):
        from pdpmean.ledger.postgres import PostgresStore

        return PostgresStore(where)
    from pdpmean.ledger.sqlite import SqliteStore

    return SqliteStore(where, moved=moved)
