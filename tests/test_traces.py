"""What is on disk after an estimate does not depend on private data.

Neither on how many records there are, where that is private, nor, through what was compiled for them, on what the
records hold.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numba
import numpy as np
import pytest
from footprint import Footprint, footprint, install, run_there
from numba import types
from observer import MANY

from pdpmean import InsufficientBudgetError, Randomness, estimate_mean
from pdpmean.core import compiled, traces
from pdpmean.core.compiled import Loop
from pdpmean.core.types import Floats

SIZES = (["nobody"], ["one", "some"], [MANY])  # of the tables of each process
ESTIMATES = """
import os, sys
from pathlib import Path
from observer import RELEASES, SOURCES, TABLES, Handed, run_command, seen

for folder in map(Path, sys.argv[1:]):
    columns = TABLES[folder.name]
    for source, release in [("arrays", "no groups"), ("Parquet", "groups"), ("CSV", "any shape")]:
        seen(SOURCES[source](columns, folder), RELEASES[release])

    # Groups named by numbers, and one budget for all.
    columns = {"income": columns["income"], "region": (columns["region"] == "south").astype("int32")}
    table = SOURCES["Arrow"](columns, folder).data[0]
    seen(Handed((table, 64.0), "region", {"value": "income"}, groups=[0, 1]), RELEASES["groups"])

    os.chdir(folder)
    assert run_command(RELEASES["no groups"]).exit_code in (0, 3)  # what the script releases may contradict itself
"""


def test_how_many_records_there_are_leaves_no_trace(tmp_path: Path) -> None:
    install(tmp_path / "installed")
    left: list[Footprint] = []
    for names in SIZES:
        folders = [tmp_path / name for name in names]
        for folder in folders:
            folder.mkdir()
        run_there(tmp_path / "installed", "-c", ESTIMATES, *map(str, folders))
        left.append(footprint(tmp_path / "installed"))
    assert any(path.endswith(f"estimate.{sys.implementation.cache_tag}.pyc") for path in left[0])
    for one in left:  # nobody's records leave as much as those of many
        assert set(one) - set(left[0]) == set()
        assert one == left[0]


@pytest.mark.parametrize(
    "options", [{}, {"model": "unbounded", "budget_range": (1.0, 64.0)}, {"person": [], "rows": "mean"}]
)
def test_traces_are_left_where_the_number_of_rows_is_public(options: dict[str, Any]) -> None:
    with mock.patch.object(traces, "_discreet", new=False):
        with pytest.raises(InsufficientBudgetError):
            estimate_mean([], [], randomness=Randomness.seeded(1), **options)
        assert traces.may_leave_traces() == (not options)


ROWS = """
import sys
import numpy as np
import pyarrow as pa
from pdpmean import estimate_mean, plan_mean

ids = np.concatenate([np.arange(300), np.zeros(int(sys.argv[1]), dtype=int)])
columns = {"id": ids, "hours": ids / 300, "region": (ids % 2).astype("int32"), "epsilon": np.ones(ids.size)}
asked = {"budget": "epsilon", "person": "id", "rows": "mean", "by": "region", "groups": [0, 1], "bounds": (0, 1)}
plan_mean(pa.table(columns), **asked)
estimate_mean(pa.table(columns), value="hours", **asked)
"""


def test_how_many_rows_a_person_has_leaves_no_trace(tmp_path: Path) -> None:
    """In the bounded model, too, where the number of people is public."""
    left = []
    for rows in ("10", "140000"):
        install(tmp_path / "installed")
        run_there(tmp_path / "installed", "-c", ROWS, rows)
        left.append(footprint(tmp_path / "installed"))
    assert left[0] == left[1]


# What was compiled before is read, and nothing is added to it

LOOP = """
def total(numbers):
    found = 0.0
    for number in numbers:
        found += number
    return found
