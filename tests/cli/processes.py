"""Commands in processes of their own."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Mapping

COMMAND = [sys.executable, "-m", "pdpmean"]


def run_process(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The finished process, with what it wrote; neither of its outputs is a terminal."""
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, env=_with(environment), check=False)


def run_in_terminal(*words: str) -> tuple[str, str]:
    """Standard output, which is a pipe, and what a terminal behind standard error shows."""
    ours, theirs = pty.openpty()
    environment = _with({"TERM": "xterm", "COLUMNS": "120"})
    with subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b"".join(iter(lambda: _read(ours), b""))
        assert process.stdout is not None
        written = process.stdout.read()
    os.close(ours)
    return written.decode(), shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # its other end is closed
        return b""


def _with(environment: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, **environment}
