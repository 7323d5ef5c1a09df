"""CSV: whatever its entries are, they decide on no error, no message, and nothing about other records."""

from __future__ import annotations

import gzip
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdpmean.errors import InvalidInputError
from pdpmean.passes.batch import Batch
from pdpmean.sources.files.delimited import _Utf8
from pdpmean.sources.layout import Layout
from pdpmean.sources.opening import open_table

BOUNDED = Layout("income", "epsilon")
UNBOUNDED = Layout("income", "epsilon", public=False)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(text: str | bytes, layout: Layout = UNBOUNDED, name: str = "people.csv") -> Batch:
    Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
    batches = list(open_table(name, layout).batches())
    return batches[0] if batches else Batch(np.empty(0), np.empty(0))


def refusal(text: str | bytes, layout: Layout = BOUNDED) -> str:
    with pytest.raises(InvalidInputError) as caught:
        read(text, layout)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return str(caught.value)


def assert_columns(batch: Batch, values: list[float], budgets: list[float]) -> None:
    assert np.array_equal(batch.values, values, equal_nan=True)
    assert np.array_equal(batch.budgets, budgets, equal_nan=True)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("income,epsilon\n1.5,2\n-3,4\n", "people.csv"),
        ("income,epsilon\n1.5,2\n-3,4", "people.csv"),
        ("\ufeffincome,epsilon\r\n1.5,2\r\n-3,4\r\n", "people.csv"),
        ("income,epsilon\r1.5,2\r-3,4\r", "people.csv"),
        ('"income","epsilon"\n"1.5","2"\n"-3","4"\n', "people.csv"),
        ("income;epsilon\n1,5;2\n-3;4\n", "people.csv"),
        ("income;epsilon\n1.5;2\n-3;4\n", "people.csv"),
        ("income\tepsilon\n1.5\t2\n-3\t4\n", "people.csv"),
        ("income\tepsilon\n1.5\t2\n-3\t4\n", "people.TSV"),
        ('name,income,epsilon\n"a, b\nc",1.5,2\n"say ""so""",-3,4\n', "people.csv"),
        ("income,epsilon\n\n1.5,2\n\n\n-3,4\n\n", "people.csv"),
        ("epsilon,income\n2, 1.5\n4 ,-3\n", "people.CSV"),
        ("income,epsilon,\n1.5,2,\n-3,4,\n", "people.csv"),
        ("note, income , epsilon\nx, 1.5, 2\ny, -3, 4\n", "people.csv"),
        ("note; income; epsilon\nx; 1,5; 2\ny; -3; 4\n", "people.csv"),
    ],
)
def test_the_same_two_records(text: str, name: str) -> None:
    assert_columns(read(text, BOUNDED, name), [1.5, -3], [2, 4])


def test_spaces_after_commas_are_no_part_of_names() -> None:
    layout = Layout("income", "tier", {"low": 2, "high": 4}, by="region", groups=["north west", "south"])
    spaced = read("income, tier, region\n1.5, low, north west\n-3, high, south\n7,high ,  west\n", layout)
    assert_columns(spaced, [1.5, -3, 7], [2, 4, 4])
    assert spaced.groups is not None
    assert spaced.groups.tolist() == [0, 1, 2]
    other = read("income,tier,region\n1.5, low,south\n", Layout("income", "tier", {" low": 2}, public=False))
    assert_columns(other, [1.5], [2])  # without spaces in the first line, entries are taken as they are
    assert refusal("income, income,epsilon\n1,2,3\n") == "people.csv has two columns 'income'; rename one"


def test_thousands_of_columns() -> None:
    names = [f"c{number}" for number in range(9000)]
    text = ",".join([*names, "income", "epsilon"]) + "\n" + ",".join(map(str, range(9002))) + "\n"
    assert_columns(read(text), [9000], [9001])


def test_a_header_and_nothing_else() -> None:
    for text in ("income,epsilon", "income,epsilon\n", "income,epsilon\r\n"):
        assert_columns(read(text), [], [])
        assert_columns(read(text, BOUNDED), [], [])


def test_an_empty_line_of_a_single_column_is_a_missing_entry() -> None:
    assert_columns(read("income\n1\n\n3\n", Layout("income", 0.5)), [1, math.nan, 3], [0.5] * 3)


def test_labels_that_look_like_missing_ones() -> None:
    text = "income,epsilon,region\n1,strict,NA\n2,null,\n3,strict,null\n4,,NA\n"
    layout = Layout("income", "epsilon", {"strict": 0.1, "null": 0.2, "": 0.3}, "region", ("NA", "null"))
    batch = read(text, layout)
    assert_columns(batch, [1, 2, 3, 4], [0.1, 0.2, 0.1, 0.3])
    assert batch.groups is not None
    assert batch.groups.tolist() == [0, 2, 1, 0]


