"""Work in a forked process."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable


def in_child(work: Callable[[], bytes]) -> bytes:
    """What `work` gives in a forked process."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: this process may have threads
        child = os.fork()
    if child == 0:
        try:
            os.write(writer, work())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer
