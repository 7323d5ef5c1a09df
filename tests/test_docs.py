"""What the documents say is true: their code runs, their links lead somewhere, the tests they name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TEST_SOURCES = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_tests_and_files_exist(page: Path) -> None:
    text = page.read_text()
    missing = [name for name in re.findall(r"`(test_\w+)`", text) if f"def {name}(" not in TEST_SOURCES]
    missing += [
        path for path in re.findall(r"`((?:tests|benchmarks|docs|src)/[\w./-]+)`", text) if not (ROOT / path).exists()
    ]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page: Path) -> None:
    namespace: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
        if ">>>" not in block:
            exec(compile(block, str(page), "exec"), namespace)