@pytest.mark.parametrize(
    ("groups", "codes"),
    [
        (["12", "16", "20"], [0, 0, 1, 2, 3, 3, 0]),
        ([20, 12], [1, 1, 2, 0, 2, 2, 1]),
        (["12", "12.0", "other"], [0, 1, 3, 3, 2, 3, 0]),
        (["other"], [1, 1, 1, 1, 0, 1, 1]),
    ],
    ids=str,
)
def test_groups_that_are_numbers_are_compared_as_numbers(groups: list[Any], codes: list[int]) -> None:
    """As entries are that `equals` asks for; a group that is written as in the file comes first."""
    layout = Layout("income", "epsilon", by="educ", groups=groups)
    rows = [f"1,1,{entry}\n" for entry in ("12", "12.0", "16.00", "2e1", "other", "", "012")]
    batch = read("income,epsilon,educ\n" + "".join(rows), layout)
    assert batch.groups is not None
    assert batch.groups.tolist() == codes


def test_groups_and_tiers_are_names_in_csv() -> None:
    batch = read("income,epsilon,region\n1,1,7\n2,2,8\n", Layout("income", "epsilon", {1: 0.5, 2: 4}, "region", (8, 7)))
    assert_columns(batch, [1, 2], [0.5, 4])
    assert batch.groups is not None
    assert batch.groups.tolist() == [1, 0]


def test_true_and_false_are_1_and_0_among_values_only() -> None:
    """Entry by entry, as pandas and R write them, whatever stands beside them."""
    entries = ["True", "FALSE", " true ", "false", "0.5", "", "NA", "yes", "tRUE", "T"]
    batch = read("income,epsilon\n" + "".join(f"{entry},1\n" for entry in entries))
    assert_columns(batch, [1, 0, 1, 0, 0.5, *[math.nan] * 5], [1] * 10)
    assert_columns(read("income,epsilon\nTrue,True\n"), [1], [math.nan])


NASTY = [
    "", " ", "secret", "NA", "1_000", "12:30", "2020-01-01", "true", "0x1F", "1e999", "-1e999", "nan", "inf", "1,5e3",
    '"', '""', "'", "\\", "\x00", "\u2028", "é", "9" * 400, "1" + "0" * 5000, "#", "=1+1", "1;2",
]  # fmt: skip


@pytest.mark.parametrize("layout", [BOUNDED, UNBOUNDED], ids=["bounded", "unbounded"])
@pytest.mark.parametrize("entry", NASTY, ids=ascii)
def test_an_entry_changes_nothing_but_itself(entry: str, layout: Layout) -> None:
    quoted = '"' + entry.replace('"', '""') + '"'
    batch = read(f"income,epsilon,note\n1,2,x\n{quoted},0.5,{quoted}\n3,4,y\n", layout)
    assert_columns(Batch(batch.values[[0, 2]], batch.budgets), [1, 3], [2, 0.5, 4])


@pytest.mark.parametrize("place", [0, 1, 2])
@given(entry=st.binary(max_size=40).filter(lambda entry: not set(entry) & set(b',"\r\n')))
def test_any_bytes_are_data(entry: bytes, place: int) -> None:
    fields = [b"7", b"7", b"7"]
    fields[place] = entry
    batch = read(b"income,epsilon,note\n1,2,x\n" + b",".join(fields) + b"\n3,4,y\n")
    assert_columns(Batch(batch.values[[0, 2]], batch.budgets[[0, 2]]), [1, 3], [2, 4])


def test_what_is_no_utf8_is_no_error_even_in_a_row_that_is_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    text = b"income,epsilon,region\n1,2,\xe9\n\xff\xfe\n3,4,\xc3\xa9\n5,6,\xf0\x9f\x98\n"
    batch = read(text, Layout("income", "epsilon", by="region", groups=["é"], public=False))
    assert_columns(batch, [1, 3, 5], [2, 4, 6])
    assert batch.groups is not None
    assert batch.groups.tolist() == [1, 0, 1]
    assert capfd.readouterr() == ("", "")


def test_a_reader_never_gets_more_bytes_than_it_asked_for() -> None:
    Path("people.csv").write_bytes("é€😀".encode() * 99 + b"\xff\xf0\x9f" * 99)
    file = _Utf8("people.csv")
    found = list(iter(lambda: file.read(7), b""))
    assert max(map(len, found)) <= 7
    assert b"".join(found).decode().startswith("é€😀" * 99 + "?")


