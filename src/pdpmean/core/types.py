"""The types that columns and tables of integers have everywhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Counts", "Floats"]

Floats = NDArray[np.float64]

Counts = NDArray[np.int64]
