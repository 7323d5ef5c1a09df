"""Queries: the arithmetic of amounts in SQL, on 64-bit integers, the same on every database.

Costs are computed and charged in the database, since a release may charge millions of people. An amount is a triple
(infinite, nats, units), as in `Amount.columns`, and SQL orders such triples like amounts. Sums carry units into nats by
a right shift, which rounds towards minus infinity, so that the same expression adds and subtracts.
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
    "count_short",
    "keep_part",
    "take",
    "total",
]

AMOUNT = ("infinite", "nats", "units")  # the suffixes of an amount's three columns
_UNITS_MASK = UNITS_PER_NAT - 1  # `& _UNITS_MASK` is the remainder of units below a whole nat
LARGEST_DENOMINATOR = 2**20  # of a share, so that products stay within 64 bits
# A limit that limits nothing. But databases never merge a subquery with a limit into the query around it; without one
# they would compute its expressions anew wherever they are used.
_NO_LIMIT = f"LIMIT {2**63 - 1}"


def columns(name: str) -> str:
    """The names of an amount's three columns, separated by commas."""
    return ", ".join(f"{name}_{part}" for part in AMOUNT)


def added(name: str, other: str, sign: str = "+") -> str:
    """The SQL assignments that add the amount `other` to the amount `name` or, with the sign "-", subtract it."""
    units = f"({name}_units {sign} {other}_units)"
    return (
        f"{name}_infinite = {name}_infinite {sign} {other}_infinite, "
        f"{name}_nats = {name}_nats {sign} {other}_nats + ({units} >> {UNIT_BITS}), "
        f"{name}_units = {units} & {_UNITS_MASK}"
    )


def total(name: str) -> str:
    """Five SQL sums that make up the total of an amount over all rows; `amount_of_total` puts them together.

    Nats and units are summed in halves of 20 bits each, so that every sum stays within 64 bits.
    """
    half = UNIT_BITS // 2
    parts = [f"{name}_infinite"]
    parts += [f"{name}_nats >> {half}", f"{name}_nats & {2**half - 1}"]
    parts += [f"{name}_units >> {half}", f"{name}_units & {2**half - 1}"]
    return ", ".join(f"COALESCE(SUM({part}), 0)" for part in parts)


def _capped_by_left() -> str:
    """The cost: the share of the grant, but at most what is left; nothing if more was spent than is granted now."""
    smaller = f"({columns('shared')}) < ({columns('left')})"
    cost = ["shared_infinite * left_infinite AS cost_infinite"]
    cost += [
        f"CASE WHEN left_infinite > 0 THEN shared_{part} WHEN left_nats < 0 THEN 0 "
        f"WHEN {smaller} THEN shared_{part} ELSE left_{part} END AS cost_{part}"
        for part in ("nats", "units")
    ]
    return ", ".join(cost)


# What is left of a grant: the grant minus all costs, which is negative if more was spent. An infinite cost counts as
# 2**42 nats, more than any finite amount.
_INFINITE_COST_BITS = 42
_LEFT = f"""granted_infinite AS left_infinite,
    granted_nats - spent_nats - (spent_infinite << {_INFINITE_COST_BITS})
        + ((granted_units - spent_units) >> {UNIT_BITS}) AS left_nats,
    (granted_units - spent_units) & {_UNITS_MASK} AS left_units"""


def _scaled(name: str, share: Fraction, *, up: bool) -> tuple[str, str]:
    """SQL for the nats and the units of a share of an amount, rounded to whole units, down or `up`.

    Nats are at most 2**40, and the numerator and denominator of a share at most 2**20, so everything fits into 64 bits.
    """
    numerator, denominator = share.as_integer_ratio()
    assert denominator <= LARGEST_DENOMINATOR
    nats = f"({name}_nats * {numerator})"
    rounding = denominator - 1 if up else 0
    exact = f"(({nats} % {denominator}) * {UNITS_PER_NAT} + {name}_units * {numerator} + {rounding})"
    units = f"({exact} / {denominator})"
    return f"{nats} / {denominator} + ({units} >> {UNIT_BITS})", f"{units} & {_UNITS_MASK}"


