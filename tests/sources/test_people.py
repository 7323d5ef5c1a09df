"""Whether a person has two records: exact, whatever collides and however little room there is."""

from __future__ import annotations

import datetime
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdpmean.errors import InvalidInputError
from pdpmean.sources import people
from pdpmean.sources.layout import Layout
from pdpmean.sources.opening import open_table
from pdpmean.sources.people import has_repeated

LAYOUT = Layout("income", 1.0, person="id")


def is_repeated(ids: Any, size: int = 3) -> bool:
    column = ids if isinstance(ids, pa.Array) else pa.array(ids)
    return has_repeated(lambda: (column[start : start + size] for start in range(0, len(column), size)), "id")


@pytest.mark.parametrize(
    "ids",
    [
        pa.array(range(-20, 20)),
        pa.array(range(40), pa.uint8()),
        pa.array([2**64 - 1 - number for number in range(40)], pa.uint64()),
        pa.array([f"person {number}" for number in range(40)]),
        pa.array([f"person {number}" for number in range(40)], pa.large_string()),
        pa.array([f"person {number}" for number in range(40)], pa.string_view()),
        pa.array(["x" * number for number in range(40)]).dictionary_encode(),
        pa.array([uuid.UUID(int=number).bytes for number in range(40)], pa.binary(16)),
        pa.array([datetime.date(2024, 1, 1) + datetime.timedelta(number) for number in range(40)]),
        pa.array(np.arange(40.0)),
    ],
    ids=lambda ids: str(ids.type),
)
def test_one_pair_among_many(ids: pa.Array) -> None:
    assert not is_repeated(ids)
    assert not is_repeated(ids[7:])
    assert is_repeated(pa.concat_arrays([ids, ids[39:]]))
    assert is_repeated(pa.concat_arrays([ids[:1], ids]))


@given(
    st.lists(st.integers(-9, 9)) | st.lists(st.sampled_from("abcdefghijklmnopqrst")), st.sampled_from([16, 32, 2**10])
)
def test_repeated_ids_are_found_with_little_memory(ids: list[Any], room: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(people, "_HELD", room)
        patch.setattr(people, "_SUSPECTS", 2)
        assert is_repeated(pa.array(ids, pa.int64() if ids and isinstance(ids[0], int) else pa.string())) == (
            len(set(ids)) < len(ids)
        )


@pytest.mark.parametrize("room", [16, 50, 2**12])
def test_many_ids_in_little_room(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "_HELD", room)
    ids = np.random.default_rng(1).permutation(2000)
    assert not is_repeated(ids, 100)
    assert is_repeated(np.append(ids, ids[1000]), 100)
    assert is_repeated(np.append(np.full(2000, 5), ids), 100)
    assert is_repeated(np.full(2000, 5), 100)


@pytest.mark.parametrize("room", [16, 2**10])
def test_hashes_that_collide(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Different ids with one hash are told apart by themselves."""
    monkeypatch.setattr(people, "_HELD", room)
    monkeypatch.setattr(people, "_SUSPECTS", 3)
    monkeypatch.setattr(people, "hashes_of", lambda ids: np.arange(len(ids)).astype(np.uint64) // 3)
    assert not is_repeated(range(12), 12)
    assert is_repeated([*range(11), 10], 12)


def test_a_missing_id_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"person='id' must name the person of every record; record 4 has none"):
        is_repeated([1, 2, 3, 4, None, 5])


@pytest.mark.parametrize("suffix", ["parquet", "csv", "arrow"])
@pytest.mark.parametrize("repeated", [False, True])
def test_repeated_ids_are_found_across_files(tmp_path: Path, suffix: str, repeated: bool) -> None:
    for number in range(3):
        last = 0 if repeated and number == 2 else 10 * number
        ids = [*range(10 * number + 1, 10 * number + 10), last]
        table = pa.table({"income": [1.0] * 10, "id": [f"id {number}" for number in ids]})
        path = str(tmp_path / f"{number}.{suffix}")
        if suffix == "parquet":
            pq.write_table(table, path, row_group_size=3)
        elif suffix == "csv":
            table.to_pandas().to_csv(path, index=False)
        else:
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=3)
    assert open_table(str(tmp_path / f"*.{suffix}"), LAYOUT).duplicate_person() == repeated


def test_repeated_ids_are_found_in_data_frames() -> None:
    frame = pd.DataFrame({"income": [1.0, 2.0, 3.0], "id": ["a", "b", "c"]})
    assert not open_table(frame, LAYOUT).duplicate_person()
    assert open_table(pd.concat([frame, frame]), LAYOUT).duplicate_person()
    assert not open_table(frame.assign(id=[1, "1 ", "x"]), LAYOUT).duplicate_person()
    with pytest.raises(InvalidInputError, match="record 1 has none"):
        open_table(frame.assign(id=[1.0, None, 2.0]), LAYOUT).duplicate_person()


def test_ids_of_several_types(tmp_path: Path) -> None:
    for number, ids in enumerate([["1", "2"], [1, 2]]):
        pq.write_table(pa.table({"income": [1.0, 2.0], "id": ids}), tmp_path / f"{number}.parquet")
    with pytest.raises(
        InvalidInputError, match=r"person='id' has several types \(int64, string\); convert them to one"
    ):
        open_table(tmp_path, LAYOUT).duplicate_person()
    with pytest.raises(InvalidInputError, match=r"person='id' must be a column of ids; its type is list"):
        open_table(pa.table({"income": [1.0], "id": [[1]]}), LAYOUT).duplicate_person()
