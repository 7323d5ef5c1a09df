"""Files: how they are found, what is refused, and that they stay as they are."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rules import thinning_of

from pdpmean import Randomness
from pdpmean.core.model import BOUNDED
from pdpmean.errors import InvalidInputError
from pdpmean.sources.files.source import find_paths
from pdpmean.sources.layout import Layout
from pdpmean.sources.opening import open_table

PLAIN = Layout("income", "epsilon")
TABLE = pa.table({"income": [1.0, 2.0, 3.0], "epsilon": [0.5, 1.0, 2.0], "note": ["secret"] * 3})
TEXT = "income,epsilon,note\n1,0.5,secret\n2,1,secret\n3,2,secret\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(TABLE, "people.parquet")
    Path("people.csv").write_text(TEXT)
    with pa.ipc.new_file("people.arrow", TABLE.schema) as writer:
        writer.write_table(TABLE)
    return tmp_path


def budgets(data: Any, layout: Layout = PLAIN) -> list[float]:
    return [budget for batch in open_table(data, layout).batches() for budget in batch.budgets.tolist()]


def refusal(data: Any, layout: Layout = PLAIN) -> str:
    with pytest.raises(InvalidInputError) as caught:
        budgets(data, layout)
    assert str(caught.value).count("\n") <= 1
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return str(caught.value)


def test_ways_to_name_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    Path("in/deeper").mkdir(parents=True)
    pq.write_table(TABLE, "in/b.parquet")
    pq.write_table(TABLE.slice(0, 1), "in/deeper/a.parquet")
    pq.write_table(TABLE, "in/[odd].pq")
    for noise in ("in/_SUCCESS", "in/.b.parquet.crc", "in/deeper/_metadata"):
        Path(noise).write_text("noise")
    one, few = [0.5, 1.0, 2.0], [0.5]
    assert budgets("people.parquet") == budgets(Path("people.parquet")) == budgets("~/people.parquet") == one
    assert budgets("in/*.parquet") == budgets(["in/b.parquet"]) == budgets("in/[odd].pq") == one
    assert budgets("in/**/*.parquet") == budgets(["in/b.parquet", "in/deeper/a.parquet"]) == one + few
    assert budgets("in") == one + one + few
    assert budgets(["in/deeper", Path("people.parquet")]) == few + one


def test_files_that_are_not_there() -> None:
    Path("nothing").mkdir()
    assert refusal("nobody.parquet") == "no file matches 'nobody.parquet'"
    assert refusal("nobody-*.csv") == "no file matches 'nobody-*.csv'"
    assert refusal(["people.csv", "nobody.csv"]) == "no file matches 'nobody.csv'"
    assert refusal("poeple.csv") == "no file matches 'poeple.csv'; did you mean 'people.csv'?"
    assert refusal("./people.cvs") == "no file matches './people.cvs'; did you mean './people.csv'?"
    assert refusal("nowhere/people.csv") == "no file matches 'nowhere/people.csv'"
    assert refusal("nothing") == "there is no file in the folder 'nothing'"
    assert refusal("-").startswith("no file matches '-'; standard input cannot be used")


def test_nobody_is_counted_twice() -> None:
    os.symlink("people.csv", "alias.csv")
    os.link("people.csv", "hard.csv")
    twice = ["people.csv", "people.csv"], ["people.csv", "p*.csv"], ["people.csv", "alias.csv"], "*.csv"
    for names in (*twice, ["people.csv", "hard.csv"], ["alias.csv", "hard.csv"]):
        assert refusal(names) == "a file is named twice; nobody may be counted twice"


def test_equal_files_are_two() -> None:
    Path("other.csv").write_text(TEXT)
    assert budgets(["people.csv", "other.csv"]) == [0.5, 1.0, 2.0] * 2


def test_where_files_have_no_numbers_their_paths_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    os.symlink("people.csv", "alias.csv")
    plain = os.stat

    def numberless(path: Any, **options: Any) -> os.stat_result:
        found = plain(path, **options)
        return os.stat_result((found[0], 0, *found[2:10]))

    monkeypatch.setattr(os, "stat", numberless)
    Path("other.csv").write_text(TEXT)
    assert find_paths(["people.csv", "other.csv"]) == ["people.csv", "other.csv"]
    with pytest.raises(InvalidInputError, match="a file is named twice"):
        find_paths(["people.csv", "alias.csv"])


def test_unknown_formats() -> None:
    for name in ("people.xlsx", "people", "people.parquet.gz", "people.gz"):
        Path(name).write_text(TEXT)
        assert refusal(name).startswith(f"{name} has an unknown format; save it as CSV or Parquet. Known formats are ")
    assert refusal(["people.csv", "people.parquet"]) == "files must be of one format; got CSV, Parquet"


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv.gz", "csv.zst"])
def test_files_of_another_format_or_none(suffix: str) -> None:
    name = f"broken.{suffix}"
    Path(name).write_bytes(b"")
    assert refusal(name) == f"{name} is empty"
    Path(name).write_bytes(b"secret \x00\xff not what it says\n" * 9)
    assert refusal(name).startswith(f"{name} cannot be read as")


@pytest.mark.parametrize("name", ["people.parquet", "people.arrow"])
def test_damaged_files(name: str) -> None:
    whole = bytearray(Path(name).read_bytes())
    whole[8 : len(whole) // 2] = b"\x07" * (len(whole) // 2 - 8)
    Path(name).write_bytes(whole)
    assert refusal(name).endswith(("cannot be read as Parquet", "cannot be read as Arrow"))
    Path(name).write_bytes(whole[: len(whole) // 2])
    assert refusal(name).endswith(("cannot be read as Parquet", "cannot be read as Arrow"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read everything")
def test_files_that_may_not_be_read() -> None:
    Path("people.csv").chmod(0)
    assert refusal("people.csv") == "people.csv cannot be read: Permission denied"


def test_columns_that_some_files_lack() -> None:
    pq.write_table(TABLE.rename_columns(["incomes", "epsilon", "note"]), "people2.parquet")
    assert refusal("people*.parquet") == (
        "people2.parquet has no column 'income'; did you mean 'incomes'?\nIts columns: incomes, epsilon, note"
    )


def test_columns_of_other_types() -> None:
    pq.write_table(TABLE.set_column(0, "income", pa.array([1, 2, 3])), "people2.parquet")
    assert budgets("people*.parquet") == [0.5, 1.0, 2.0] * 2
    pq.write_table(TABLE.set_column(0, "income", pa.array(["1", "2", "3"])), "people3.parquet")
    assert refusal("people*.parquet") == (
        "value='income' must be a column of numbers; its type is string. "
        "For the share of one of its entries, use equals='yes'"
    )


def replace(name: str, content: bytes, modified: int) -> None:
    Path("new").write_bytes(content)
    os.utime("new", ns=(0, modified))
    os.replace("new", name)


@pytest.mark.parametrize("name", ["people.parquet", "people.arrow", "people.csv"])
def test_files_that_change_between_passes(name: str) -> None:
    source = open_table(name, PLAIN)
    before, times = Path(name).read_bytes(), os.stat(name)
    assert len(list(source.batches())) == 1
    changes: list[Any] = [
        lambda: Path(name).write_bytes(before + b"4,4,4\n"),
        lambda: os.utime(name, ns=(times.st_atime_ns, times.st_mtime_ns + 1)),
        lambda: replace(name, before, times.st_mtime_ns),
        lambda: os.remove(name),
    ]
    for change in changes:
        change()
        with pytest.raises(InvalidInputError, match=r"changed while it was being read|cannot be read: No such file"):
            list(source.batches())
        Path(name).write_bytes(before)


def test_a_file_that_changes_within_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdpmean.sources.files.parquet._BATCH", 1)
    monkeypatch.setattr("pdpmean.sources.files.source.SMALLEST_BATCH", 1)
    stream = open_table("people.parquet", PLAIN).batches()
    next(stream)
    os.utime("people.parquet", ns=(0, 1))
    with pytest.raises(InvalidInputError, match="changed while it was being read"):
        list(stream)


def test_only_the_columns_that_are_needed_are_read() -> None:
    wide = TABLE.append_column("odd", pa.array([[1], [2], [3]])).append_column("odd", pa.array([1, 2, 3]))
    with pa.ipc.new_file("wide.arrow", wide.schema) as writer:
        writer.write_table(wide)
    assert budgets("wide.arrow") == [0.5, 1.0, 2.0]
    assert refusal("wide.arrow", Layout("odd", "epsilon")) == "wide.arrow has two columns 'odd'; rename one"


def test_records_are_counted_where_they_can_be() -> None:
    assert open_table("people.parquet", PLAIN).rows == 3
    source = open_table("people.csv", PLAIN)
    assert source.rows is None
    list(source.batches())
    assert source.rows == 3


def test_small_batches_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdpmean.sources.files.source.SMALLEST_BATCH", 5)
    table = pa.concat_tables([TABLE] * 7).combine_chunks()
    with pa.ipc.new_file("people.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    assert [batch.budgets.size for batch in open_table("people.arrow", PLAIN).batches()] == [6, 6, 6, 3]


def test_a_pass_that_is_given_up_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdpmean.sources.files.parquet._PIECE", 1)
    monkeypatch.setattr("pdpmean.sources.files.source.SMALLEST_BATCH", 1)
    pq.write_table(pa.concat_tables([TABLE] * 50), "people.parquet", row_group_size=1)
    before = threading.active_count()
    stream: Iterator[Any] = open_table("people.parquet", PLAIN).batches()
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


def test_a_large_batch_of_an_arrow_file_is_mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"income": np.arange(2.0**17), "epsilon": np.ones(2**17)})
    with pa.ipc.new_file("large.arrow", table.schema) as writer:
        writer.write_table(table)
    monkeypatch.setattr("pdpmean.sources.files.arrow._LARGE", 2**16)
    monkeypatch.setattr("pdpmean.sources.files.arrow._PIECE", 2**13)
    before = pa.total_allocated_bytes()
    stream = open_table("large.arrow", PLAIN).batches()
    assert np.array_equal(next(stream).values[:3], [0, 1, 2])
    assert pa.total_allocated_bytes() - before < 2**16
    assert sum(batch.budgets.size for batch in stream) < 2**17


def test_a_seed_keeps_the_same_records_however_threads_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of forty streams, each with coins of its own."""
    monkeypatch.setattr("pdpmean.sources.files.parquet._PIECE", 50)
    table = pa.table({"income": np.arange(2000.0), "epsilon": np.ones(2000)})
    pq.write_table(table, "parts.parquet", row_group_size=50)
    source, rule = open_table("parts.parquet", PLAIN), thinning_of(BOUNDED, 1, cap=1.0, density=0.5)
    first, again, other = (source.sample(rule, Randomness.seeded(seed)).values for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert (np.diff(first) > 0).all(), "in order"
    assert len({tuple(first[first // 50 == part] % 50) for part in range(40)}) == 40
