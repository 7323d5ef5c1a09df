"""Tests side by side, `pytest -n 2`: those that start Spark go to one worker, so that it starts once.

Nothing is decided by chance: noise is that of the test's name, unless it is marked `real_noise`, and examples are the
same in every run. How long an example takes decides nothing either: a busy machine is no failure.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import Phase, register_random, settings
from repeatable import MAKER, repeatable_noise
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

# Spark, whichever test starts it first: its workers, and Java that compiles quickly what soon ends.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
for variable in ("SPARK_LAUNCHER_OPTS", "SPARK_SUBMIT_OPTS"):
    os.environ.setdefault(variable, "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

settings.register_profile("patient", deadline=None, derandomize=True)
settings.register_profile("no shrinking", deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate))
settings.load_profile("patient")
register_random(MAKER)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    if item.get_closest_marker("real_noise"):
        return (yield)
    with repeatable_noise(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Iterator[Any]:
    if fixturedef.scope == "function":
        return (yield)
    with repeatable_noise(f"{fixturedef.baseid}::{fixturedef.argname}[{getattr(request, 'param_index', 0)}]"):
        return (yield)


@pytest.fixture
def remembered_plans() -> Iterator[None]:
    import remembered  # only where it is needed: each planted bug imports all of this again

    with remembered.remembered_plans():
        yield


# Where single tests take long: they begin first, so that none is left alone at the end.
_FIRST = (
    "spark",
    "tests/test_traces.py",
    "tests/planted/",
    "tests/exact/test_paper.py",
    "tests/test_examples.py",
    "tests/test_docs.py",
    "tests/exact/",
    "tests/test_plan.py",
    "tests/test_estimate.py",
    "tests/test_hostile.py",
    "tests/test_observer.py",
)
_TOGETHER = 8  # tests that a worker is given at once


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        return next((number for number, part in enumerate(_FIRST) if part in item.nodeid), len(_FIRST))

    items.sort(key=place)


def pytest_collection_finish() -> None:
    gc.freeze()  # thousands of tests stay until the end: no search for garbage need look at them


class OneSpark(LoadScopeScheduling):  # type: ignore[misc]
    """A few tests at a time, in their order, but for those of Spark, which are one worker's."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)
        self._scopes: dict[str, str] = {}

    def _split_scope(self, nodeid: str) -> str:
        if "spark" in nodeid:
            return "spark"
        return self._scopes.setdefault(nodeid, f"part {len(self._scopes) // _TOGETHER}")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneSpark:
    return OneSpark(config, log)
