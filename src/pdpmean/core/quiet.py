"""Quiet arithmetic: no overflow, underflow or invalid operation becomes a warning or an error.

NumPy reports these as the caller has set (`np.seterr`, `np.errstate`). Here, a warning would reveal something about a
private entry, and an error would lose a result for which budget has been spent. So every public function is `quiet`,
and threads inherit that (`threads.py`).
"""

from __future__ import annotations

import numpy as np

__all__ = ["quiet", "quietly"]


def quiet() -> np.errstate:
    """A context in which NumPy reports nothing."""
    return np.errstate(all="ignore")


quietly = quiet()
"""A decorator that makes the arithmetic of a function quiet."""
