"""Answers parse strictly, columns align, and files are whole or absent."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest

from pdpmean import InvalidInputError
from pdpmean.cli.output import as_csv, as_json, optional_file
from pdpmean.core.files import replacing
from pdpmean.core.text import as_table


def refuse(token: str) -> None:
    raise AssertionError(token)


def test_json_has_no_tokens_that_are_no_json() -> None:
    text = as_json({"a": math.nan, "b": [math.inf, (-math.inf, 1.5)], "c": {"d": None, 3: True}, "e": "ä"})
    found = json.loads(text, parse_constant=refuse)
    assert found == {"a": None, "b": [None, [None, 1.5]], "c": {"d": None, "3": True}, "e": "ä"}


def test_csv_is_quoted_where_it_must_be() -> None:
    text = as_csv([{"group": 'a, "b"', "mean": 0.1, "low": None}, {"group": "c", "mean": 1e-300, "low": 2}])
    assert list(csv.reader(text.splitlines())) == [
        ["group", "mean", "low"],
        ['a, "b"', "0.1", ""],
        ["c", "1e-300", "2"],
    ]


def test_tables_align() -> None:
    assert as_table([("", "error"), ("a", "0.25"), ("long", "1")]) == "      error\na      0.25\nlong      1"


def test_a_file_takes_its_place_when_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    path.write_text("before")
    with replacing(path) as part:
        assert part is not None
        assert part.suffix == ".html"
        part.write_text("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_half_written_stays(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "out.html"

    def write_half() -> None:
        with replacing(path) as part:
            assert part is not None
            part.write_text("half")
            raise error

    with pytest.raises(error):
        write_half()
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    inside = tmp_path / "file" / "x"
    wrong = {tmp_path / "no" / "x": "No such file", tmp_path: "it is a folder", inside: "Not a directory"}
    for path, reason in wrong.items():
        with pytest.raises(InvalidInputError, match=f"cannot write {path}: .*{reason}"), replacing(path):
            pytest.fail("it was not said at once")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_no_file_wanted_is_no_file() -> None:
    with optional_file(None, ()) as part:
        assert part is None
