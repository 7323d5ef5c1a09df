"""Columns of Arrow's types in which the first entry is no Python object, so that reading them as a whole fails."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa

__all__ = ["DAYS", "TEXTS", "of_pandas"]


def of_pandas(column: pa.Array) -> Any:
    """The same column as one of pandas, which its own constructor would read first."""
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([column])))


_FAR = [2**31 - 1, 0, 1]  # days from 1970 on: the first is millions of years later
_DAYS = pa.array(_FAR, pa.int32()).cast(pa.date32())
_SECONDS = pa.array([2**60, 0, 86400], pa.timestamp("s"))
_TEXT = pa.array([b"\xff", b"a", b"b"]).view(pa.string())

DAYS: dict[str, Any] = {
    "Arrow": _DAYS,
    "Arrow in chunks": pa.chunked_array([_DAYS[:1], _DAYS[1:]]),
    "Arrow dictionary": _DAYS.dictionary_encode(),
    "pandas": of_pandas(_DAYS),
    "pandas seconds": of_pandas(_SECONDS),
    "polars": pl.Series(_FAR, dtype=pl.Int32).cast(pl.Date),
    "polars seconds": pl.Series([2**60, 0, 86_400_000]).cast(pl.Datetime("ms")),
}
"""Ending with the first and the second of January 1970."""
TEXTS: dict[str, Any] = {
    "Arrow": _TEXT,
    "Arrow view": _TEXT.cast(pa.string_view()),
    "Arrow dictionary": _TEXT.dictionary_encode(),
    "pandas": of_pandas(_TEXT),
    "Arrow structs": pa.StructArray.from_arrays([_SECONDS], ["since"]),
}
"""Whatever is no number."""
