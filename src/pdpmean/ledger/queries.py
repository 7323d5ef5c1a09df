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
    "AMONG_ASKED",
    "AMOUNT",
    "CHARGE",
    "COSTS_OF_NOBODY",
    "COUNT_ABOVE_GRANT",
    "FORGET_NOTHING",
    "LARGEST_DENOMINATOR",
    "LEAVE_OUT_REPEATED",
    "REFUND",
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


def _of_what_is_left() -> str:
    """What is wanted, or what is left if that is less, and nothing if more was spent than granted."""
    smaller = f"({columns('shared')}) < ({columns('left')})"
    cost = ["shared_infinite * left_infinite AS cost_infinite"]
    cost += [
        f"CASE WHEN left_infinite > 0 THEN shared_{part} WHEN left_nats < 0 THEN 0 "
        f"WHEN {smaller} THEN shared_{part} ELSE left_{part} END AS cost_{part}"
        for part in ("nats", "units")
    ]
    return ", ".join(cost)


# What is left of a grant, below 0 where more was spent: what is without limit is so much that no finite amount is more.
_BEYOND_ALL = 42  # bits of nats
_WHAT_IS_LEFT = f"""granted_infinite AS left_infinite,
    granted_nats - spent_nats - (spent_infinite << {_BEYOND_ALL})
        + ((granted_units - spent_units) >> {UNIT_BITS}) AS left_nats,
    (granted_units - spent_units) & {_UNITS_BEYOND} AS left_units"""


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


_ASKED_BALANCES = "FROM asked JOIN people ON people.id = asked.id JOIN balances ON balances.person = people.number"
_GRANTED = {part: f"granted_{part}" for part in AMOUNT}
_IN_DATA = {part: f"budget_{part}" for part in AMOUNT}


def _costs(people: str, most: Amount, least: Amount) -> str:
    """What each of these people takes part with: the smallest of `shared`, `left` and `most`, or nothing below `least`.

    Each step is kept while the next is worked out: put into each other, they would be worked out many times.
    """
    steps = [people, f"SELECT person, place, {_of_what_is_left()} FROM step0"]
    if not most.infinite:
        steps.append(f"SELECT person, place, {_at_most(most)} FROM step1")
    if least > ONE_UNIT:
        steps.append(f"SELECT person, place, {_at_least(least)} FROM step{len(steps) - 1}")
    *earlier, last = steps
    kept = ", ".join(f"step{number} AS MATERIALIZED ({step})" for number, step in enumerate(earlier))
    return f"WITH {kept} {last}"


def _at_most(most: Amount) -> str:
    numbers = dict(zip(AMOUNT, most.columns, strict=True))
    smaller = f"({columns('cost')}) < ({', '.join(map(str, most.columns))})"
    return ", ".join(f"CASE WHEN {smaller} THEN cost_{part} ELSE {numbers[part]} END AS cost_{part}" for part in AMOUNT)


def _at_least(least: Amount) -> str:
    enough = f"({columns('cost')}) >= ({', '.join(map(str, least.columns))})"
    return ", ".join(f"CASE WHEN {enough} THEN cost_{part} ELSE 0 END AS cost_{part}" for part in AMOUNT)


def take(release: int, share: Fraction, most: Amount, least: Amount, *, budgets_in_data: bool) -> str:
    """Write down what a release costs everybody who is asked; a person who is asked twice is a `RepeatedKeyError`."""
    shared = _shared(share, _IN_DATA if budgets_in_data else _GRANTED)
    people = f"SELECT people.number AS person, place, {_WHAT_IS_LEFT}, {shared} {_ASKED_BALANCES}"
    cost = columns("cost")
    return (
        f"INSERT INTO costs (release, person, place, {cost}) SELECT {release}, person, place, {cost} "
        f"FROM ({_costs(people, most, least)}) AS taken"
    )


def count_by_cost(share: Fraction, most: Amount, least: Amount) -> str:
    """How many people would take part with how much, if everybody were asked."""
    people = f"SELECT person AS place, person, {_WHAT_IS_LEFT}, {_shared(share, _GRANTED)} FROM balances"
    cost = columns("cost")
    return f"SELECT {cost}, COUNT(*) FROM ({_costs(people, most, least)}) AS taken GROUP BY {cost} ORDER BY {cost}"


LEAVE_OUT_REPEATED = "DELETE FROM asked WHERE id IN (SELECT id FROM asked GROUP BY id HAVING COUNT(*) > 1)"

COUNT_ABOVE_GRANT = f"SELECT COUNT(*) {_ASKED_BALANCES} WHERE ({columns('budget')}) > ({columns('granted')})"

FORGET_NOTHING = "DELETE FROM costs WHERE release = ? AND cost_infinite = 0 AND cost_nats = 0 AND cost_units = 0"

_OF_RELEASE = "FROM costs WHERE release = ? AND costs.person = balances.person"
CHARGE = f"UPDATE balances SET {added('spent', 'cost')} {_OF_RELEASE}"
REFUND = f"UPDATE balances SET {added('spent', 'cost', '-')} {_OF_RELEASE}"


AMONG_ASKED = " AND place IN (SELECT place FROM asked)"


def keep_part(part: Fraction) -> str:
    """Of what a release costs, this part, rounded up."""
    if part == 0:
        return "DELETE FROM costs WHERE release = ?"
    nats, units = _scaled("cost", part, up=True)
    return f"UPDATE costs SET cost_nats = {nats}, cost_units = {units} WHERE release = ?"


# Checks, each of which counts what is wrong.
_ABOVE = "granted_infinite = 0 AND " + " AND ".join(
    f"({columns('spent')}) > ({columns(name)})" for name in ("granted", "before")
)
ABOVE_GRANT = f"SELECT COUNT(*) FROM balances WHERE {_ABOVE}"
ABOVE_EARLIER_GRANT = f"SELECT COUNT(*) FROM changes WHERE {_ABOVE}"
_SUM_NATS = f"CAST(SUM(cost_nats) + (CAST(SUM(cost_units) AS BIGINT) >> {UNIT_BITS}) AS BIGINT)"
_SUM_UNITS = f"CAST(SUM(cost_units) AS BIGINT) & {_UNITS_BEYOND}"
_SUMS = (
    f"SELECT person, CAST(SUM(cost_infinite) AS BIGINT) AS sum_infinite, {_SUM_NATS} AS sum_nats, "
    f"{_SUM_UNITS} AS sum_units FROM costs GROUP BY person"
)
WRONG_SUMS = (
    f"SELECT COUNT(*) FROM balances LEFT JOIN ({_SUMS}) AS sums ON sums.person = balances.person WHERE "
    + " OR ".join(f"spent_{part} <> COALESCE(sum_{part}, 0)" for part in AMOUNT)
)
# Not by NOT IN, which PostgreSQL answers by looking through all people for each cost.
COSTS_OF_NOBODY = (
    "SELECT COUNT(*) FROM costs WHERE NOT EXISTS (SELECT 1 FROM balances WHERE balances.person = costs.person)"
)
