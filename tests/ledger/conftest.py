"""Ledgers for tests: every test that takes one runs on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from postgres_server import Server, running_server

from pdpmean.ledger.ledger import Ledger


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with running_server() as found:
        yield found


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: Any, tmp_path: Path) -> str:
    """Where an empty ledger can be made."""
    if request.param == "sqlite":
        return str(tmp_path / "people.db")
    server: Server = request.getfixturevalue("server")
    return server.new_ledger()


@pytest.fixture
def ledger(where: str) -> Iterator[Ledger]:
    with Ledger(where) as made:
        yield made
