"""Bugs that a test must catch: each is one edit of the shipped code, and `test_planted.py` makes it on a copy.

To plant another, add one entry to `BUGS`. Choose narrow tests: each bug runs its own in a process of its own.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    """One edit that breaks a promise, and the tests that are there to notice."""

    name: str
    file: str
    """The file to edit, under src/pdpmean."""
    text: str
    """What to replace; it must stand in the file exactly once."""
    replacement: str
    caught_by: tuple[str, ...]
    """Node ids, as pytest takes them from the root of the repository; at least one of them must fail."""
    compiled: bool = False
    """Whether the loops of kernels.py are to be compiled, which takes some seconds, or run as plain Python."""


COSTS = "tests/audit/test_costs.py::test_no_record_costs_more_than_it_granted"
LEDGER = "tests/ledger/test_estimating.py::"
BOUNDS = "tests/exact/test_known_bounds.py::"

BUGS = (
    Bug(
        name="the noise of the census is half of what its share allows",
        file="release/census.py",
        text="laplace_scale(2**shift, share)",
        replacement="laplace_scale(2**shift, 2 * share)",
        caught_by=("tests/exact/test_estimator.py::test_census_attains_its_share_and_no_more",),
    ),
    Bug(
        name="the sum's share is divided by the total share",
        file="release/gaussian.py",
        text='return TentClip(plan.model, plan.shares["sum"],',
        replacement='return TentClip(plan.model, plan.shares["sum"] / sum(plan.shares.values()),',
        caught_by=(f"{COSTS}[bounded-gaussian-whole]",),
    ),
    Bug(
        name="the share of the total weight is divided by the total share",
        file="release/any_shape.py",
        text='plan.shares.get("weights", Fraction(0)) / plan.shares["sum"]',
        replacement='plan.shares.get("weights", Fraction(0)) / plan.shares["sum"] / sum(plan.shares.values())',
        caught_by=(f"{COSTS}[unbounded-any-whole]",),
    ),
    Bug(
        name="the share of the squared weights is divided by the total share",
        file="release/weight_squares.py",
        text='plan.shares["weight_squares"] / share,',
        replacement='plan.shares["weight_squares"] / share / sum(plan.shares.values()),',
        caught_by=(f"{COSTS}[unbounded-gaussian-whole]",),
    ),
    Bug(
        name="a share of 0 is raised after the rest has gone to the sum",
        file="planning/planner.py",
        text="""\
        exact = {name: max(floor_share(part), Fraction(1, SHARE_UNIT)) for name, part in shares.items()}
        exact["sum"] = self.share - sum(exact.values())
""",
        replacement="""\
        exact = {name: floor_share(part) for name, part in shares.items()}
        exact["sum"] = self.share - sum(exact.values())
        exact = {name: max(part, Fraction(1, SHARE_UNIT)) for name, part in exact.items()}
""",
        caught_by=(f"{COSTS}[unbounded-any-whole]",),
    ),
    Bug(
        name="between known bounds, a missing value is summed as the middle as well",
        file="release/known_bounds.py",
        text="    slack = Fraction(1, 2)  # 1 - z**2 is at most twice 1 - |z|\n",
        replacement="    slack = Fraction(1, 2)\n    missing_step = 0.0\n",
        caught_by=(f"{COSTS}[bounded-bounds-whole]",),
    ),
    Bug(
        name="the noise of the missing weight is half of what it should be",
        file="release/known_bounds.py",
        text="laplace_scale(clip.unit, 1)",
        replacement="laplace_scale(clip.unit, 2)",
        caught_by=(f"{COSTS}[bounded-bounds-grouped]",),
    ),
    Bug(
        name="one of three private sums between known bounds has no noise",
        file="release/known_bounds.py",
        text="middle = randomness.add_laplace(2 * (everybody - sums.extra), scale)",
        replacement="middle = 2 * (everybody - sums.extra)",
        caught_by=(f"{COSTS}[unbounded-bounds-whole]",),
    ),
    Bug(
        name="the middle of three private sums lacks its factor",
        file="release/known_bounds.py",
        text="2 * (everybody - sums.extra)",
        replacement="(everybody - sums.extra)",
        caught_by=(f"{BOUNDS}test_private_totals_in_nats",),
    ),
    Bug(
        name="values are sampled to locate what lies between known bounds",
        file="estimate.py",
        text="        if PLANNERS[options.shape].needs_locating:\n",
        replacement="        if True:\n",
        caught_by=(f"{BOUNDS}test_no_pass_is_made_to_locate",),
    ),
    Bug(
        name="a release that fails after its census is given back",
        file="ledger/charge.py",
        text="if not self._drawn:",
        replacement="if self._drawn < 1:",
        caught_by=(
            f"{LEDGER}test_whatever_fails_once_something_may_be_drawn_is_spent[take_census-unbounded-RuntimeError]",
        ),
    ),
    Bug(
        name="what is left of a grant caps no release",
        file="ledger/queries.py",
        text="THEN shared_{part} ELSE left_{part} END",
        replacement="THEN shared_{part} ELSE shared_{part} END",
        caught_by=(f"{LEDGER}test_shares_are_of_what_was_granted_until_nothing_is_left",),
    ),
    Bug(
        name="the ledger does not hear that something is drawn",
        file="estimate.py",
        text="        charge.will_draw()\n",
        replacement="",
        caught_by=(f"{LEDGER}test_whatever_fails_once_something_may_be_drawn_is_spent[locate-bounded-RuntimeError]",),
    ),
)
