"""Progress: on terminals alone, off when asked, and without counts where counts are private."""

from __future__ import annotations

import io
import sys

import pytest

from pdpmean.cli.progress import progress

from .processes import run_in_terminal, run_process

COMPARE = ("compare", "--tiers", "0.1:4000,1:1000", "--runs", "12")


class Terminal(io.StringIO):
    """A terminal that remembers."""

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, *steps: tuple[str, int, int | None], counts: bool = True) -> str:
    """What these steps show on a terminal."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("pdpmean.cli.progress._PATIENCE", 0.0)
    with progress(quiet=False, counts=counts) as hook:
        assert hook is not None
        for step in steps:
            hook(*step)
    return terminal.getvalue()


def test_counts_and_steps_show(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, ("census", 500, 2000), ("sum", 1500, 2000))
    assert "counting budgets" in text
    assert "1,500 of 2,000 rows" in text


def test_an_unknown_total_shows_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "1,234 rows" in shown(monkeypatch, ("census", 1234, None))


def test_private_counts_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, ("census", 37, 100), counts=False)
    assert "37 %" in text
    assert "rows" not in text
    assert "of 100" not in text
    assert "a second" not in text


def test_quick_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with progress(quiet=False) as hook:
        assert hook is not None
        hook("sum", 1, 2)
    assert terminal.getvalue() == ""


def test_none_is_wanted_when_quiet_or_piped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress(quiet=True) as hook:
        assert hook is None
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress(quiet=False) as hook:
        assert hook is None


def test_a_terminal_shows_progress_and_a_pipe_does_not() -> None:
    piped = run_process(*COMPARE)
    written, on_terminal = run_in_terminal(*COMPARE)
    quiet, on_quiet_terminal = run_in_terminal(*COMPARE, "--quiet")
    assert "simulating" in on_terminal
    assert "runs" in on_terminal
    assert (piped.stderr, on_quiet_terminal) == ("", "")
    assert piped.stdout == written == quiet
