"""The arithmetic of amounts in SQL, on whole numbers of 64 bits, the same on every database.

An amount is (infinite, nats, units), as `Amount.columns` has it; such triples compare as the amounts do. Sums carry
units into nats by a shift, which rounds down, so that the same words add and subtract.
"""

from __future__ import annotations

from pdpmean.core.choices import SHARE_UNIT
from pdpmean.ledger.amount import UNIT_BITS, UNITS_PER_NAT

__all__ = [
    "ABOVE_EARLIER_GRANT",
    "ABOVE_GRANT",
    "AMOUNT",
    "CHARGE",
    "COSTS_OF_NOBODY",
    "COUNT_ABOVE_GRANT",
    "COUNT_BY_COST",
    "LEAVE_OUT_REPEATED",
    "RECORD_COSTS",
    "REFUND",
    "TAKE",
    "WHAT_IS_LEFT",
    "WRONG_SUMS",
    "added",
    "columns",
    "keep_part",
    "total",
]

AMOUNT = ("infinite", "nats", "units")
_UNITS_BEYOND = UNITS_PER_NAT - 1
_SHARE_BITS = SHARE_UNIT.bit_length() - 1
_SHARE_BEYOND = SHARE_UNIT - 1


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


def _scaled(name: str, share: str, *, up: bool) -> tuple[str, str]:
    """The nats and units of ``share / SHARE_UNIT`` times an amount, its units rounded down or `up`.

    Whole nats are at most 2**40 and a share at most 2**20, so that no product is beyond 64 bits.
    """
    nats = f"({name}_nats * {share})"
    from_units = f"(({name}_units * {share} + {_SHARE_BEYOND if up else 0}) >> {_SHARE_BITS})"
    units = f"((({nats} & {_SHARE_BEYOND}) << {UNIT_BITS - _SHARE_BITS}) + {from_units})"
    return f"({nats} >> {_SHARE_BITS}) + ({units} >> {UNIT_BITS})", f"{units} & {_UNITS_BEYOND}"


_BASE = ", ".join(f"COALESCE(budget_{part}, granted_{part}) AS base_{part}" for part in AMOUNT)
_LIMITS = "CAST(? AS BIGINT) AS share, " + ", ".join(
    f"CAST(? AS BIGINT) AS {name}_{part}" for name in ("most", "least") for part in AMOUNT
)

_SHARED_NATS, _SHARED_UNITS = _scaled("base", "share", up=False)
_SHARED = f"base_infinite AS shared_infinite, {_SHARED_NATS} AS shared_nats, {_SHARED_UNITS} AS shared_units"

# What each person who is asked takes part with: a share of what they grant (or of what the data says), at most what is
# left and at most `most`; nothing, if that is less than `least`. Parameters: share, most, least.
_SHARES = f"SELECT place, person, {columns('left')}, {columns('most')}, {columns('least')}, {_SHARED} FROM ({{}}) AS a"
_WANTED = (
    f"SELECT place, person, {columns('left')}, {columns('least')}, "
    f"{_smaller('shared', 'most', 'wanted')} FROM ({{}}) AS b"
)
_COST = f"SELECT place, person, {columns('least')}, {_smaller('wanted', 'left', 'cost')} FROM ({{}}) AS c"
_ENOUGH = f"({columns('cost')}) >= ({columns('least')})"
_TAKEN = ", ".join(f"CASE WHEN {_ENOUGH} THEN cost_{part} ELSE 0 END AS cost_{part}" for part in AMOUNT)
_ASKED_PEOPLE = (
    f"SELECT place, people.number AS person, {_BASE}, {WHAT_IS_LEFT}, {_LIMITS} "
    "FROM asked JOIN people ON people.id = asked.id"
)
_EVERYBODY = (
    f"SELECT number AS place, number AS person, {', '.join(f'granted_{part} AS base_{part}' for part in AMOUNT)}, "
    f"{WHAT_IS_LEFT}, {_LIMITS} FROM people"
)


def _costs_of(people: str) -> str:
    return f"SELECT place, person, {_TAKEN} FROM ({_COST.format(_WANTED.format(_SHARES.format(people)))}) AS d"


TAKE = f"INSERT INTO taking (place, person, {columns('cost')}) {_costs_of(_ASKED_PEOPLE)}"

# How many people would take part with how much, if everybody were asked. The same parameters.
COUNT_BY_COST = (
    f"SELECT {columns('cost')}, COUNT(*) FROM ({_costs_of(_EVERYBODY)}) AS e "
    f"GROUP BY {columns('cost')} ORDER BY {columns('cost')}"
)

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


def keep_part(share: int) -> str:
    """Of what a release costs, this share, rounded up: `share` is an integer of this program, and no text."""
    nats, units = _scaled("cost", str(int(share)), up=True)
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
