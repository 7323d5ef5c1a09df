"""Output: results as JSON or CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from pdpmean.core.files import replacing

__all__ = ["as_csv", "as_json", "optional_file"]


def as_json(content: Mapping[str, Any]) -> str:
    """The content as strict JSON, which has no infinities or NaN: those become null."""
    return json.dumps(_finite(content), indent=2, allow_nan=False, ensure_ascii=False)


def _finite(content: Any) -> Any:
    """The same content with None in place of every number that is not finite."""
    match content:
        case float() if not math.isfinite(content):
            return None
        case Mapping():
            return {str(name): _finite(entry) for name, entry in content.items()}
        case list() | tuple():
            return [_finite(entry) for entry in content]
    return content


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as CSV text, with a header; None is an empty field."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().removesuffix("\n")


def optional_file(path: Path | None, suffixes: Collection[str]) -> AbstractContextManager[Path | None]:
    """A context for writing an optional output file: as `replacing`, or None if no path is given."""
    return nullcontext() if path is None else replacing(path, suffixes)