def _shared(share: Fraction, base: Mapping[str, str]) -> str:
    """The columns `shared`: a share of an amount, whose columns are `base`: the grant, or the budget in the data."""
    nats, units = _scaled("base", share, up=False)
    infinite = base["infinite"]
    for part in ("nats", "units"):
        nats, units = (text.replace(f"base_{part}", base[part]) for text in (nats, units))
    return f"{infinite} AS shared_infinite, {nats} AS shared_nats, {units} AS shared_units"


_ASKED_BALANCES = "FROM asked JOIN people ON people.id = asked.id JOIN balances ON balances.person = people.number"
_GRANTED = {part: f"granted_{part}" for part in AMOUNT}
_IN_DATA = {part: f"budget_{part}" for part in AMOUNT}


def _costs(people: str, most: Amount, least: Amount) -> str:
    """What each of these people pays: the smallest of `shared`, `left` and `most`; nothing if that is below `least`.

    `people` is a query with the columns `shared` and `left`. Each step is a subquery of the next; see `_NO_LIMIT`.
    """
    steps = [_capped_by_left()]
    if not most.infinite:
        steps.append(_at_most(most))
    if least > ONE_UNIT:
        steps.append(_at_least(least))
    for step in steps:
        people = f"SELECT person, place, {step} FROM ({people} {_NO_LIMIT}) AS step"
    return f"{people} {_NO_LIMIT}"


def _at_most(most: Amount) -> str:
    """The cost, but at most this amount."""
    numbers = dict(zip(AMOUNT, most.columns, strict=True))
    smaller = f"({columns('cost')}) < ({', '.join(map(str, most.columns))})"
    return ", ".join(f"CASE WHEN {smaller} THEN cost_{part} ELSE {numbers[part]} END AS cost_{part}" for part in AMOUNT)


def _at_least(least: Amount) -> str:
    """The cost, or nothing if it is below this amount."""
    enough = f"({columns('cost')}) >= ({', '.join(map(str, least.columns))})"
    return ", ".join(f"CASE WHEN {enough} THEN cost_{part} ELSE 0 END AS cost_{part}" for part in AMOUNT)


def take(release: int, share: Fraction, most: Amount, least: Amount, *, budgets_in_data: bool) -> str:
    """Write what a release costs everybody in the table `asked` to the table of costs.

    If a person is in `asked` twice, executing it is a `RepeatedKeyError`.
    """
    shared = _shared(share, _IN_DATA if budgets_in_data else _GRANTED)
    people = f"SELECT people.number AS person, place, {_LEFT}, {shared} {_ASKED_BALANCES}"
    cost = columns("cost")
    return (
        f"INSERT INTO costs (release, person, place, {cost}) SELECT {release}, person, place, {cost} "
        f"FROM ({_costs(people, most, least)}) AS taken"
    )


def count_by_cost(share: Fraction, most: Amount, least: Amount) -> str:
    """How many people would pay each cost, if everybody in the ledger were asked."""
    people = f"SELECT person AS place, person, {_LEFT}, {_shared(share, _GRANTED)} FROM balances"
    cost = columns("cost")
    return f"SELECT {cost}, COUNT(*) FROM ({_costs(people, most, least)}) AS taken GROUP BY {cost} ORDER BY {cost}"


_NEXT_TO_NOTHING = 2**20  # units, about a millionth of a nat: a rest that is due to rounding


def count_short(share: Fraction, most: Amount, *, budgets_in_data: bool) -> str:
    """Of the people in the table `asked` who grant something: how many there are, and how many have too little left.

    Namely nothing; or something, but less than the share, capped at `most`.
    """
    shared = _shared(share, _IN_DATA if budgets_in_data else _GRANTED)
    people = f"SELECT {_LEFT}, {shared} {_ASKED_BALANCES} WHERE ({columns('granted')}) > (0, 0, 0)"
    nothing = f"({columns('left')}) < (0, 0, {_NEXT_TO_NOTHING})"
    less = f"({columns('left')}) < ({columns('shared')})"
    if not most.infinite:
        less += f" AND ({columns('left')}) < ({', '.join(map(str, most.columns))})"
    return (
        f"SELECT COUNT(*), COUNT(CASE WHEN {nothing} THEN 1 END), COUNT(CASE WHEN {less} AND NOT {nothing} THEN 1 END) "
        f"FROM ({people} {_NO_LIMIT}) AS asking WHERE ({columns('shared')}) > (0, 0, 0)"
    )


