"""What there is to see of an estimate, and tables that have nothing in common but what is released of them."""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Sequence
from typing import Any
from unittest import mock

import numpy as np
from scripted import Scripted

from pdpmean import estimate_mean
from pdpmean.core.threads import SMALLEST_BATCH
from pdpmean.release import extent, private_median

SIGNALLING = float(np.array([0x7FF4000000000000], np.uint64).view(np.float64)[0])
UNBOUNDED: dict[str, Any] = {"model": "unbounded", "budget_range": (1.0, 64.0)}
GROUPS = ["north", "south"]

# What is released, in noise scales: of the census of each group; then, of the one that is not refused, the squares of
# the weights and what the average releases.
NORTH, SOUTH, SQUARES, AVERAGED = [60.0, 140.0, 200.0], [0.25, 0.5, 0.125], [6.0], [130.0, 90.0, 5.0]
SCRIPT = [*NORTH, *SOUTH, *SQUARES, *AVERAGED]
MEDIANS = [[3.5], [0.7]]  # of each group: the centre, then the spread

Table = dict[str, Any]  # columns: income, epsilon, region


def table(incomes: Any, budgets: Any, regions: Any) -> Table:
    return {"income": incomes, "epsilon": budgets, "region": regions}


def many(count: int) -> Table:
    rng = np.random.default_rng(count)
    return table(rng.normal(size=count), rng.uniform(0.5, 70.0, count), rng.choice(["north", "south", "x"], count))


# Columns of one type each: types are public.
TABLES: dict[str, Table] = {
    "nobody": table(np.array([]), np.array([]), np.array([], dtype="U5")),
    "one": table(np.array([1e300]), np.array([64.0]), np.array(["south"])),
    "some": many(500),
    "strange": table(
        np.array([math.nan, SIGNALLING, math.inf, -math.inf, 5e-324, 1.8e308]),
        np.array([SIGNALLING, 1.0, math.nan, math.inf, -1.0, 5e-324]),
        np.array(["north", "north", "south", "", "é\n\"';,", "north"]),
    ),
    "so many that loops are compiled": many(SMALLEST_BATCH + 3),
}


def seen(*data: Any, script: Sequence[float] = SCRIPT, medians: Any = MEDIANS, **options: Any) -> list[Any]:
    """All there is to see of an estimate."""
    told: list[Any] = []
    with (
        warnings.catch_warnings(record=True) as caught,
        mock.patch.object(private_median, "private_medians", side_effect=medians),
        mock.patch.object(extent, "first_small_tail", return_value=54),
    ):
        warnings.simplefilter("always")
        result = estimate_mean(*data, **options, randomness=Scripted(script), progress=lambda *call: told.append(call))
    texts = [str(result), repr(result), result._repr_html_()]
    return [pickle.dumps(result), result.to_dict(), *texts, told, [str(warning.message) for warning in caught]]
