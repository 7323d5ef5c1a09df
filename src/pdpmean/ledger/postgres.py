"""A ledger in a PostgreSQL database, for several machines or a team.

The tables are the same as in SQLite, and writers also take turns: an advisory lock makes the transactions that charge
people strictly sequential.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from pdpmean.errors import LedgerError, MissingPackageError
from pdpmean.ledger import queries
from pdpmean.ledger.store import RepeatedKeyError, Row, Store, Transaction

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresStore"]

# The key of the advisory lock that writers hold: "pdpmean" in ASCII. Unlike a lock on a table, it can be taken before
# there are tables.
_LOCK = 0x7064706D65616E
_BEGIN_WRITING = "; ".join(  # in one round trip, since others wait meanwhile
    (
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",  # to see what others wrote while we waited for the lock
        "SET LOCAL synchronous_commit TO on",  # a reservation must survive a crash of the server
        "SET LOCAL jit TO off",  # compiling these queries takes longer than running them
        "SET LOCAL work_mem TO '64MB'",
        f"SELECT pg_advisory_xact_lock({_LOCK})",
    )
)
# Plans for many rows, made anew for every statement.
_EXPECT_MANY = "SET LOCAL enable_nestloop TO off; SET LOCAL plan_cache_mode TO force_custom_plan"
_HAS_TABLE = "SELECT 1 FROM pg_tables WHERE tablename = ? AND schemaname = ANY(current_schemas(false))"
_ACCEPTED_ENCODINGS = ("UTF8", "SQL_ASCII")  # of a database; those that can hold every id
_FETCHED_ROWS = 2**14  # rows fetched at a time by `many_rows`
# Characters that would end a field or a line of COPY, and what stands for them.
_COPY_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


class PostgresStore(Store):
    """A database that several programs may use at the same time; writers wait for each other."""

    dialect: ClassVar[Mapping[str, str]] = {
        "key": "BIGINT PRIMARY KEY",
        "temporary_key": "BIGINT NOT NULL",  # an index would take more time to build and to empty than it saves
        "clustered": "",
        "rewritten": "WITH (fillfactor = 50)",  # so that the new version of a row fits on the same page
        "temporary": "ON COMMIT DELETE ROWS",
    }

    def __init__(self, address: str) -> None:
        super().__init__()
        try:
            import psycopg
        except ImportError:
            raise MissingPackageError("psycopg", extra="postgres", requirement="'psycopg[binary]'") from None
        self._errors = psycopg.Error
        self._address = address

    def connect(self) -> psycopg.Connection[Row]:
        """Open a new connection; raises if the database cannot hold every id."""
        import psycopg

        connection = psycopg.connect(self._address, autocommit=True, application_name="pdpmean ledger")
        encoding = connection.info.parameter_status("server_encoding")
        if encoding not in _ACCEPTED_ENCODINGS:
            connection.close()
            raise LedgerError(
                f"the ledger's database has the encoding {encoding}, which lacks most characters: whether somebody has "
                "an id that it cannot hold would show. Use a database with the encoding UTF8"
            )
        if connection.info.encoding != "utf-8":
            connection.execute("SET client_encoding TO 'UTF8'")
        return connection

    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction that excludes all other writers."""
        return self.within(_BEGIN_WRITING)

    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one consistent state of the database."""
        return self.within("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def new_transaction(self) -> Transaction:
        """A transaction on this thread's connection, not started yet."""
        return _PostgresTransaction(self.connection)

    def roll_back(self, transaction: Transaction) -> None:
        """Undo the transaction. If the connection is lost, the server does so itself."""
        with suppress(self._errors):
            transaction.change("ROLLBACK")

    def now(self) -> datetime:
        """The current time by the server's clock, which is the same for everybody."""
        with self.explained():
            row = self.connection.execute("SELECT clock_timestamp() AT TIME ZONE 'UTC'").fetchone()
        moment: datetime = row[0].replace(tzinfo=UTC)
        return moment

    def close(self) -> None:
        """Close this thread's connection."""
        connection = self.forget_connection()
        if connection is not None:
            connection.close()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """A context in which errors of the database become a `LedgerError`.

        A broken connection is closed, so that the next use opens a new one.
        """
        try:
            yield
        except self._errors as error:
            if self.is_connected and self.connection.broken:
                self.close()
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise LedgerError(
                f"the ledger's database could not be used: {reason}. The last change was written in full or not at all"
            ) from None  # the error's other lines may quote what was being written


class _PostgresTransaction(Transaction):
    """A transaction on a PostgreSQL connection."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def rows(self, sql: str, *parameters: Any) -> Iterator[Row]:
        """The rows that a query returns."""
        return iter(self._connection.execute(_in_postgres(sql), parameters))

    def many_rows(self, sql: str, *parameters: Any) -> Iterator[Row]:
        """The rows that a query returns, fetched in parts by a cursor on the server."""
        with self._connection.cursor(name="many_rows") as cursor:
            cursor.itersize = _FETCHED_ROWS
            yield from cursor.execute(_in_postgres(sql), parameters)

    def has_table(self, name: str) -> bool:
        """Whether a table of this name exists on the search path."""
        # Not by to_regclass, which may miss a table that another session has just created.
        return self.row(_HAS_TABLE, name) is not None

    def change(self, sql: str, *parameters: Any) -> int:
        """Execute a statement (or several, if there are no parameters); returns the number of rows affected."""
        from psycopg.errors import UniqueViolation

        try:
            return self._connection.execute(_in_postgres(sql), parameters, prepare=bool(parameters)).rowcount
        except UniqueViolation:
            raise RepeatedKeyError from None

    def expect_many(self) -> None:
        """Avoid nested loops: the server has no statistics on a new release and assumes that it has few rows."""
        self._connection.execute(_EXPECT_MANY, prepare=False)

    def load(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert many rows by COPY."""
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy,
        ):
            for row in rows:
                copy.write_row(row)

    def load_people(self, first: int, ids: Sequence[str | None]) -> None:
        """Insert ids by COPY as one text, which is much faster than row by row."""
        places = (place for place, person in enumerate(ids, first) if person is not None)
        lines = (f"{place}\t{person}\n" for place, person in zip(places, _escaped(ids), strict=False))
        with self._connection.cursor() as cursor, cursor.copy("COPY asked (place, id) FROM STDIN") as copy:
            copy.write("".join(lines))

    def charge(self, release: int, among: str = "") -> None:
        """Add the costs of a release to what people have spent."""
        self.change(queries.CHARGE + among, release)

    def joined(self, column: str) -> str:
        """The SQL aggregate that joins all numbers of a column into one text."""
        return f"string_agg({column}::text, ',')"


def _escaped(ids: Iterable[str | None]) -> list[str]:
    """The ids as fields of COPY, leaving out None.

    They are escaped as one text, which is fast. Its separator, the null character, occurs in no id.
    """
    return "\0".join(person for person in ids if person is not None).translate(_COPY_ESCAPES).split("\0")


def _in_postgres(sql: str) -> Any:
    """The SQL with parameters as psycopg writes them: ``%s`` instead of ``?``."""
    return sql.replace("%", "%%").replace("?", "%s")