# In the unbounded model an error must not reveal that somebody has two records, so such people are left out.
LEAVE_OUT_REPEATED = "DELETE FROM asked WHERE id IN (SELECT id FROM asked GROUP BY id HAVING COUNT(*) > 1)"

# People whose budget in the data exceeds their grant. Those who have withdrawn are not counted: the data may be older
# than the withdrawal, and they take no part anyway.
COUNT_ABOVE_GRANT = (
    f"SELECT COUNT(*) {_ASKED_BALANCES} WHERE ({columns('budget')}) > ({columns('granted')}) AND people.withdrawn = 0"
)

# Costs of zero are not kept.
FORGET_NOTHING = "DELETE FROM costs WHERE release = ? AND cost_infinite = 0 AND cost_nats = 0 AND cost_units = 0"

# The position of a record may reveal something about its value, as in a sorted table.
FORGET_PLACES = "UPDATE costs SET place = 0 WHERE release = ?"

_OF_RELEASE = "FROM costs WHERE release = ? AND costs.person = balances.person"
CHARGE = f"UPDATE balances SET {added('spent', 'cost')} {_OF_RELEASE}"
UPSERT_COSTS = (
    f"INSERT INTO balances (person, {columns('spent')}) SELECT person, {columns('cost')} FROM costs WHERE release = ?"
)
ADD_TO_SPENT = f"ON CONFLICT (person) DO UPDATE SET {added('spent', 'excluded.spent')}"
REFUND = f"UPDATE balances SET {added('spent', 'cost', '-')} {_OF_RELEASE}"


# A condition that restricts a change to certain people, whose numbers are then in the column `place` of `asked`.
AMONG_ASKED = " AND costs.person IN (SELECT place FROM asked)"


def keep_part(part: Fraction) -> str:
    """Reduce the costs of a release to this fraction of them, rounded up; infinite costs stay infinite."""
    if part == 0:
        return "DELETE FROM costs WHERE release = ?"
    nats, units = _scaled("cost", part, up=True)
    return f"UPDATE costs SET cost_nats = {nats}, cost_units = {units} WHERE release = ?"


# Checks for `verify`, each of which counts errors. A grant may be lowered below what was spent by then (`before`), but
# nothing may be spent beyond both.
_ABOVE = "granted_infinite = 0 AND " + " AND ".join(
    f"({columns('spent')}) > ({columns(name)})" for name in ("granted", "before")
)
ABOVE_GRANT = f"SELECT COUNT(*) FROM balances WHERE {_ABOVE}"
ABOVE_EARLIER_GRANT = f"SELECT COUNT(*) FROM changes WHERE {_ABOVE}"
_SUM_NATS = f"CAST(SUM(cost_nats) + (CAST(SUM(cost_units) AS BIGINT) >> {UNIT_BITS}) AS BIGINT)"
_SUM_UNITS = f"CAST(SUM(cost_units) AS BIGINT) & {_UNITS_MASK}"
_SUMS = (
    f"SELECT person, CAST(SUM(cost_infinite) AS BIGINT) AS sum_infinite, {_SUM_NATS} AS sum_nats, "
    f"{_SUM_UNITS} AS sum_units FROM costs GROUP BY person"
)
WRONG_SUMS = (
    f"SELECT COUNT(*) FROM balances LEFT JOIN ({_SUMS}) AS sums ON sums.person = balances.person WHERE "
    + " OR ".join(f"spent_{part} <> COALESCE(sum_{part}, 0)" for part in AMOUNT)
)
# With NOT EXISTS rather than NOT IN, for which PostgreSQL would search all people once per cost.
COSTS_OF_NOBODY = (
    "SELECT COUNT(*) FROM costs WHERE NOT EXISTS (SELECT 1 FROM balances WHERE balances.person = costs.person)"
)
COSTS_OF_NOTHING = (
    "SELECT COUNT(*) FROM costs WHERE NOT EXISTS (SELECT 1 FROM releases WHERE releases.number = costs.release)"
)
