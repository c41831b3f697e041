"""Patterns of facts as conditions on columns. Invariant: tables and frames match alike.

Expressions are SQL text, so that each costs one call to the JVM, however large it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from streamreasoner.backends.spark.queries.columns import PREDICATE, argument
from streamreasoner.backends.spark.queries.sql import condition
from streamreasoner.plan.operands import Column as Variable

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from streamreasoner.backends.spark.queries.sql import Constants
    from streamreasoner.plan.operands import Pattern
    from streamreasoner.plan.program_plan import ProgramPlan


def repeated(pattern: Pattern) -> list[tuple[int, int]]:
    """Pairs of positions that hold the same variable."""
    first: dict[str, int] = {}
    pairs = []
    for position, operand in enumerate(pattern.arguments):
        if isinstance(operand, Variable) and first.setdefault(operand.name, position) != position:
            pairs.append((first[operand.name], position))
    return pairs


def places(pattern: Pattern) -> dict[str, int]:
    """The first position of every variable."""
    first: dict[str, int] = {}
    for position, operand in enumerate(pattern.arguments):
        if isinstance(operand, Variable):
            first.setdefault(operand.name, position)
    return first


def encode(pattern: Pattern, intern: Callable[[str], int]) -> Constants:
    """Positions and ids of the constants."""
    return tuple((position, intern(term)) for position, term in pattern.constants)


def heads(plan: ProgramPlan, intern: Callable[[str], int]) -> list[tuple[str, Constants, int]]:
    """The heads of each stratum, with its number; all other facts come from the input only."""
    return [
        (head.predicate, encode(head, intern), number)
        for number, stratum in enumerate(plan.strata, start=1)
        for head in stratum.heads
    ]


def members(table: pa.Table, predicate: str, constants: Constants) -> pa.Table:
    """The rows of a table that are facts of a predicate with these constants."""
    mask = pc.equal(table[PREDICATE], predicate)
    for position, value in constants:
        mask = pc.and_(mask, pc.equal(table[argument(position)], value))
    return table.filter(mask)


def match_table(table: pa.Table, pattern: Pattern, constants: Constants) -> pa.Table:
    """The rows of a table that match."""
    rows = members(table, pattern.predicate, constants)
    for first, second in repeated(pattern):
        rows = rows.filter(pc.equal(rows[argument(first)], rows[argument(second)]))
    return rows


def matches(pattern: Pattern, constants: Constants) -> str:
    """SQL that tests whether a fact matches."""
    return condition(pattern.predicate, constants, repeated(pattern))
