"""Memory: freed memory is kept by the process, and not returned to the system each time.

Work on many groups allocates and frees arrays of some megabytes again and again. If the C library returns each to the
system, every page must be mapped and zeroed again at its next use, which may take longer than the arithmetic.
"""

from __future__ import annotations

from functools import cache

import numpy as np

__all__ = ["keep_freed_memory"]

_MOST = 31 * 2**20  # bytes; the C library learns from blocks of less than 32 MB


@cache
def keep_freed_memory() -> None:
    """From now on, the process keeps some tens of megabytes of freed memory, where the C library is glibc.

    When a large block is freed for the first time, glibc takes it that others of the size will follow, and keeps up to
    twice as much. This block is never written to, so that it costs next to nothing.
    """
    np.empty(_MOST, dtype=np.uint8)
