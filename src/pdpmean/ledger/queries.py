"""The arithmetic of amounts in SQL, on 64-bit integers, the same on every database.

An amount is (infinite, nats, units), as in `Amount.columns`, and such triples are ordered like amounts. Sums carry
units into nats by a shift, which rounds down, so that the same expression adds and subtracts.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from pdpmean.ledger.amount import ONE_UNIT, UNIT_BITS, UNITS_PER_NAT, Amount

__all__ = [
    "ABOVE_EARLIER_GRANT",
    "ABOVE_GRANT",
    "ADD_TO_SPENT",
    "AMONG_ASKED",
    "AMOUNT",
    "CHARGE",
    "COSTS_OF_NOBODY",
    "COSTS_OF_NOTHING",
    "COUNT_ABOVE_GRANT",
    "FORGET_NOTHING",
    "FORGET_PLACES",
    "LARGEST_DENOMINATOR",
    "LEAVE_OUT_REPEATED",
    "REFUND",
    "UPSERT_COSTS",
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
# No limit at all, but databases never merge a subquery that has one into the query around it. Otherwise they would
# compute an expression anew wherever it is used.
_ALL = f"LIMIT {2**63 - 1}"


def columns(name: str) -> str:
    """The three columns of an amount."""
    return ", ".join(f"{name}_{part}" for part in AMOUNT)


def added(name: str, other: str, sign: str = "+") -> str:
    """The assignments that add one amount to another, or subtract it."""
    units = f"({name}_units {sign} {other}_units)"
    return (
        f"{name}_infinite = {name}_infinite {sign} {other}_infinite, "
        f"{name}_nats = {name}_nats {sign} {other}_nats + ({units} >> {UNIT_BITS}), "
        f"{name}_units = {units} & {_UNITS_BEYOND}"
    )


def total(name: str) -> str:
    """The sums that make up a total, each within 64 bits; `amount_of_total` puts them together."""
    half = UNIT_BITS // 2
    parts = [f"{name}_infinite"]
    parts += [f"{name}_nats >> {half}", f"{name}_nats & {2**half - 1}"]
    parts += [f"{name}_units >> {half}", f"{name}_units & {2**half - 1}"]
    return ", ".join(f"COALESCE(SUM({part}), 0)" for part in parts)


def _of_what_is_left() -> str:
    """The cost: what is wanted, but at most what is left, and nothing if more was spent than is granted now."""
    smaller = f"({columns('shared')}) < ({columns('left')})"
    cost = ["shared_infinite * left_infinite AS cost_infinite"]
    cost += [
        f"CASE WHEN left_infinite > 0 THEN shared_{part} WHEN left_nats < 0 THEN 0 "
        f"WHEN {smaller} THEN shared_{part} ELSE left_{part} END AS cost_{part}"
        for part in ("nats", "units")
    ]
    return ", ".join(cost)


# What is left of a grant, negative if more was spent. Infinite spending counts as more than any finite amount.
_BEYOND_ALL = 42  # bits of nats
_WHAT_IS_LEFT = f"""granted_infinite AS left_infinite,
    granted_nats - spent_nats - (spent_infinite << {_BEYOND_ALL})
        + ((granted_units - spent_units) >> {UNIT_BITS}) AS left_nats,
    (granted_units - spent_units) & {_UNITS_BEYOND} AS left_units"""


def _scaled(name: str, share: Fraction, *, up: bool) -> tuple[str, str]:
    """The nats and units of a share of an amount, rounded down or `up` to units.

    Nats are at most 2**40, and numerator and denominator of a share at most 2**20, so everything fits into 64 bits.
    """
    part, whole = share.as_integer_ratio()
    assert whole <= LARGEST_DENOMINATOR
    nats = f"({name}_nats * {part})"
    exact = f"(({nats} % {whole}) * {UNITS_PER_NAT} + {name}_units * {part} + {whole - 1 if up else 0})"
    units = f"({exact} / {whole})"
    return f"{nats} / {whole} + ({units} >> {UNIT_BITS})", f"{units} & {_UNITS_BEYOND}"


def _shared(share: Fraction, base: Mapping[str, str]) -> str:
    """A share of the grant, or of the budget in the data."""
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

    Each step is a subquery of the next; see `_ALL`.
    """
    steps = [_of_what_is_left()]
    if not most.infinite:
        steps.append(_at_most(most))
    if least > ONE_UNIT:
        steps.append(_at_least(least))
    for step in steps:
        people = f"SELECT person, place, {step} FROM ({people} {_ALL}) AS step"
    return f"{people} {_ALL}"


