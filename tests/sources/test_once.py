"""Every record exactly once in every pass, however the data are cut: by the integers that the passes give."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from powers_of_two import LABELS, PASSES, POWERS, ROWS
from rules import compiled
from source_builders import Rows
from source_kinds import KINDS, cut, opener

from pdpmean.passes.source import BatchSource
from pdpmean.sources.files.parquet import ParquetFile
from pdpmean.sources.layout import Layout

CUTS: dict[str, dict[str, int]] = {
    "as they are": {},
    "small": {"batch": 2, "piece": 5, "block": 64, "merged_up_to": 1},
    "small, many streams": {"batch": 2, "piece": 5, "block": 64, "merged_up_to": 1, "many_streams": 2},
    "small, merged": {"batch": 2, "piece": 5, "block": 64, "merged_up_to": 4, "many_streams": 2},
    "mapped": {"batch": 3, "piece": 1, "block": 70, "merged_up_to": 1, "mapped_above": 0},
}


@pytest.mark.parametrize("parts", [*CUTS, "small, compiled"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_record_is_there_exactly_once(
    kind: str, parts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut(monkeypatch, **CUTS.get(parts, CUTS["small"]))
    with compiled() if parts == "small, compiled" else nullcontext():
        source = opener(kind, ROWS, tmp_path, part=2)()
        for name, (run, expected, _) in PASSES.items():
            assert run(source) == expected, name
        grouped = opener(kind, ROWS, tmp_path, part=2, groups=LABELS)()
        for name, (run, _, expected) in PASSES.items():
            assert run(grouped) == expected, f"{name}, in groups"


@pytest.mark.parametrize("kind", KINDS)
def test_small_parts_are_many(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise there would be no ends of parts for a record to be lost or repeated at."""
    cut(monkeypatch, **CUTS["small"])
    source = opener(kind, ROWS, tmp_path, part=2)()
    assert isinstance(source, BatchSource)
    assert len(list(source.batches())) >= 8


def test_pieces_of_a_parquet_file_are_of_several_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut(monkeypatch, **CUTS["small"])
    opener("Parquet", ROWS, tmp_path, part=2)()
    file = ParquetFile(str(tmp_path / "0.parquet"), Layout("income", "epsilon"))
    pieces = [sum(records.num_rows for records in stream) for stream in file.streams(["income"])]
    assert pieces == [6, 6, 6, 6, 1], "three row groups each"


@pytest.mark.parametrize("wrong", [POWERS[:-1], [*POWERS, POWERS[7]]], ids=["lost", "repeated"])
def test_one_record_more_or_less_shows_in_every_pass(wrong: list[int], tmp_path: Path) -> None:
    where = [POWERS.index(power) for power in wrong]
    rows = Rows(ROWS.values[where], ROWS.budgets[where], [ROWS.regions[i] for i in where], where)
    source = opener("arrays", rows, tmp_path, part=2)()
    for name, (run, expected, _) in PASSES.items():
        assert run(source) != expected, name
