"""Types: the array types of columns and of tables of counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Counts", "Floats"]

Floats = NDArray[np.float64]

Counts = NDArray[np.int64]
