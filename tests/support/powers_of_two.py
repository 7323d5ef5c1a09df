"""Records that every pass tells apart: who is lost or repeated shows in its integers.

Without groups, every record has a cell of its own in the census, and adds a power of two to the sum. With groups, every
record has one of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from rules import UNCAPPED, three
from source_builders import Rows

from pdpmean.core.integers import STEPS
from pdpmean.core.model import BOUNDED
from pdpmean.passes.cells import count_budgets
from pdpmean.passes.source import Source
from pdpmean.passes.thinning import Thinning
from pdpmean.randomness import Randomness
from pdpmean.release.average import summing_of
from pdpmean.release.gaussian import TentClip

COUNT = 25  # powers of two from 1 to STEPS
POWERS = [2**record for record in range(COUNT)]
BUDGETS = [2 + record / 4 for record in range(COUNT)]  # no two in one cell, of which an octave has 64, or 16
LABELS = tuple(f"g{record}" for record in range(COUNT))
ROWS = Rows(np.array(POWERS, dtype=np.float64), np.array(BUDGETS), list(LABELS), list(range(COUNT)))


def clip() -> TentClip:
    """One step per unit, and half a nat per record, whatever its budget; the first four records are near."""
    return TentClip(BOUNDED, Fraction(1), cap=0.5, middle=0.0, half=float(STEPS), near=POWERS[4])


def sums(powers: list[int]) -> tuple[int, int, int]:
    """What records of these values add up to."""
    weight = 2 ** (clip().shift - 1)
    near = sum(power < POWERS[4] for power in powers)
    return weight * sum(powers), weight * near, weight * sum(STEPS - power for power in powers)


def keep_all(groups: int | None) -> Thinning:
    ones = np.ones(1) if groups is None else np.append(np.ones(groups), 0.0)
    return Thinning(BOUNDED, ones, ones, ones * UNCAPPED, ones, ones * 2.0**900)


def counted(source: Source) -> list[tuple[float, ...]]:
    """The lower ends of the cells that each group holds, one for every record."""
    return [tuple(np.repeat(cells.lows, cells.counts).tolist()) for cells in count_budgets(source, BOUNDED)]


def summed(source: Source) -> list[tuple[int, int, int]]:
    clips = [clip()] * (source.groups or 1)
    table = source.sum(summing_of(clips, grouped=source.groups is not None))
    return [three(row) for row in table.tolist()][: len(clips)]


def kept(source: Source) -> list[tuple[float, ...]]:
    """The values of everybody, in each group."""
    batch = source.sample(keep_all(source.groups), Randomness.seeded(1))
    everybody = batch.by_group(source.groups or 1)
    return [tuple(sorted(batch.values[where].tolist())) for where in everybody]


def prepared(source: Source) -> list[tuple[float, ...]]:
    """The same where the census knows that a sample follows."""
    source.prepare_sample(Randomness.seeded(2))
    counted(source)
    return kept(source)


Pass = Callable[[Source], list[Any]]

PASSES: dict[str, tuple[Pass, list[Any], list[Any]]] = {  # what each gives without groups, and with them
    "census": (counted, [tuple(budget / 2 for budget in BUDGETS)], [(budget / 2,) for budget in BUDGETS]),
    "sum": (summed, [sums(POWERS)], [sums([power]) for power in POWERS]),
    "sample": (kept, [tuple(POWERS)], [(power,) for power in POWERS]),
    "sample after a census": (prepared, [tuple(POWERS)], [(power,) for power in POWERS]),
}
