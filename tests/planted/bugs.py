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
    """Whether the loops of core/kernels are to be compiled, which takes some seconds, or run as plain Python."""


COSTS = "tests/audit/test_costs.py::test_no_record_costs_more_than_it_granted"
LEDGER = "tests/ledger/test_estimating.py::"
FAULTS = "tests/ledger/test_faults.py::"
BOUNDS = "tests/exact/test_known_bounds.py::"
ANY = "tests/exact/test_any_shape.py::"

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
        name="a missing value is summed as the middle as well",
        file="passes/summing.py",
        text="weights = np.where(is_missing | is_far, 0, granted)",
        replacement="weights = np.where(is_far, 0, granted)",
        caught_by=(f"{COSTS}[bounded-bounds-whole]",),
    ),
    Bug(
        name="the noise of the missing weight is half of what it should be",
        file="release/squares.py",
        text="laplace_scale(clip.unit, 1)",
        replacement="laplace_scale(clip.unit, 2)",
        caught_by=(f"{COSTS}[bounded-bounds-grouped]",),
    ),
    Bug(
        name="one of three private sums has no noise",
        file="release/squares.py",
        text="middle = randomness.add_laplace(2 * (counted - sums.extra), scale)",
        replacement="middle = 2 * (counted - sums.extra)",
        caught_by=(f"{COSTS}[unbounded-bounds-whole]",),
    ),
    Bug(
        name="the middle of three private sums lacks its factor",
        file="release/squares.py",
        text="2 * (counted - sums.extra)",
        replacement="(counted - sums.extra)",
        caught_by=(f"{BOUNDS}test_private_totals_in_nats",),
    ),
    Bug(
        name="a value beyond a bound is kept at the bound as well",
        file="release/histogram.py",
        text="    noisy = randomness.add_laplace_to_each(counts",
        replacement="    counts[:, 2 * CELLS] += counts[:, -1] if bounds.are_given else 0\n"
        "    noisy = randomness.add_laplace_to_each(counts",
        caught_by=(f"{ANY}test_a_record_costs_its_weight_wherever_it_lies",),
    ),
    Bug(
        name="a far value adds to the weight less squares as well",
        file="release/squares.py",
        text="weight_less_squares = sums.counted * STEPS - sums.extra",
        replacement="weight_less_squares = (sums.counted + sums.far_weight) * STEPS - sums.extra",
        caught_by=(f"{ANY}test_every_value_costs_what_the_proof_says",),
    ),
    Bug(
        name="a far value beyond the last cell adds more than the cell's end",
        file="passes/summing.py",
        text="parts = np.minimum(np.rint(distances / ends[cells] * STEPS), STEPS)",
        replacement="parts = np.minimum(np.rint(distances / ends[cells] * STEPS), 2 * STEPS)",
        caught_by=(f"{ANY}test_every_value_costs_what_the_proof_says",),
    ),
    Bug(
        name="a far value beyond a known bound does not count as the bound",
        file="passes/summing.py",
        text="np.clip(places_of(batch.values, rule.middle, rule.lift, rule.per_unit), rule.lowest, rule.highest)",
        replacement="places_of(batch.values, rule.middle, rule.lift, rule.per_unit)",
        caught_by=(f"{ANY}test_values_beyond_a_bound_count_as_the_bound",),
    ),
    Bug(
        name="a far value beyond a known bound does not count as the bound in the compiled loop",
        file="core/kernels/square_sums.py",
        text="add_far(between(place, rules[level, LOWEST], rules[level, HIGHEST]), weight, sums[level])",
        replacement="add_far(place, weight, sums[level])",
        caught_by=(f"{ANY}test_values_beyond_a_bound_count_as_the_bound",),
    ),
    Bug(
        name="a far value is summed as the end of the clip as well, by the compiled loop",
        file="core/kernels/square_sums.py",
        text="is_summed = is_inside & ",
        replacement="is_summed = (place == place) & ",
        caught_by=("tests/test_kernels.py::test_far_values_at_the_edges_of_their_cells",),
    ),
    Bug(
        name="an allowance at which the third of three levels begins is in the second, by the compiled loop",
        file="core/kernels/square_sums.py",
        text="is_third = allowance >= levels.third",
        replacement="is_third = allowance > levels.third",
        caught_by=(
            "tests/test_kernels.py::test_levels_that_are_summed_together_are_those_of_the_twin[squares-3-bounded]",
        ),
        compiled=True,
    ),
    Bug(
        name="the noise of far cells is half of what it should be",
        file="release/squares.py",
        text="STEP_BITS + clip.shift)",
        replacement="STEP_BITS + clip.shift - 1)",
        caught_by=(f"{COSTS}[unbounded-any-whole]",),
    ),
    Bug(
        name="the noise of a histogram is half of what it should be",
        file="release/histogram.py",
        text="_UNIT_BITS = WEIGHT_UNIT.bit_length() - 1",
        replacement="_UNIT_BITS = WEIGHT_UNIT.bit_length() - 2",
        caught_by=(f"{ANY}test_a_record_costs_its_weight_wherever_it_lies",),
    ),
    Bug(
        name="the histogram gets the weight of the centre as well",
        file="release/locate.py",
        text="for part in (parts, 1 - parts))",
        replacement="for part in (parts, np.ones_like(parts)))",
        caught_by=(f"{COSTS}[bounded-any-whole]",),
    ),
    Bug(
        name="an infinite value is in the cells beyond and at the anchor",
        file="release/histogram.py",
        text="    noisy = randomness.add_laplace_to_each(",
        replacement="    counts[:, _ANCHOR] += counts[:, _FAR_ABOVE]\n    noisy = randomness.add_laplace_to_each(",
        caught_by=(f"{ANY}test_nobody_is_counted_twice_or_left_out",),
    ),
    Bug(
        name="noise for many numbers is 0 twice as often",
        file="randomness/many_draws.py",
        text="[(sizes != 0) | ~negative].tolist()",
        replacement=".tolist()",
        caught_by=("tests/test_randomness.py::test_noise_for_many_has_exactly_its_law",),
    ),
    Bug(
        name="a round number is counted once less at the start of a piece",
        file="laws/lattice.py",
        text="return -(-keys // _ROUND) * _ROUND",
        replacement="return keys // _ROUND * _ROUND",
        caught_by=("tests/test_lattice.py::test_every_position_of_a_lattice_with_round_numbers",),
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
        name="people of refused groups are given back the census as well",
        file="ledger/charge.py",
        text="self._spared_part = self._drawn",
        replacement="self._spared_part = Fraction(0)",
        caught_by=(f"{LEDGER}test_people_of_refused_groups_pay_for_what_was_drawn_of_them[sqlite-unbounded]",),
    ),
    Bug(
        name="those who grant the lower end of the public range are charged and left out",
        file="ledger/charge.py",
        text="model = replace(model, budget_range=(least, most))",
        replacement="del least, most",
        caught_by=(f"{LEDGER}test_whoever_grants_either_end_of_the_public_range_takes_part[limits0]",),
    ),
    Bug(
        name="a forked process has its parent's connections open",
        file="ledger/sqlite.py",
        text="        _close_inherited()\n",
        replacement="",
        caught_by=(f"{FAULTS}test_a_forked_process_loses_nothing_when_its_parent_closes_the_ledger[sqlite]",),
    ),
    Bug(
        name="a ledger is written under two names",
        file="ledger/file.py",
        text="if status.st_nlink > 1:",
        replacement="if status.st_nlink > 2:",
        caught_by=(f"{FAULTS}test_a_file_with_a_second_name_is_refused",),
    ),
    Bug(
        name="a ledger is written by way of a mount of its file alone",
        file="ledger/file.py",
        text="if self.path in mounts:",
        replacement="if False:",
        caught_by=(f"{FAULTS}test_a_file_that_is_mounted_by_itself_is_refused",),
    ),
    Bug(
        name="who writes sees what the ledger was before they had the lock",
        file="ledger/postgres.py",
        text="BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
        replacement="BEGIN",
        caught_by=(f"{FAULTS}test_processes_spend_at_once_whatever_isolation_the_server_prefers",),
    ),
    Bug(
        name="costs of releases that never were are not noticed",
        file="ledger/verify.py",
        text='        queries.COSTS_OF_NOTHING: "costs belong to releases that are not in the ledger",\n',
        replacement="",
        caught_by=("tests/ledger/test_ledger.py::test_what_was_tampered_with_is_found",),
    ),
    Bug(
        name="a ledger is public although its log tells of an unbounded release that was cancelled",
        file="ledger/reservation.py",
        text=" OR people_are_public = 0 ",
        replacement=" ",
        caught_by=(
            "tests/ledger/test_ledger.py::test_what_was_cancelled_in_the_unbounded_model_is_private_as_well[sqlite]",
        ),
    ),
    Bug(
        name="a public ledger keeps the order of the records",
        file="ledger/reservation.py",
        text="        transaction.change(queries.FORGET_PLACES, number)\n",
        replacement="",
        caught_by=("tests/ledger/test_ledger.py::test_where_records_lay_is_not_kept[sqlite]",),
    ),
    Bug(
        name="who has nothing left is told where that is private",
        file="ledger/reservation.py",
        text=" if request.people_are_public else None",
        replacement="",
        caught_by=(f"{LEDGER}test_nor_is_who_had_nothing_left",),
    ),
    Bug(
        name="misspelt groups are looked for where groups are private",
        file="sources/misspelt.py",
        text=" or not options.model.budgets_are_public",
        replacement="",
        caught_by=("tests/sources/test_misspelt.py::test_otherwise_the_group_is_refused",),
    ),
    Bug(
        name="the ledger does not hear that something is drawn",
        file="estimate.py",
        text="        charge.will_draw()\n",
        replacement="",
        caught_by=(f"{LEDGER}test_whatever_fails_once_something_may_be_drawn_is_spent[locate-bounded-RuntimeError]",),
    ),
)
