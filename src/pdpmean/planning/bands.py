"""Bands of public budgets: where the levels of a group begin."""

from __future__ import annotations

import numpy as np

from pdpmean.core.types import Floats

__all__ = ["BAND", "starts_among", "starts_of_bands"]

# Ratios of the largest to the smallest budget of a level. Budgets that differ by less than the first share a level;
# if that makes too many levels, the second is used.
_ALIKE = 1.1
BAND = 2.0
_CELL_BITS = 46  # the low bits of a double that a cell of budgets ignores: levels end where cells end


def starts_among(allowances: Floats, most: int) -> Floats:
    """The smallest allowance of each level, given all public allowances in ascending order.

    Each allowance has its own level or, if these are too many, allowances are joined in bands. If there are too many
    bands as well, the lowest holds all that is left: such small budgets add little to a sum.
    """
    starts = starts_of_bands(allowances, _ALIKE, most + 1)
    return starts if starts.size <= most else starts_of_bands(allowances, BAND, most)


def starts_of_bands(allowances: Floats, width: float, most: int) -> Floats:
    """The starts of at most `most` bands in which the largest allowance is less than `width` times the smallest.

    Bands are cut off from the largest allowance down.
    """
    starts: list[float] = []
    widened = width * allowances
    highest = float(allowances[-1])
    while len(starts) < most - 1 and widened[0] <= highest:
        first = int(np.searchsorted(widened, highest, side="right"))  # the first allowance of the band
        highest, lowest = allowances[first - 1 : first + 1].tolist()
        starts.append(_end_of_cell(highest, lowest))
    return np.array([float(allowances[0]), *starts[::-1]])


def _end_of_cell(below: float, above: float) -> float:
    """An end of a cell between two allowances, each the middle of a cell; the upper one if they share a cell.

    Records are assigned to levels by the cell of their budget, so a level must not end within a cell.
    """
    bits = np.array([(below + above) / 2]).view(np.int64)
    end = float(((bits >> _CELL_BITS) << _CELL_BITS).view(np.float64)[0])
    return end if end > below else above
