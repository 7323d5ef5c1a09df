"""Whoever sees everything but the data sees released numbers alone.

The same numbers are released of data sets that have nothing in common. Results, pickles, warnings, progress, the rules
of all passes, and what a command prints, writes and ends with are then the same to the last byte, wherever the records
come from.
"""

from __future__ import annotations

import math
import pickle
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from observer import (
    GROUPS,
    MANY,
    RELEASES,
    SIGNALLING,
    SOURCES,
    TABLES,
    Handed,
    Release,
    all_of,
    columns_by,
    named,
    run_command,
    seen,
)
from rude import boxed, rude_column

from pdpmean import GroupedEstimate
from pdpmean.passes.thinning import Thinning
from pdpmean.sources import merge

pytestmark = pytest.mark.usefixtures("remembered_plans")

Hand = Callable[[str, str], Handed]
CONTRADICTED = ("groups", "so many that few are located", "any shape")  # what is released there is of no population
OF_OBJECTS = ("groups", "equal to an entry")


@pytest.fixture(scope="module")
def handed(tmp_path_factory: pytest.TempPathFactory) -> Hand:
    """The table of a name in a source of a name; made once."""
    return cache(lambda source, name: SOURCES[source](TABLES[name], tmp_path_factory.mktemp("people")))


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("source", SOURCES)
def test_records_are_invisible_in_the_unbounded_model(source: str, release: str, handed: Hand) -> None:
    found = [seen(handed(source, name), RELEASES[release]) for name in TABLES if name != MANY]
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("release", ["groups", "any shape"])
@pytest.mark.parametrize("source", ["Arrow", "pandas", "CSV", "Parquet"])
def test_rows_of_people_are_invisible_in_the_unbounded_model(
    source: str, release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether rows are few or many, of one person or of several, or nobody's; many go to the disk."""
    monkeypatch.setattr(merge, "_HELD", 100)
    asked = replace(RELEASES[release], options={**RELEASES[release].options, "person": "id", "rows": "mean"})
    found = []
    for name in ("nobody", "one", "some", "strange"):
        (tmp_path / name).mkdir()
        ids = np.arange(TABLES[name]["income"].size) // 3
        columns = {**TABLES[name], "id": np.where(ids == 1, "", ids.astype(str))}
        found.append(seen(SOURCES[source](columns, tmp_path / name), asked))
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("source", SOURCES)
def test_text_entries_are_invisible_in_the_unbounded_model(source: str, tmp_path: Path) -> None:
    """Entries that are compared with one, whether some, all or none of them read as numbers."""
    found = []
    for name, entries in {"words": ["1", "x", "", "NA"], "numbers": ["1", "2"], "none": []}.items():
        (tmp_path / name).mkdir()
        columns = {
            "income": np.array(entries, "U5"),
            "epsilon": np.ones(len(entries)),
            "region": np.array(entries, "U5"),
        }
        found.append(seen(SOURCES[source](columns, tmp_path / name), RELEASES["equal to an entry"]))
    assert all(one == found[0] for one in found)


def test_unbounded_columns_of_objects(tmp_path: Path) -> None:
    """Columns that may hold anything, and do: of a pandas frame, and lists."""
    frames, lists = [], []
    for entries in ([], ["x", None, 7], rude_column(60)):
        columns = {"income": entries, "epsilon": entries[::-1], "region": entries[30:] + entries[:30]}
        frame = pd.DataFrame({name: pd.Series(boxed(column), dtype=object) for name, column in columns.items()})
        frames.append([seen(named(frame), RELEASES[name]) for name in OF_OBJECTS])
        lists.append([seen(columns_by(list)(columns, tmp_path), RELEASES[name]) for name in OF_OBJECTS])
    assert all(one == frames[0] for one in frames)
    assert all(one == lists[0] for one in lists)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("source", SOURCES)
def test_records_that_need_compiled_loops_are_invisible_in_the_unbounded_model(
    source: str, release: str, handed: Hand
) -> None:
    some, many = (seen(handed(source, name), RELEASES[release]) for name in ("some", MANY))
    assert many == some


def thinning_of(sight: list[Any]) -> Thinning:
    """The rule of the sample."""
    (rule,) = (pickle.loads(rule) for name, rule in sight[-1] if name == "sample")
    assert isinstance(rule, Thinning)
    return rule


def test_the_releases_are_as_different_as_they_say(handed: Hand) -> None:
    sights = {name: seen(handed("arrays", "some"), release) for name, release in RELEASES.items()}
    result = pickle.loads(sights["groups"][0])
    assert isinstance(result, GroupedEstimate)
    assert list(result.refused) == ["south"]
    sampled = {name: sight for name, sight in sights.items() if any(step == "sample" for step, _ in sight[-1])}
    assert sights.keys() - sampled.keys() == {"known bounds", "known bounds of groups", "equal to an entry"}
    assert list(pickle.loads(sights["known bounds of groups"][0]).refused) == ["south"]
    all_located = {name: bool((thinning_of(sight).largest[:1] == 1).all()) for name, sight in sampled.items()}
    assert [name for name, all_of_them in all_located.items() if not all_of_them] == [
        "so many that few are located",
        "groups, so many that few are located",
    ]


def test_another_number_is_another_sight(handed: Hand) -> None:
    release = RELEASES["groups"]
    other = replace(release, script=[*release.script[:-3], 131.0, *release.script[-2:]])
    first, second = (seen(handed("arrays", "some"), one) for one in (release, other))
    assert [one == two for one, two in zip(first, second, strict=True)][:2] == [False, False]


# What is released of two groups whose budgets are public, by the options asked for.
OF_TWO_GROUPS: dict[str, tuple[dict[str, Any], Release]] = {
    "gaussian": ({"shape": "gaussian"}, Release([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], medians=((3.5, 4.5), (0.7, 0.9)))),
    "any": ({}, Release([9.0, *2 * [1.0, 2.0, 3.0, 4.0]], medians=((3.5, 4.5),))),
    "one bound": ({"bounds": (0.0, None)}, Release([9.0, *2 * [1.0, 2.0, 3.0, 4.0]], medians=((3.5, 4.5),))),
    "two bounds": ({"bounds": (0.0, 9.0)}, Release([9.0, *2 * [1.0, 2.0, 3.0, 4.0]], medians=((3.5, 4.5),))),
    "two bounds and little else": (
        {"bounds": (0.0, 1.0), "share": 1 / 200},
        Release([1.0, 2.0, 0.0, 3.0, 4.0, 5.0, 0.0, 6.0], medians=()),
    ),
}


@pytest.mark.parametrize("shape", OF_TWO_GROUPS)
def test_values_are_invisible_in_the_bounded_model(shape: str) -> None:
    """Budgets and groups are public: what is released are a few numbers a group, after where it lies."""
    budgets, regions = np.full(600, 32.0), np.array(["north", "south"] * 300)
    columns: list[Any] = [
        np.random.default_rng(1).normal(size=600),
        np.full(600, SIGNALLING),
        np.array([math.inf, -math.inf, 5e-324] * 200),
        [None, "x", 10**400, [1], {}, object()] * 100,
        pd.Series([1, "x", None] * 200, dtype=object),
        np.ma.masked_equal(np.arange(600), 7),
        rude_column(600),
        pd.Series(boxed(rude_column(600)), dtype=object),
    ]
    options, release = OF_TWO_GROUPS[shape]
    found = [all_of(release, values, budgets, by=regions, groups=GROUPS, **options) for values in columns]
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize(
    "release",
    ["groups", "so many that few are located", "any shape", "one bound", "known bounds", "equal to an entry"],
)
def test_records_are_invisible_on_the_command_line(
    release: str, handed: Hand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[list[Any]] = []
    for name in TABLES:
        (tmp_path / name).mkdir()
        shutil.copy(handed("CSV", name).data[0], tmp_path / name)
        monkeypatch.chdir(tmp_path / name)
        ended = run_command(RELEASES[release])
        files = sorted(path.name for path in Path().iterdir())
        found.append([ended.exit_code, ended.stdout, ended.stderr, Path("page.html").read_bytes(), files])
    assert all(one == found[0] for one in found)
    assert found[0][0] == (3 if release in CONTRADICTED else 0)
    assert ("refused: 1 of 2 groups" in str(found[0][2])) == RELEASES[release].grouped
    assert found[0][4] == ["page.html", "people.csv"]