def test_text_cut_within_a_character(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdpmean.sources.files.delimited._BLOCK", 40)
    text = "income,epsilon,region\n" + "".join(f"{number},1,{'é€😀'}\n" for number in range(99))
    Path("people.csv").write_text(text)
    source = open_table("people.csv", Layout("income", "epsilon", by="region", groups=["é€😀"]))
    codes = [batch.groups for batch in source.batches() if batch.groups is not None]
    assert np.concatenate(codes).tolist() == [0] * 99


def test_lines_within_quotes_cut_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdpmean.sources.files.delimited._BLOCK", 64)
    Path("people.csv").write_text("income,epsilon,note\n" + "".join(f'{n},1,"a\n7,7,7\nb"\n' for n in range(200)))
    batches = open_table("people.csv", BOUNDED).batches()
    assert np.concatenate([batch.values for batch in batches]).tolist() == list(range(200))


def test_rows_with_other_numbers_of_fields() -> None:
    text = "income,epsilon\n1,2\nsecret\n3,4\n5,6,secret\n"
    assert_columns(read(text), [1, 3], [2, 4])
    assert refusal(text) == "people.csv has 1 instead of 2 fields in row 3"
    assert refusal("income,epsilon\n1,2\n5,6,secret") == "people.csv has 3 instead of 2 fields in row 3"
    assert_columns(read('income,epsilon\n1,2\n"secret,4\n5,6\n'), [1], [2])


def test_a_budget_that_is_no_number_is_missing() -> None:
    assert_columns(read("income,epsilon\n1,x\n2,\n3,-1\n", BOUNDED), [1, 2, 3], [math.nan, math.nan, -1])


def test_the_first_record_is_not_taken_for_names() -> None:
    for text in ("38.5,0.1\n40,0.2\n", "secret;38.5;0.1\n"):
        assert refusal(text) == "people.csv must start with a line of column names; its first line holds numbers"
    assert_columns(read("1,income,epsilon\n7,8,9\n"), [8], [9])


def test_text_that_is_not_utf8() -> None:
    assert refusal("income,epsilon\n1,2\n".encode("utf-16")) == "people.csv is not text in UTF-8; save it as such"


def test_misspelt_and_repeated_column_names_are_refused() -> None:
    assert refusal("incomes,epsilon\n1,2\n") == (
        "people.csv has no column 'income'; did you mean 'incomes'?\nIts columns: incomes, epsilon"
    )
    assert refusal("income,income,epsilon\n1,2,3\n") == "people.csv has two columns 'income'; rename one"


@pytest.mark.parametrize("first", ["income|epsilon", "income:epsilon", "ann|38.5|0.1", "income epsilon", "x"])
def test_a_file_with_other_separators_is_told_which_are_known(first: str) -> None:
    """The line is not quoted, since it may be a record."""
    said = refusal(f"{first}\n1|2\n")
    assert said == (
        "people.csv has no column 'income'. Only one column was found: fields must be separated by commas, semicolons "
        "or tabs"
    )


def test_a_single_column_may_be_misspelt() -> None:
    assert refusal("incomes\n1\n").startswith("people.csv has no column 'income'; did you mean 'incomes'? Only one")


def test_a_row_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdpmean.sources.files.delimited._BLOCK", 64)
    text = "income,epsilon\n" + "1,2\n" * 50 + "secret" * 99 + ",2\n"
    assert refusal(text) == "people.csv cannot be read as CSV"


def test_a_damaged_compressed_file() -> None:
    whole = gzip.compress(b"income,epsilon\n" + b"".join(b"%d,2\n" % number for number in range(9999)))
    Path("people.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidInputError, match=r"people.csv.gz cannot be read as CSV"):
        list(open_table("people.csv.gz", BOUNDED).batches())


def test_types_are_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the first block holds must not decide how the next ones are read."""
    monkeypatch.setattr("pdpmean.sources.files.delimited._BLOCK", 100)
    blocks = ["1,1\n" * 99, "x,2\n" * 99, "2020-01-01,3\n" * 99, "1.5,4\n" * 99, ",5\n" * 99]
    Path("people.csv").write_text("income,epsilon\n" + "".join(blocks))
    (batch,) = open_table("people.csv", BOUNDED).batches()
    expected = np.repeat([1, math.nan, math.nan, 1.5, math.nan], 99)
    assert_columns(batch, expected.tolist(), np.repeat([1.0, 2, 3, 4, 5], 99).tolist())


def test_memory_of_a_long_file_stays_small() -> None:
    with open("people.csv", "w") as file:
        file.write("income,epsilon,note\n")
        for _ in range(40):
            file.write(("1.25,0.5," + "x" * 100 + "\n") * 10_000)
    before, peak = pa.total_allocated_bytes(), 0
    stream: Any = open_table("people.csv", BOUNDED).batches()
    for _ in stream:
        peak = max(peak, pa.total_allocated_bytes() - before)
    assert 0 < peak < 30e6


@pytest.mark.parametrize("way", ["except ValueError: sys.exit(3)", "finally: pass"], ids=["caught", "not caught"])
def test_an_error_in_the_midst_of_a_slow_file_does_not_bring_the_process_down(way: str) -> None:
    Path("people.csv").write_text("income,tier\n1,other\n" + "3,some\n" * 20_000)
    code = (
        "import sys, time\n"
        "from pdpmean import estimate_mean\n"
        "from pdpmean.sources.files import delimited\n"
        "class Slow(delimited._Utf8):\n"
        "    def read(self, size):\n"
        "        time.sleep(0.02)\n"
        "        return super().read(size)\n"
        "delimited._BLOCK, delimited._Utf8 = 2**12, Slow\n"
        "try: estimate_mean('people.csv', value='income', budget='tier', tiers={'some': 1.0})\n"
        f"{way}\n"
    )
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=100, env=found)
    assert ended.returncode == (3 if "exit" in way else 1)
    assert b"Fatal" not in ended.stderr
