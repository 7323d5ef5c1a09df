"""Arithmetic of which nobody hears: no overflow, underflow or the like becomes a warning or an error.

NumPy tells of them in the way that the caller's thread was last asked for (`np.seterr`, `np.errstate`). Here that would
tell something about an entry, or lose a result for which budget has been spent. So whatever is public is `quiet`, and
threads take that over (`threads.py`).
"""

from __future__ import annotations

import numpy as np

__all__ = ["quiet", "quietly"]


def quiet() -> np.errstate:
    """A context in which arithmetic is quiet."""
    return np.errstate(all="ignore")


quietly = quiet()
"""A decorator: the function's arithmetic is quiet."""
