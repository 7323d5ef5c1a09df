"""Costs: the exact privacy loss of records over their budget, for many plans: at most 1, and only slightly less.

    python benchmarks/costs.py [--plans 20000] [--write]

The audit is that of tests/audit, which `make test` runs with some 450 plans. `--write` keeps the table in
benchmarks/results/costs.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from audit.costs import COSTED, Audit, audit_drawn
from audit.scenarios import KINDS, Kind
from tables import print_and_keep

RESULTS = Path(__file__).parent / "results/costs.md"
TOGETHER = 25  # scenarios that a process audits per task


@dataclass
class Tally:
    """The results of the audits of one kind of scenario."""

    plans: int = 0
    refused: int = 0
    spared: int = 0
    in_part: int = 0
    thinned: int = 0
    records: int = 0
    used: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add the results of another tally."""
        for name in ("plans", "refused", "spared", "in_part", "thinned", "records"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.used |= {name: max(used, self.used.get(name, 0.0)) for name, used in other.used.items()}
        self.wrong += other.wrong


def tally_one(audit: Audit) -> Tally:
    """The results of one audit."""
    return Tally(
        plans=len(audit.plans),
        refused=audit.refused,
        spared=sum(plan.spared_from <= plan.weight_cap for plan in audit.plans),
        in_part=sum(sum(plan.shares.values()) < 1 for plan in audit.plans),
        thinned=int(audit.thinned),
        records=audit.records,
        used=audit.used,
        wrong=audit.wrong,
    )


def tally_some(kind: Kind, first: int) -> Tally:
    """The audits of `TOGETHER` scenarios, starting with number `first`."""
    tally = Tally()
    for number in range(first, first + TOGETHER):
        tally.add(tally_one(audit_drawn(kind, number)))
    return tally


def tally_plans(kind: Kind, plans: int, executor: Executor) -> Tally:
    """The audits of at least `plans` plans."""
    total, first = Tally(), 0
    while total.plans < plans:
        batches = range(first, first + 8 * TOGETHER, TOGETHER)
        for part in executor.map(partial(tally_some, kind), batches):
            total.add(part)
        first = batches.stop
    return total


def table(plans: int) -> Iterator[str]:
    yield (
        "Plans of random scenarios, and what records cost by them in exact fractions, over what the shares of their "
        "budgets allow: at most 1 everywhere. `wrong` counts costs above that, and shares that do not add up. "
        "Thinned are scenarios in which not all records are looked at to locate; made by benchmarks/costs.py.\n"
    )
    head = ("kind", "plans", "refused", "share below 1", "sparing", "thinned", "costs", *COSTED, "wrong")
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    with ProcessPoolExecutor() as executor:
        for kind in KINDS:
            found = tally_plans(kind, -(-plans // len(KINDS)), executor)
            counts = (found.plans, found.refused, found.in_part, found.spared, found.thinned, found.records)
            used = (f"{found.used[name]:.8f}" if name in found.used else "" for name in COSTED)
            cells = (str(kind), *(f"{count:,}" for count in counts), *used, str(len(found.wrong)))
            yield f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--plans", type=int, default=20_000)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    print_and_keep(table(options.plans), RESULTS if options.write else None)


if __name__ == "__main__":
    main()
