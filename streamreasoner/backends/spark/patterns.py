"""Patterns of facts as conditions on columns. Invariant: a driver's table and a frame agree.

Expressions are SQL text: one call across to the JVM each, however large they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from streamreasoner.backends.spark.columns import PREDICATE, argument
from streamreasoner.plan.algebra import Column as Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from streamreasoner.plan.algebra import Pattern, ProgramPlan

Constants = tuple[tuple[int, int], ...]


def repeated(pattern: Pattern) -> list[tuple[int, int]]:
    """Pairs of positions that hold the same variable."""
    first: dict[str, int] = {}
    pairs = []
    for position, one in enumerate(pattern.arguments):
        if isinstance(one, Variable) and first.setdefault(one.name, position) != position:
            pairs.append((first[one.name], position))
    return pairs


def places(pattern: Pattern) -> dict[str, int]:
    """The first position of every variable."""
    found: dict[str, int] = {}
    for position, one in enumerate(pattern.arguments):
        if isinstance(one, Variable):
            found.setdefault(one.name, position)
    return found


def encode(pattern: Pattern, intern: Callable[[str], int]) -> Constants:
    """Positions and ids of the constants."""
    return tuple((position, intern(term)) for position, term in pattern.constants)


def heads(plan: ProgramPlan, intern: Callable[[str], int]) -> list[tuple[str, Constants, int]]:
    """What the strata derive, with their numbers; all other facts are the input's."""
    return [
        (head.predicate, encode(head, intern), number)
        for number, stratum in enumerate(plan.strata, start=1)
        for head in stratum.heads
    ]


def condition(predicate: str, constants: Constants) -> str:
    """SQL that says whether a row of a frame is a fact of a predicate with these constants."""
    wanted = [f"{PREDICATE} = {quoted(predicate)}"]
    wanted += [f"{argument(position)} = {value}" for position, value in constants]
    return " AND ".join(wanted)


def quoted(text: str) -> str:
    """SQL for a string; what dialects escape in their own ways is given by its code."""
    parts = [one for one in re.split(r"(['\\])", text) if one]
    found = [f"chr({ord(one)})" if one in "'\\" else f"'{one}'" for one in parts]
    return f"({' || '.join(found)})" if len(found) > 1 else "".join(found) or "''"


def members(table: pa.Table, predicate: str, constants: Constants) -> pa.Table:
    """The rows of a table that are facts of a predicate with these constants."""
    mask = pc.equal(table[PREDICATE], predicate)
    for position, value in constants:
        mask = pc.and_(mask, pc.equal(table[argument(position)], value))
    return table.filter(mask)


def match_table(table: pa.Table, pattern: Pattern, constants: Constants) -> pa.Table:
    """The rows of a table that match."""
    found = members(table, pattern.predicate, constants)
    for one, other in repeated(pattern):
        found = found.filter(pc.equal(found[argument(one)], found[argument(other)]))
    return found


def matches(pattern: Pattern, constants: Constants) -> str:
    """SQL that says whether a fact matches."""
    wanted = [condition(pattern.predicate, constants)]
    wanted += [f"{argument(one)} = {argument(other)}" for one, other in repeated(pattern)]
    return " AND ".join(wanted)


def first_that_holds(choices: Sequence[tuple[str, Constants, int]], otherwise: int) -> str:
    """SQL for the value of the first (predicate, constants, value) that a row satisfies."""
    cases = " ".join(
        f"WHEN {condition(predicate, constants)} THEN {value}"
        for predicate, constants, value in choices
    )
    return f"CASE {cases} ELSE {otherwise} END" if cases else str(otherwise)
