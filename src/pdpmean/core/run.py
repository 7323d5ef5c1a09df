"""Run: what is told of every release besides its numbers: which one it is, when, by whom, for what and of which data.

Nothing here depends on anything private. In particular there is no hash of the data: it would let anybody test a guess.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Self

from pdpmean.core.losses import Loss
from pdpmean.core.options import Options

__all__ = ["Run", "dataset_name", "told_options"]


@dataclass(frozen=True)
class Run:
    """A release that was made: its id, and what is public about how it came to be."""

    id: str
    at: str
    """When it began, in UTC."""
    dataset: str
    """The paths of files, or what kind of table it was."""
    purpose: str | None = None
    analyst: str | None = None
    fingerprint: str = ""
    """A hash of what is public of the data and the question: see docs/guarantee.md."""
    losses: tuple[Loss, ...] | None = None
    """How many people it cost how much; None where that is private."""

    @classmethod
    def begun(cls, run_id: str, data: Any, options: Options) -> Self:
        """One that begins now."""
        return cls(run_id, _now(), dataset_name(data), options.purpose, options.analyst)

    def made(self, options: Options, columns: Mapping[str, str], losses: tuple[Loss, ...] | None) -> Self:
        """The same, when it is known of which columns it is, and what it cost."""
        public = {
            "dataset": self.dataset,
            "types": dict(columns),
            "options": told_options(options),
            "losses": None if losses is None else [loss.to_dict() for loss in losses],
        }
        text = json.dumps(public, sort_keys=True, default=str)
        return replace(self, fingerprint=hashlib.sha256(text.encode()).hexdigest(), losses=losses)

    def to_dict(self) -> dict[str, Any]:
        """Plain words, ready for JSON."""
        return {
            "id": self.id,
            "at": self.at,
            "purpose": self.purpose,
            "analyst": self.analyst,
            "dataset": self.dataset,
            "fingerprint": self.fingerprint,
        }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def dataset_name(dataset: Any) -> str:
    """The paths of files, or what kind of table it is."""
    if isinstance(dataset, (list, tuple)) and dataset and all(isinstance(path, str) for path in dataset):
        return ", ".join(dataset)
    if isinstance(dataset, str) or hasattr(dataset, "__fspath__"):
        return str(dataset)
    return f"{type(dataset).__module__.split('.')[0]}.{type(dataset).__name__}"


def told_options(options: Options) -> dict[str, Any]:
    """What was decided, in words and numbers."""
    columns = {name: getattr(options, name) for name in ("value", "budget", "person", "by")}
    return {
        "columns": {name: column for name, column in columns.items() if isinstance(column, str)},
        "groups": None if options.groups is None else [str(group) for group in options.groups],
        "rows": options.rows,
        "model": options.model.name,
        "budget_range": None if options.model.budget_range is None else list(options.model.budget_range),
        "shape": options.shape,
        "bounds": [str(end) for end in options.bounds],
        "equals": options.equals,
        "missing": "none" if options.nothing_missing else "some",
        "weighting": options.whose.weighting,
        "target": options.whose.target,
    }
