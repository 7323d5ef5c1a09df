"""Progress counts records where they may be counted; elsewhere its calls are the same however many there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pdpmean import InsufficientBudgetError, Randomness, estimate_mean, plan_mean
from pdpmean.core.progress import Watch

UNBOUNDED: dict[str, Any] = {"model": "unbounded", "budget_range": (0.1, 1.0)}
Call = tuple[str, int, int | None]


def calls_of(people: int, **options: Any) -> list[Call]:
    calls: list[Call] = []
    rng = np.random.default_rng(people)
    values, budgets = rng.normal(5.0, 2.0, people), np.full(people, 0.5)
    randomness = Randomness.seeded(people)
    estimate_mean(values, budgets, randomness=randomness, progress=lambda *call: calls.append(call), **options)
    return calls


def test_records_are_counted_where_they_are_public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdpmean.sources.arrays._BATCH", 1000)
    expected = [(step, seen, 2500) for step in ("census", "sample", "sum") for seen in (1000, 2000, 2500)]
    assert calls_of(2500) == expected


@pytest.mark.parametrize("batch", [700, 2**20])
def test_private_records_are_not_counted(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdpmean.sources.arrays._BATCH", batch)
    expected = [(step, part, 100) for step in ("census", "sample", "sum") for part in range(1, 101)]
    assert calls_of(2000, **UNBOUNDED) == calls_of(3331, **UNBOUNDED) == expected


def test_a_refusal_ends_after_the_census() -> None:
    calls: list[Call] = []
    with pytest.raises(InsufficientBudgetError):
        estimate_mean([], [], **UNBOUNDED, randomness=Randomness.seeded(1), progress=lambda *call: calls.append(call))
    assert calls == [("census", part, 100) for part in range(1, 101)]


def test_an_unknown_number_of_records_is_told_at_the_end() -> None:
    calls: list[Call] = []
    watch = Watch(lambda *call: calls.append(call), counted=False)
    watch.at("census", 10, None)
    assert calls == []
    watch.done("census")
    assert len(calls) == 100
    counted = Watch(lambda *call: calls.append(call), counted=True)
    counted.at("sum", 10, None)
    assert calls[-1] == ("sum", 10, None)


def test_a_plan_counts_its_budgets() -> None:
    calls: list[Call] = []
    plan_mean(np.full(2**17, 0.5), progress=lambda *call: calls.append(call))
    assert calls == [("census", 2**17, 2**17)]
