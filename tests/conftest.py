"""Tests side by side, `pytest -n 2`: those that start Spark go to one worker, so that it starts once.

How long an example takes decides nothing: a busy machine is no failure.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from hypothesis import Phase, settings
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark's workers, whichever test starts them first

settings.register_profile("patient", deadline=None)
settings.register_profile("no shrinking", deadline=None, phases=(Phase.explicit, Phase.generate))
settings.load_profile("patient")


class OneSpark(LoadScopeScheduling):  # type: ignore[misc]
    """Every test by itself, but for those of Spark."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if "spark" in nodeid else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneSpark:
    return OneSpark(config, log)