def _at_most(most: Amount) -> str:
    numbers = dict(zip(AMOUNT, most.columns, strict=True))
    smaller = f"({columns('cost')}) < ({', '.join(map(str, most.columns))})"
    return ", ".join(f"CASE WHEN {smaller} THEN cost_{part} ELSE {numbers[part]} END AS cost_{part}" for part in AMOUNT)


def _at_least(least: Amount) -> str:
    enough = f"({columns('cost')}) >= ({', '.join(map(str, least.columns))})"
    return ", ".join(f"CASE WHEN {enough} THEN cost_{part} ELSE 0 END AS cost_{part}" for part in AMOUNT)


def take(release: int, share: Fraction, most: Amount, least: Amount, *, budgets_in_data: bool) -> str:
    """Record what a release costs everybody who is asked; asking a person twice is a `RepeatedKeyError`."""
    shared = _shared(share, _IN_DATA if budgets_in_data else _GRANTED)
    people = f"SELECT people.number AS person, place, {_WHAT_IS_LEFT}, {shared} {_ASKED_BALANCES}"
    cost = columns("cost")
    return (
        f"INSERT INTO costs (release, person, place, {cost}) SELECT {release}, person, place, {cost} "
        f"FROM ({_costs(people, most, least)}) AS taken"
    )


def count_by_cost(share: Fraction, most: Amount, least: Amount) -> str:
    """How many people would take part at each cost, if everybody were asked."""
    people = f"SELECT person AS place, person, {_WHAT_IS_LEFT}, {_shared(share, _GRANTED)} FROM balances"
    cost = columns("cost")
    return f"SELECT {cost}, COUNT(*) FROM ({_costs(people, most, least)}) AS taken GROUP BY {cost} ORDER BY {cost}"


LEAVE_OUT_REPEATED = "DELETE FROM asked WHERE id IN (SELECT id FROM asked GROUP BY id HAVING COUNT(*) > 1)"

# Not counting people who have withdrawn: the data may be older than that, and they take no part anyway.
COUNT_ABOVE_GRANT = (
    f"SELECT COUNT(*) {_ASKED_BALANCES} WHERE ({columns('budget')}) > ({columns('granted')}) AND people.withdrawn = 0"
)

FORGET_NOTHING = "DELETE FROM costs WHERE release = ? AND cost_infinite = 0 AND cost_nats = 0 AND cost_units = 0"

# Where a record lies may say something about its value, as in a sorted table.
FORGET_PLACES = "UPDATE costs SET place = 0 WHERE release = ?"

_OF_RELEASE = "FROM costs WHERE release = ? AND costs.person = balances.person"
CHARGE = f"UPDATE balances SET {added('spent', 'cost')} {_OF_RELEASE}"
UPSERT_COSTS = (
    f"INSERT INTO balances (person, {columns('spent')}) SELECT person, {columns('cost')} FROM costs WHERE release = ?"
)
ADD_TO_SPENT = f"ON CONFLICT (person) DO UPDATE SET {added('spent', 'excluded.spent')}"
REFUND = f"UPDATE balances SET {added('spent', 'cost', '-')} {_OF_RELEASE}"


AMONG_ASKED = " AND costs.person IN (SELECT place FROM asked)"  # where people are asked for by their numbers


def keep_part(part: Fraction) -> str:
    """Lower the costs of a release to this part of them, rounded up."""
    if part == 0:
        return "DELETE FROM costs WHERE release = ?"
    nats, units = _scaled("cost", part, up=True)
    return f"UPDATE costs SET cost_nats = {nats}, cost_units = {units} WHERE release = ?"


# Checks, each of which counts errors.
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
# Not by NOT IN, for which PostgreSQL would search all people once per cost.
COSTS_OF_NOBODY = (
    "SELECT COUNT(*) FROM costs WHERE NOT EXISTS (SELECT 1 FROM balances WHERE balances.person = costs.person)"
)
COSTS_OF_NOTHING = (
    "SELECT COUNT(*) FROM costs WHERE NOT EXISTS (SELECT 1 FROM releases WHERE releases.number = costs.release)"
)
