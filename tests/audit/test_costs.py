"""No record costs more than it granted, by any plan that the planner makes: see `audit.costs`."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from audit.costs import amplified, audit, audit_drawn
from audit.scenarios import KINDS, Kind, Scenario, Tier
from pdpmean.core.choices import Choices, check_share
from pdpmean.core.model import BOUNDED, Model

SCENARIOS = {False: 40, True: 15}  # of each kind, without groups and with them; benchmarks/costs.py has far more


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_no_record_costs_more_than_it_granted(kind: Kind) -> None:
    """And some spend it all, so that nothing is left out of the sum."""
    most = 0.0
    for number in range(SCENARIOS[kind.grouped]):
        found = audit_drawn(kind, number)
        assert not found.wrong
        most = max(most, found.used.get("all", 0.0))
    assert most > 0.999


@pytest.mark.parametrize("share", [1, Fraction(1, 2), Fraction(1, 3)])
@pytest.mark.parametrize("model", [BOUNDED, Model("unbounded", (0.01, 8.0))], ids=["bounded", "unbounded"])
def test_what_the_sum_is_spared_is_spent_only_once(model: Model, share: Fraction) -> None:
    tiers = [Tier(0.01, 10_000), Tier(8.0, 112)]  # few who grant nine tenths of all
    scenario = Scenario(model, "gaussian", False, check_share(share), Choices(), None, [tiers], 1.0, "budgets")
    found = audit(scenario, np.random.default_rng(1))
    (plan,) = found.plans
    assert plan.spared_from <= plan.weight_cap
    assert not found.wrong
    assert found.used["locate and average"] > 0.99


@pytest.mark.parametrize(("weight", "rate"), [(2.0**-30, 1e-12), (0.5, 0.25), (60.0, 1e-9), (3.0, 1.0)])
def test_a_record_kept_so_often_costs_what_the_theorem_says(weight: float, rate: float) -> None:
    """Compared in doubles, where they can tell."""
    assert float(amplified(Fraction(weight), rate)) == pytest.approx(np.log1p(rate * np.expm1(weight)), rel=1e-12)
