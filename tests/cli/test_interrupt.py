"""Ctrl-C: one line, exit code 130, and no file half written."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

from .processes import COMMAND

LONG = ("compare", "--tiers", "0.1:20000", "--runs", "100000")


def test_an_interrupt_leaves_one_line_and_no_file(tmp_path: Path) -> None:
    words = [*COMMAND, *LONG, "--plot", str(tmp_path / "out.svg")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not list(tmp_path.iterdir()):
            time.sleep(0.02)  # until its part of a file is there: then it is at work
        process.send_signal(signal.SIGINT)
        written, said = process.communicate(timeout=20)
    assert (process.returncode, written, said) == (130, "", "pdpmean: interrupted; nothing was written\n")
    assert list(tmp_path.iterdir()) == []
