"""Arithmetic of which nobody hears: no overflow, underflow or the like becomes a warning or an error.

NumPy tells of them in the way that the caller's thread was last asked for (`np.seterr`, `np.errstate`). Here that would
tell something about an entry, or lose a result for which budget has been spent. What is public begins with `quietly`;
threads take it over (`threads.py`).
"""

from __future__ import annotations

import numpy as np

__all__ = ["quietly"]

quietly = np.errstate(all="ignore")
