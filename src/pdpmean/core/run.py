"""Run: what identifies a release: its id, when and by whom it was made, for which purpose, and from which data.

Nothing here depends on anything private. In particular there is no hash of the data, against which anybody could test a
guess.
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

__all__ = ["Run", "public_options"]


@dataclass(frozen=True)
class Run:
    """The identity of a release, for reports, JSON and audits; all of it is public."""

    id: str
    at: str
    """When it began, in UTC, as ISO 8601."""
    dataset: str
    """The paths of the files, or the type of the table."""
    purpose: str | None = None
    analyst: str | None = None
    fingerprint: str = ""
    """A hash of everything public about the data and the question: see docs/guarantee.md."""
    losses: tuple[Loss, ...] | None = None
    """What the release cost how many people; None where that is private."""

    @classmethod
    def begun(cls, run_id: str, data: Any, options: Options) -> Self:
        """A run that begins now."""
        return cls(run_id, _now(), _dataset_name(data), options.purpose, options.analyst)

    def made(self, options: Options, columns: Mapping[str, str], losses: tuple[Loss, ...] | None) -> Self:
        """The finished run, with its losses and its fingerprint; `columns` are the types of the columns used."""
        public = {
            "dataset": self.dataset,
            "types": dict(columns),
            "options": public_options(options),
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


def _dataset_name(dataset: Any) -> str:
    """The paths of the files, or the type of the table."""
    if isinstance(dataset, (list, tuple)) and dataset and all(isinstance(path, str) for path in dataset):
        return ", ".join(dataset)
    if isinstance(dataset, str) or hasattr(dataset, "__fspath__"):
        return str(dataset)
    return f"{type(dataset).__module__.split('.')[0]}.{type(dataset).__name__}"


def public_options(options: Options) -> dict[str, Any]:
    """The public options that define the question, ready for JSON."""
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
