"""Completion: shells are offered commands, options and choices."""

from __future__ import annotations

import pytest

from .processes import run_process


def completed(line: str) -> list[str]:
    """What bash is offered for the last word of a line."""
    words = line.split(" ")
    found = run_process(_PDPMEAN_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1))
    return found.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("pdpmean ", {"estimate", "plan", "compare", "demo", "ledger"}),
        ("pdpmean est", {"estimate"}),
        ("pdpmean estimate --bu", {"--budget", "--budget-for-all", "--budget-min", "--budget-max"}),
        ("pdpmean plan --model ", {"bounded", "unbounded"}),
        ("pdpmean estimate --shape a", {"any"}),
    ],
)
def test_bash_is_offered_what_fits(line: str, offered: set[str]) -> None:
    assert set(completed(line)) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_its_script(shell: str) -> None:
    shown = run_process("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    sourced = run_process(_PDPMEAN_COMPLETE=f"source_{shell}")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert f"_PDPMEAN_COMPLETE=complete_{shell}" in shown.stdout
    assert sourced.stdout.strip() == shown.stdout.strip()
