"""Tests side by side, `pytest -n 2`: those that start Spark go to one worker, so that it starts once.

Nothing is decided by chance: noise is that of the test's name, unless it is marked `real_noise`, and examples are the
same in every run. How long an example takes decides nothing either: a busy machine is no failure.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import Phase, register_random, settings
from repeatable import MAKER, repeatable_noise
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark's workers, whichever test starts them first

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


class OneSpark(LoadScopeScheduling):  # type: ignore[misc]
    """Every test by itself, but for those of Spark."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if "spark" in nodeid else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneSpark:
    return OneSpark(config, log)
