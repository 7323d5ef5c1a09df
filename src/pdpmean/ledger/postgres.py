"""A ledger in a PostgreSQL database, for a team: the same tables, and one writer at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from pdpmean.errors import LedgerError, MissingPackageError
from pdpmean.ledger.store import COST_COLUMNS, RepeatedKeyError, Row, Store, Transaction

if TYPE_CHECKING:
    import numpy as np
    import psycopg
    from numpy.typing import NDArray

__all__ = ["PostgresStore"]

_LOCK = 0x7064706D65616E  # "pdpmean"; an advisory lock, so that it can be had before there are tables
_SETTINGS = (
    "synchronous_commit TO on",  # a reservation that could be lost would be none
    "jit TO off",  # compiling takes longer than what is compiled
    "work_mem TO '64MB'",
)
_FETCHED = 2**14  # rows at a time
# What would end an entry of COPY, or a line.
_ESCAPED = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


class PostgresStore(Store):
    """A database that others may use at the same time; whoever writes waits for whoever does."""

    dialect: ClassVar[Mapping[str, str]] = {
        "key": "BIGINT PRIMARY KEY",
        "clustered": "",
        "rewritten": "WITH (fillfactor = 50)",  # so that a new version of a row fits beside the old one
        "temporary": "ON COMMIT DELETE ROWS",
    }

    def __init__(self, address: str) -> None:
        super().__init__()
        try:
            import psycopg
        except ImportError:
            raise MissingPackageError("psycopg", extra="postgres") from None
        self._errors = psycopg.Error
        self._address = address

    def connect(self) -> psycopg.Connection[Row]:
        """A new connection."""
        import psycopg

        made = psycopg.connect(self._address, autocommit=True, application_name="pdpmean ledger")
        if made.info.encoding != "utf-8":
            made.execute("SET client_encoding TO 'UTF8'")
        return made

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction that no other one writes beside."""
        with self.within("BEGIN") as transaction:
            for setting in _SETTINGS:
                transaction.change(f"SET LOCAL {setting}")
            list(transaction.rows("SELECT pg_advisory_xact_lock(?)", _LOCK))
            yield transaction

    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one state of the database."""
        return self.within("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def new_transaction(self) -> Transaction:
        """One of this thread's connection, not begun."""
        return _PostgresTransaction(self.connection)

    def roll_back(self, transaction: Transaction) -> None:
        """Undo what was done; a lost connection has the server do so by itself."""
        with suppress(self._errors):
            transaction.change("ROLLBACK")

    def is_prepared(self) -> bool:
        """Whether the tables of a ledger are there."""
        with self.reading() as transaction:
            return transaction.value("SELECT to_regclass('costs')::text") is not None

    def now(self) -> datetime:
        """The time by the server's clock, which is the same for everybody."""
        with self.explained():
            found = self.connection.execute("SELECT clock_timestamp() AT TIME ZONE 'UTC'").fetchone()
        moment: datetime = found[0].replace(tzinfo=UTC)
        return moment

    def close(self) -> None:
        """Let go of this thread's connection."""
        held = self.forget_connection()
        if held is not None:
            held.close()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """The database's errors in words; after one, a new connection is made."""
        try:
            yield
        except self._errors as error:
            if self.is_connected and self.connection.broken:
                self.close()
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise LedgerError(
                f"the ledger's database could not be used: {reason}. "
                "What was being written is there in whole or not at all"
            ) from error


class _PostgresTransaction(Transaction):
    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def rows(self, sql: str, *parameters: Any) -> Iterator[Row]:
        """What a query finds, a row at a time."""
        return iter(self._connection.execute(_in_postgres(sql), parameters))

    def many_rows(self, sql: str, *parameters: Any) -> Iterator[Row]:
        """The same, fetched some at a time."""
        with self._connection.cursor(name="many_rows") as cursor:
            cursor.itersize = _FETCHED
            yield from cursor.execute(_in_postgres(sql), parameters)

    def change(self, sql: str, *parameters: Any) -> int:
        """Do it, and say how many rows it was done to."""
        from psycopg.errors import UniqueViolation

        try:
            return self._connection.execute(_in_postgres(sql), parameters).rowcount
        except UniqueViolation:
            raise RepeatedKeyError from None

    def expect_many(self) -> None:
        """Rows are then not looked up one by one: of a new release, the server thinks that it has few."""
        self._connection.execute("SET LOCAL enable_nestloop TO off")

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert many rows, by COPY."""
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy,
        ):
            for row in rows:
                copy.write_row(row)

    def load_people(self, first: int, ids: Sequence[str | None]) -> None:
        """Insert ids, by COPY: as one text, which is much faster than row by row."""
        lines = (
            f"{place}\t{person.translate(_ESCAPED)}\n" for place, person in enumerate(ids, first) if person is not None
        )
        with self._connection.cursor() as cursor, cursor.copy("COPY asked (place, id) FROM STDIN") as copy:
            copy.write("".join(lines))

    def costs(self, release: int) -> Iterator[NDArray[np.int64]]:
        """What a release costs, by COPY, whose parts end anywhere."""
        import numpy as np

        sql = f"COPY (SELECT {', '.join(COST_COLUMNS)} FROM costs WHERE release = {int(release)}) TO STDOUT"
        text = bytearray()
        with self._connection.cursor() as cursor, cursor.copy(sql) as copy:
            for part in copy:
                text += part
        yield np.fromstring(text.decode(), dtype=np.int64, sep=" ").reshape(-1, len(COST_COLUMNS)).T


def _in_postgres(sql: str) -> Any:
    return sql.replace("%", "%%").replace("?", "%s")
