"""Running commands in this process."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from typer.testing import CliRunner, Result

from pdpmean.cli import app

Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    """Run a command: `run("plan", "--tiers", "0.1:5000")`; `exit_code`, `stdout` and `stderr` tell what came of it."""
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words], prog_name="pdpmean")
