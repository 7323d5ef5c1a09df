"""Export: the tables of a ledger as CSV or Parquet, in bounded memory."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from pdpmean.core.files import replacing
from pdpmean.errors import InvalidInputError
from pdpmean.ledger import queries
from pdpmean.ledger.amount import Amount
from pdpmean.ledger.release import releases
from pdpmean.ledger.store import Transaction

__all__ = ["TABLES", "export"]

_SUFFIXES = (".csv", ".parquet")
TABLES = ("people", "releases", "costs")
_FEW_DIGITS = 6  # digits of an amount that somebody chose
_ROWS_AT_ONCE = 2**16  # rows per row group of a Parquet file, which bounds the memory that writing takes

Rows = Iterator[dict[str, Any]]


def export(transaction: Transaction, path: Path, table: str) -> None:
    """Write a table to a file, completely or not at all.

    Amounts are given twice: in nats, and exactly in units of 2**-40 nat.
    """
    if table not in TABLES:
        raise InvalidInputError(f"table must be one of {', '.join(TABLES)}; got {table!r}", name="table", value=table)
    rows = {"people": _people, "releases": _releases, "costs": _costs}[table](transaction)
    with replacing(path, _SUFFIXES) as part:
        (_write_csv if path.suffix.lower() == ".csv" else _write_parquet)(part, rows, table)


def _amount(name: str, amount: Amount) -> dict[str, Any]:
    """The two fields of an amount, in nats and in units."""
    return {name: _in_nats(amount), f"{name}_units": None if amount.infinite else str(amount.units)}


@lru_cache(maxsize=1024)  # most people choose one of a few tiers
def _in_nats(amount: Amount) -> float:
    """The amount in nats, with few digits if it can be imported again from these: a grant of 0.1 is 0.1, for example.

    An import rounds down, so that nobody grants more by it than before.
    """
    texts = (f"{float(amount):.{digits}g}" for digits in range(1, _FEW_DIGITS + 1))
    same = (text for text in texts if Amount.rounded_down(text) == amount == Amount.rounded_down(float(text)))
    return float(next(same, amount))


def _people(transaction: Transaction) -> Rows:
    """What everybody grants, has spent and has left."""
    names = ", ".join(queries.columns(name) for name in ("granted", "spent"))
    for person, tier, note, since, withdrawn, *amounts in transaction.many_rows(
        f"SELECT id, tier, note, since, withdrawn, {names} FROM people "
        "JOIN balances ON balances.person = people.number ORDER BY number"
    ):
        granted = Amount.of_columns(*amounts[:3])
        spent = Amount.of_columns(*amounts[3:])
        balance = _amount("granted", granted) | _amount("spent", spent) | _amount("left", granted.less(spent))
        yield {"id": person, **balance, "tier": tier, "since": since, "withdrawn": bool(withdrawn), "note": note}


def _releases(transaction: Transaction) -> Rows:
    """All releases, oldest first."""
    for release in releases(transaction):
        yield {
            "number": release.number,
            "at": release.at,
            "state": release.state,
            "purpose": release.purpose,
            "analyst": release.analyst,
            "people": release.people,
            **_amount("total", release.total),
            "details": json.dumps(release.details, ensure_ascii=False),
            "hash": release.hash,
        }


def _costs(transaction: Transaction) -> Rows:
    """What every release cost every person."""
    for release, person, *cost in transaction.many_rows(
        f"SELECT release, id, {queries.columns('cost')} FROM costs "
        "JOIN people ON people.number = costs.person ORDER BY release, person"
    ):
        yield {"release": release, "id": person, **_amount("cost", Amount.of_columns(*cost))}


_TEXT_COLUMNS = ("id", "tier", "since", "note", "at", "state", "purpose", "analyst", "details", "hash")
_COLUMNS = {
    "people": "id granted granted_units spent spent_units left left_units tier since withdrawn note",
    "releases": "number at state purpose analyst people total total_units details hash",
    "costs": "release id cost cost_units",
}


def _write_csv(path: Path, rows: Rows, table: str) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, _COLUMNS[table].split(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _write_parquet(path: Path, rows: Rows, table: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, _arrow_type(name)) for name in _COLUMNS[table].split()])
    with pq.ParquetWriter(path, schema) as writer:
        while batch := list(islice(rows, _ROWS_AT_ONCE)):
            writer.write_table(pa.Table.from_pylist(batch, schema))


def _arrow_type(name: str) -> Any:
    """The Arrow type of an exported column."""
    import pyarrow as pa

    if name in _TEXT_COLUMNS or name.endswith("_units"):
        return pa.string()  # units go up to 2**80: more than 64 bits, but exact as text
    if name == "withdrawn":
        return pa.bool_()
    return pa.int64() if name in ("number", "people", "release") else pa.float64()
