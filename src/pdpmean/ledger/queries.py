"""The arithmetic of amounts in SQL, on whole numbers of 64 bits, the same on every database.

An amount is (infinite, nats, units), as `Amount.columns` has it; such triples compare as the amounts do. Sums carry
units into nats by a shift, which rounds down, so that the same words add and subtract.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from pdpmean.ledger.amount import ONE_UNIT, UNIT_BITS, UNITS_PER_NAT, Amount

__all__ = [
    "ABOVE_EARLIER_GRANT",
    "ABOVE_GRANT",
    "AMOUNT",
    "CHARGE",
    "COSTS_OF_NOBODY",
    "COUNT_ABOVE_GRANT",
    "LARGEST_DENOMINATOR",
    "LEAVE_OUT_REPEATED",
    "RECORD_COSTS",
    "REFUND",
    "WHAT_IS_LEFT",
    "WRONG_SUMS",
    "added",
    "columns",
    "count_by_cost",
    "keep_part",
    "take",
    "total",
]

AMOUNT = ("infinite", "nats", "units")
_UNITS_BEYOND = UNITS_PER_NAT - 1
LARGEST_DENOMINATOR = 2**20  # of a share


def columns(name: str) -> str:
    """The three columns of an amount."""
    return ", ".join(f"{name}_{part}" for part in AMOUNT)


def added(name: str, other: str, sign: str = "+") -> str:
    """The assignments that add an amount to another, or subtract it."""
    units = f"({name}_units {sign} {other}_units)"
    return (
        f"{name}_infinite = {name}_infinite {sign} {other}_infinite, "
        f"{name}_nats = {name}_nats {sign} {other}_nats + ({units} >> {UNIT_BITS}), "
        f"{name}_units = {units} & {_UNITS_BEYOND}"
    )


def total(name: str) -> str:
    """The sums that a total is made of, none of which is beyond 64 bits; `Amount` puts them together."""
    half = UNIT_BITS // 2
    parts = [f"{name}_infinite"]
    parts += [f"{name}_nats >> {half}", f"{name}_nats & {2**half - 1}"]
    parts += [f"{name}_units >> {half}", f"{name}_units & {2**half - 1}"]
    return ", ".join(f"COALESCE(SUM({part}), 0)" for part in parts)


def _smaller(first: str, second: str, name: str) -> str:
    """The smaller of two amounts."""
    smaller = f"({columns(first)}) < ({columns(second)})"
    return ", ".join(
        f"CASE WHEN {smaller} THEN {first}_{part} ELSE {second}_{part} END AS {name}_{part}" for part in AMOUNT
    )


# What is left of a grant: all of an infinite one, nothing where as much or more was spent.
_LEFT_NATS = f"granted_nats - spent_nats + ((granted_units - spent_units) >> {UNIT_BITS})"
_SPENT_UP = f"spent_infinite > 0 OR {_LEFT_NATS} < 0"
WHAT_IS_LEFT = f"""
    granted_infinite AS left_infinite,
    CASE WHEN granted_infinite > 0 OR {_SPENT_UP} THEN 0 ELSE {_LEFT_NATS} END AS left_nats,
    CASE WHEN granted_infinite > 0 OR {_SPENT_UP} THEN 0
         ELSE (granted_units - spent_units) & {_UNITS_BEYOND} END AS left_units"""


def _scaled(name: str, share: Fraction, *, up: bool) -> tuple[str, str]:
    """The nats and units of a share of an amount, its units rounded down or `up`.

    Whole nats are at most 2**40, and the two numbers of a share at most 2**20, so that nothing is beyond 64 bits.
    """
    part, whole = share.as_integer_ratio()
    assert whole <= LARGEST_DENOMINATOR
    nats = f"({name}_nats * {part})"
    exact = f"(({nats} % {whole}) * {UNITS_PER_NAT} + {name}_units * {part} + {whole - 1 if up else 0})"
    units = f"({exact} / {whole})"
    return f"{nats} / {whole} + ({units} >> {UNIT_BITS})", f"{units} & {_UNITS_BEYOND}"


def _shared(share: Fraction, base: Mapping[str, str]) -> str:
    """A share of what is granted, or of what the data says."""
    nats, units = _scaled("base", share, up=False)
    infinite = base["infinite"]
    for part in ("nats", "units"):
        nats, units = (text.replace(f"base_{part}", base[part]) for text in (nats, units))
    return f"{infinite} AS shared_infinite, {nats} AS shared_nats, {units} AS shared_units"


_GRANTED = {part: f"granted_{part}" for part in AMOUNT}
_IN_DATA = {part: f"budget_{part}" for part in AMOUNT}


def _costs(people: str, most: Amount, least: Amount) -> str:
    """What each of these people takes part with: the smallest of `shared`, `left` and `most`, or nothing below `least`.

    Each step is kept while the next is worked out: put into each other, they would be worked out many times.
    """
    steps = [f"WITH shares AS MATERIALIZED ({people})", "costs_of_shares AS MATERIALIZED ("]
    steps[1] += f"SELECT place, person, {_smaller('shared', 'left', 'cost')} FROM shares)"
    last = "costs_of_shares"
    if not most.infinite:
        steps.append(f"capped AS MATERIALIZED (SELECT place, person, {_at_most(most)} FROM {last})")
        last = "capped"
    enough = f"({columns('cost')}) >= ({', '.join(map(str, least.columns))})"
    taken = ", ".join(f"CASE WHEN {enough} THEN cost_{part} ELSE 0 END AS cost_{part}" for part in AMOUNT)
    return f"{', '.join(steps)} SELECT place, person, {taken if least > ONE_UNIT else columns('cost')} FROM {last}"


def _at_most(most: Amount) -> str:
    numbers = dict(zip(AMOUNT, most.columns, strict=True))
    smaller = f"({columns('cost')}) < ({', '.join(map(str, most.columns))})"
    return ", ".join(f"CASE WHEN {smaller} THEN cost_{part} ELSE {numbers[part]} END AS cost_{part}" for part in AMOUNT)


def take(share: Fraction, most: Amount, least: Amount, *, budgets_in_data: bool) -> str:
    """Find what everybody who is asked takes part with."""
    shared = _shared(share, _IN_DATA if budgets_in_data else _GRANTED)
    people = (
        f"SELECT place, people.number AS person, {WHAT_IS_LEFT}, {shared} "
        "FROM asked JOIN people ON people.id = asked.id"
    )
    return f"INSERT INTO taking (place, person, {columns('cost')}) {_costs(people, most, least)}"


def count_by_cost(share: Fraction, most: Amount, least: Amount) -> str:
    """How many people would take part with how much, if everybody were asked."""
    people = f"SELECT number AS place, number AS person, {WHAT_IS_LEFT}, {_shared(share, _GRANTED)} FROM people"
    cost = columns("cost")
    return f"SELECT {cost}, COUNT(*) FROM ({_costs(people, most, least)}) AS taken GROUP BY {cost} ORDER BY {cost}"


LEAVE_OUT_REPEATED = "DELETE FROM asked WHERE id IN (SELECT id FROM asked GROUP BY id HAVING COUNT(*) > 1)"

COUNT_ABOVE_GRANT = (
    "SELECT COUNT(*) FROM asked JOIN people ON people.id = asked.id "
    f"WHERE ({columns('budget')}) > ({columns('granted')})"
)

RECORD_COSTS = (
    f"INSERT INTO costs (release, person, {columns('cost')}) "
    f"SELECT ?, person, {columns('cost')} FROM taking "
    "WHERE cost_infinite > 0 OR cost_nats > 0 OR cost_units > 0 ORDER BY person"
)

CHARGE = f"UPDATE people SET {added('spent', 'cost')} FROM costs WHERE release = ? AND person = people.number"
REFUND = f"UPDATE people SET {added('spent', 'cost', '-')} FROM costs WHERE release = ? AND person = people.number"


def keep_part(part: Fraction) -> str:
    """Of what a release costs, this part, rounded up."""
    nats, units = _scaled("cost", part, up=True)
    return f"UPDATE costs SET cost_nats = {nats}, cost_units = {units} WHERE release = ?"


# Checks, each of which counts what is wrong.
_ABOVE = "granted_infinite = 0 AND " + " AND ".join(
    f"({columns('spent')}) > ({columns(name)})" for name in ("granted", "before")
)
ABOVE_GRANT = f"SELECT COUNT(*) FROM people WHERE {_ABOVE}"
ABOVE_EARLIER_GRANT = f"SELECT COUNT(*) FROM changes WHERE {_ABOVE}"
_SUM_NATS = f"CAST(SUM(cost_nats) + (CAST(SUM(cost_units) AS BIGINT) >> {UNIT_BITS}) AS BIGINT)"
_SUM_UNITS = f"CAST(SUM(cost_units) AS BIGINT) & {_UNITS_BEYOND}"
_SUMS = (
    f"SELECT person, CAST(SUM(cost_infinite) AS BIGINT) AS sum_infinite, {_SUM_NATS} AS sum_nats, "
    f"{_SUM_UNITS} AS sum_units FROM costs GROUP BY person"
)
WRONG_SUMS = (
    f"SELECT COUNT(*) FROM people LEFT JOIN ({_SUMS}) AS sums ON sums.person = people.number WHERE "
    + " OR ".join(f"spent_{part} <> COALESCE(sum_{part}, 0)" for part in AMOUNT)
)
COSTS_OF_NOBODY = "SELECT COUNT(*) FROM costs WHERE person NOT IN (SELECT number FROM people)"