"""
DOUBLES = types.Array(types.float64, 1, "C", readonly=True)


@pytest.fixture
def make_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Loop]:
    """The same loop again and again, as another process would compile it, and an empty folder for what is kept."""
    (tmp_path / "total.py").write_text(LOOP)
    monkeypatch.syspath_prepend(tmp_path)
    total = importlib.import_module("total").total
    monkeypatch.delitem(sys.modules, "total")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kept"))
    return lambda: Loop(total, [(DOUBLES,)])


def of_ones(loop: Loop) -> tuple[float, int]:
    """The sum of three ones, and how many loops were read from disk for it."""
    found = loop(np.ones(3))
    return found, sum(loop.compiled.stats.cache_hits.values())


def test_loops_are_kept_where_that_is_no_trace(make_loop: Callable[[], Loop], tmp_path: Path) -> None:
    with mock.patch.object(traces, "_discreet", new=False):
        assert of_ones(make_loop()) == (3.0, 0)
        assert len(list(tmp_path.glob("kept/*/*.nbc"))) == 1
        assert of_ones(make_loop()) == (3.0, 1)


def test_a_loop_is_compiled_again_where_any_file_of_its_room_has_changed(make_loop: Callable[[], Loop]) -> None:
    with mock.patch.object(traces, "_discreet", new=False):
        assert of_ones(make_loop()) == (3.0, 0)
        with mock.patch.object(compiled, "_stamp_of_room", return_value="other constants"):
            assert of_ones(make_loop()) == (3.0, 0)
            assert of_ones(make_loop()) == (3.0, 1)


def test_no_loop_is_kept_where_that_is_a_trace(make_loop: Callable[[], Loop], tmp_path: Path) -> None:
    with mock.patch.object(traces, "_discreet", new=True):
        assert of_ones(make_loop()) == (3.0, 0)
    assert not (tmp_path / "kept").exists()
    with mock.patch.object(traces, "_discreet", new=False):
        make_loop().compiled  # noqa: B018 (compiles)
    kept = footprint(tmp_path / "kept")
    with mock.patch.object(traces, "_discreet", new=True):
        assert of_ones(make_loop()) == (3.0, 1)
    assert footprint(tmp_path / "kept") == kept


def apart(numbers: Floats) -> Floats:
    return np.column_stack([numbers, numbers])[:, 0]


def read_only(numbers: Floats) -> Floats:
    numbers.flags.writeable = False
    return numbers


def misplaced(numbers: Floats) -> Floats:
    return np.frombuffer(b"x" + numbers.tobytes(), np.float64, offset=1)


@pytest.mark.parametrize("lay_out", [np.copy, apart, read_only, misplaced])
def test_a_loop_is_compiled_once_however_its_columns_lie(
    lay_out: Callable[[Floats], Floats], make_loop: Callable[[], Loop], tmp_path: Path
) -> None:
    """Which of these a column is may depend on its entries: of Arrow's, whether one is missing."""
    with mock.patch.object(traces, "_discreet", new=False):
        loop = make_loop()
        assert loop(lay_out(np.ones(5))) == 5.0
        assert loop(np.broadcast_to(2.0, 5)) == 10.0
    assert loop.compiled.signatures == [(DOUBLES,)]
    assert len(list(tmp_path.glob("kept/*/*.nbc"))) == 1


def test_missing_values_leave_no_trace_where_budgets_are_public(tmp_path: Path) -> None:
    """Arrow columns with and without them are arrays of two kinds."""
    script = """
import numpy as np, pyarrow as pa, sys
from pdpmean import estimate_mean
values = pa.array(np.ones(2**17), mask=np.arange(2**17) < int(sys.argv[1]))
estimate_mean(pa.table({"income": values}), 1.0, value="income")
"""
    install(tmp_path)
    left: list[Footprint] = []
    for missing in ("0", "1"):
        run_there(tmp_path, "-W", "ignore", "-c", script, missing, bytecode=False)
        left.append(footprint(tmp_path))
    assert any(path.endswith(".nbc") for path in left[0])
    assert left[1] == left[0]


# Bytecode


def test_bytecode_is_a_trace_only_where_that_is_private(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    seen = []
    for discreet in (False, True):
        with mock.patch.object(traces, "_discreet", new=discreet), traces.compiling():
            seen.append(sys.dont_write_bytecode)
    assert seen == [False, True]
    assert sys.dont_write_bytecode is False
