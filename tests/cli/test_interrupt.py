"""Ctrl-C: one line, exit code 130, and no file half written; also while modules are still imported."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .processes import COMMAND

LONG = ("compare", "--tiers", "0.1:20000", "--runs", "100000")
SAID = "pdpmean: interrupted; nothing was written\n"

# The command, in a process that gets an interrupt as soon as it looks for a certain module.
INTERRUPTED = """
import os, signal, sys
from pdpmean.__main__ import main

class Watch:
    module = sys.argv.pop(1)

    def find_spec(self, name, *others):
        if name == self.module:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Watch())
main()
"""


def run_interrupted(module: str, *words: str, ignored: bool = False) -> subprocess.CompletedProcess[str]:
    def ignore() -> None:
        if ignored:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    words = (sys.executable, "-c", INTERRUPTED, module, *words)
    return subprocess.run(words, capture_output=True, text=True, check=False, preexec_fn=ignore)


def test_an_interrupt_leaves_one_line_and_no_file(tmp_path: Path) -> None:
    words = [*COMMAND, *LONG, "--plot", str(tmp_path / "out.svg")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not list(tmp_path.iterdir()):
            time.sleep(0.02)  # until its part of a file is there: then it is at work
        process.send_signal(signal.SIGINT)
        written, said = process.communicate(timeout=20)
    assert (process.returncode, written, said) == (130, "", SAID)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "module",
    ["typer", "typer.main", "pdpmean.cli.estimate", "pdpmean.cli.demo", "pdpmean.study.what_if", "numpy", "scipy"],
)
def test_an_early_interrupt_leaves_one_line(module: str) -> None:
    found = run_interrupted(module, "plan", "--tiers", "0.1:5400,1:900")
    assert (found.stdout, found.stderr) == ("", SAID)
    assert found.returncode in (130, -signal.SIGINT)  # both are 130 in a shell


def test_an_interrupt_that_is_ignored_stays_so() -> None:
    found = run_interrupted("typer", "--version", ignored=True)
    assert (found.returncode, found.stdout.split()[0], found.stderr) == (0, "pdpmean", "")
