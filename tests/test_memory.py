"""Freed memory is kept: work on many groups must not map and zero every page again."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# Three arrays of a megabyte each, again and again; the faults are counted after a first round.
_FAULTS = """
import resource
import numpy as np
from pdpmean.core.memory import keep_freed_memory

def work():
    arrays = [np.ones(2**17) for _ in range(3)]

{}
work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    work()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(before: str) -> int:
    command = [sys.executable, "-c", _FAULTS.format(before)]
    return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries decide by themselves")
def test_pages_are_mapped_once() -> None:
    assert faults("keep_freed_memory()") < 300 < 5000 < faults("")
