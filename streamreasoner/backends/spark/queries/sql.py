"""The SQL of the backend. Invariant: every text means the same to Spark and to DuckDB.

Sums of integers are cast, because their types differ; strings are made by `quoted`. A query names
the tables that it reads: `rows`, unless it reads several. All are tried on both engines by
`tests/integration/test_queries_on_spark.py`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamreasoner.backends.spark.queries.columns import (
    CLOSURE,
    DERIVED,
    EPOCH,
    ITERATION,
    LATTICE,
    MULTIPLICITY,
    OLD,
    PLAIN,
    PREDICATE,
    RANK,
    RIGHT,
    SIGN,
    STRATUM,
    TRANSITION,
    argument,
)
from streamreasoner.engine.updates import MAX_MULTIPLICITY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Constants = tuple[tuple[int, int], ...]
"""Positions of arguments, with the ids that they must have."""

# Expressions -------------------------------------------------------------------------------------


def quoted(text: str) -> str:
    """A string; characters that dialects escape differently are given by code point."""
    parts = [part for part in re.split(r"(['\\])", text) if part]
    literals = [f"chr({ord(part)})" if part in "'\\" else f"'{part}'" for part in parts]
    return f"({' || '.join(literals)})" if len(literals) > 1 else "".join(literals) or "''"


def condition(
    predicate: str, constants: Constants, repeated: Iterable[tuple[int, int]] = ()
) -> str:
    """Whether a row is a fact of a predicate with these constants, and equal arguments in pairs."""
    tests = [f"{PREDICATE} = {quoted(predicate)}"]
    tests += [f"{argument(position)} = {value}" for position, value in constants]
    tests += [f"{argument(first)} = {argument(second)}" for first, second in repeated]
    return " AND ".join(tests)


def first_that_holds(choices: Sequence[tuple[str, Constants, int]], otherwise: int) -> str:
    """The value of the first (predicate, constants, value) that a row satisfies."""
    cases = " ".join(
        f"WHEN {condition(predicate, constants)} THEN {value}"
        for predicate, constants, value in choices
    )
    return f"CASE {cases} ELSE {otherwise} END" if cases else str(otherwise)


def total(expression: str, name: str = "") -> str:
    """The sum of an expression, named after it unless a name is given."""
    return f"CAST(sum({expression}) AS BIGINT) AS {name or expression}"


# Rows --------------------------------------------------------------------------------------------


def filtered(*tests: str) -> str:
    """The rows that pass all tests."""
    return f"SELECT * FROM rows WHERE {' AND '.join(tests) or 'true'}"


def extended(expression: str, name: str, *tests: str) -> str:
    """The rows that pass all tests, with one more column."""
    return f"SELECT *, {expression} AS {name} FROM rows WHERE {' AND '.join(tests) or 'true'}"


def of_epoch(columns: Iterable[str], epoch: int) -> str:
    """Columns, and an epoch."""
    return f"SELECT {_list(columns)}, CAST({epoch} AS BIGINT) AS {EPOCH} FROM rows"


def semijoined(columns: Iterable[str]) -> str:
    """The `rows` that have the values of one of the `keys` in columns."""
    return f"SELECT rows.* FROM rows SEMI JOIN keys USING ({_list(columns)})"


def antijoined(columns: Iterable[str]) -> str:
    """The `rows` that have the values of none of the `keys` in columns."""
    return f"SELECT rows.* FROM rows ANTI JOIN keys USING ({_list(columns)})"


def heads(predicate: str, cells: Iterable[str]) -> str:
    """Facts of a predicate from the cells of `changed` results, at the iteration of reductions."""
    head = ", ".join(f"CAST({cell} AS BIGINT) AS {argument(i)}" for i, cell in enumerate(cells))
    return (
        f"SELECT {quoted(predicate)} AS {PREDICATE}, {head}, 1 AS {ITERATION}, {MULTIPLICITY}"
        " FROM changed"
    )


# Differences -------------------------------------------------------------------------------------


def consolidated(place: Iterable[str]) -> str:
    """Differences summed by place, without zeros."""
    return f"SELECT * FROM ({_sums(place)}) WHERE {_CHANGED}"


def consolidated_in_strata(place: Iterable[str], stratum_of: str) -> str:
    """Differences summed by place, without zeros, and the stratum of each."""
    return (
        f"SELECT {_list(place)}, {stratum_of} AS {STRATUM}, {MULTIPLICITY}, {TRANSITION}"
        f" FROM ({_sums(place)}) WHERE {_CHANGED}"
    )


def multiplicities(place: Iterable[str], stratum_of: str, lattice_of: str) -> str:
    """Multiplicities summed by place, without zeros, and whether one overflows."""
    return (
        f"SELECT {_list(place)}, {stratum_of} AS {STRATUM}, {lattice_of} AS {LATTICE},"
        f" CAST(IF(abs(total) > {MAX_MULTIPLICITY}, 0, total) AS BIGINT) AS {MULTIPLICITY},"
        f" abs(total) > {MAX_MULTIPLICITY} AS overflow FROM"
        # Wider than a multiplicity, to detect overflow.
        f" (SELECT {_list(place)}, sum(CAST({MULTIPLICITY} AS DECIMAL(38, 0))) AS total"
        f" FROM rows GROUP BY {_list(place)}) WHERE total != 0"
    )


def both(place: Iterable[str]) -> str:
    """The differences of `multiplicities` and of `transitions`, summed by place, without zeros."""
    names = _list(place)
    rows = (
        f"(SELECT {names}, {MULTIPLICITY}, 0 AS {TRANSITION} FROM multiplicities"
        f" UNION ALL SELECT {names}, 0 AS {MULTIPLICITY}, {TRANSITION} FROM transitions)"
    )
    return f"SELECT * FROM ({_sums(place, rows)}) WHERE {_CHANGED}"


# An iteration ------------------------------------------------------------------------------------


def restricted(columns: Iterable[str], place: Iterable[str]) -> str:
    """The `multiplicities` of `affected` places, and those of lattices."""
    # Spark puts the columns of USING first, so the columns are named.
    names = _list(columns)
    return (
        f"SELECT {names} FROM multiplicities SEMI JOIN affected USING ({_list(place)})"
        f" WHERE {LATTICE} = {PLAIN}"
        f" UNION ALL SELECT {names} FROM multiplicities WHERE {LATTICE} != {PLAIN}"
    )


def until(place: Iterable[str], iteration: int) -> str:
    """Sums of `multiplicities` and `known` up to an iteration and before it; transitions at it."""
    here, fact = f"{ITERATION} = {iteration}", _list(place)
    return (
        f"SELECT {fact}, {total(MULTIPLICITY, 'upto')},"
        f" {total(f'IF({here}, 0, {MULTIPLICITY})', 'before')},"
        f" {total(f'IF({here}, {TRANSITION}, 0)', TRANSITION)}"
        f" FROM (SELECT {fact}, {ITERATION}, {MULTIPLICITY}, 0 AS {TRANSITION}"
        f" FROM multiplicities UNION ALL"
        f" SELECT {fact}, {ITERATION}, {MULTIPLICITY}, {TRANSITION} FROM known)"
        f" GROUP BY {fact}"
    )


def appearing(place: Iterable[str]) -> str:
    """Changed transitions outside of lattices: a fact is present if its sum is positive."""
    change = f"CAST(upto > 0 AS BIGINT) - CAST(before > 0 AS BIGINT) - {TRANSITION}"
    return (
        f"SELECT {_list(place)}, upto, before, {change} AS {TRANSITION} FROM rows"
        f" WHERE {LATTICE} = {PLAIN}"
    )


def winners(function: str, group: Iterable[str], value: str) -> str:
    """The value with the best rank in each group, up to an iteration and before it."""
    best, names = f"{function}_by", _list(group)
    return (
        f"SELECT {names},"
        f" {best}({value}, IF(upto > 0, {RANK}, NULL)) AS winner,"
        f" {best}({value}, IF(before > 0, {RANK}, NULL)) AS former"
        f" FROM rows GROUP BY {names}"
    )


def replacing(fact: Iterable[str], group: Iterable[str], value: str) -> str:
    """Changed transitions of candidates: the new of the `winners` replaces the former one."""
    wins = f"CAST(upto > 0 AND {value} IS NOT DISTINCT FROM winner AS BIGINT)"
    won = f"CAST(before > 0 AND {value} IS NOT DISTINCT FROM former AS BIGINT)"
    return (
        f"SELECT {_list(fact)}, {LATTICE}, upto, before,"
        f" {wins} - {won} - {TRANSITION} AS {TRANSITION}"
        f" FROM rows JOIN winners USING ({_list(group)})"
    )


def transitions(place: Iterable[str], stratum: int, iteration: int) -> str:
    """The `changed` transitions of an iteration, and whether a multiplicity overflows."""
    overflow = f"abs(upto - before) > {MAX_MULTIPLICITY}"
    return (
        f"SELECT {_list(place)}, {stratum} AS {STRATUM}, {iteration} AS {ITERATION},"
        f" {TRANSITION}, {overflow} AS overflow FROM changed"
        f" WHERE {TRANSITION} != 0 OR {overflow}"
    )


# Reductions --------------------------------------------------------------------------------------


def candidates(cells: Iterable[str]) -> str:
    """Multiplicities of the `members` of groups before the epoch, and with what has `changed`."""
    names = _list(cells)
    return (
        f"SELECT {names}, {total(OLD)}, {total(MULTIPLICITY)} FROM"
        f" (SELECT {names}, 0 AS {OLD}, {MULTIPLICITY} FROM changed UNION ALL"
        f" SELECT {names}, {MULTIPLICITY} AS {OLD}, {MULTIPLICITY} FROM members)"
        f" GROUP BY {names}"
    )


def candidates_of_none(cells: Iterable[str]) -> str:
    """Multiplicities of the members of groups before the epoch; a removed reduction has none."""
    names = _list(cells)
    return (
        f"SELECT {names}, {total(MULTIPLICITY, OLD)}, 0 AS {MULTIPLICITY} FROM rows"
        f" GROUP BY {names}"
    )


# Leaves of plans ---------------------------------------------------------------------------------


def visible(columns: Iterable[str], stratum_of: str, stratum: int, test: str) -> str:
    """Transitions that pass a test, with the columns of the right side of a join."""
    shown = ", ".join(f"{name} AS {RIGHT}{name}" for name in columns)
    return (
        # Facts of lower strata are present from iteration 0 on.
        f"SELECT {shown}, IF({stratum_of} < {stratum}, 0, {ITERATION})"
        f" AS {RIGHT}{ITERATION} FROM rows WHERE {test}"
    )


def joined(kept: Iterable[str], added: Mapping[str, str], on: Iterable[tuple[str, str]]) -> str:
    """Bindings of `left_` with those facts of `right_` that have equal columns.

    Args:
        kept: Columns of the bindings.
        added: Columns of the facts by their new name.
        on: Pairs of equal columns of bindings and facts.
    """
    bound = "".join(
        f"{cell}, "
        for cell in (*kept, *(f"{RIGHT}{cell} AS {name}" for name, cell in added.items()))
    )
    return (
        f"SELECT {bound}CAST(greatest({ITERATION}, {RIGHT}{ITERATION}) AS INT) AS {ITERATION},"
        f" {SIGN} * {RIGHT}{TRANSITION} AS {SIGN} {_join(on)}"
    )


def antijoin(kept: Iterable[str], on: Iterable[tuple[str, str]]) -> str:
    """Bindings of `left_` less those that facts of `right_` have equal columns with."""
    bound = "".join(f"{name}, " for name in kept)
    return (
        f"SELECT {bound}{ITERATION}, {SIGN} FROM left_ UNION ALL"
        f" SELECT {bound}CAST(greatest({ITERATION}, {RIGHT}{ITERATION}) AS INT) AS {ITERATION},"
        f" -{SIGN} * {RIGHT}{TRANSITION} AS {SIGN} {_join(on)}"
    )


def _join(on: Iterable[tuple[str, str]]) -> str:
    equal = " AND ".join(f"{RIGHT}{right} = {left}" for left, right in on)
    return f"FROM left_ JOIN right_ ON {equal or 'true'}"


# What an epoch changes ---------------------------------------------------------------------------


def by_iteration(place: Iterable[str]) -> str:
    """`known` multiplicities (m) and transitions (t), with `differences` (dm, dt), by place."""
    names = _list(place)
    return (
        f"SELECT {names}, {total('m')}, {total('t')}, {total('dm')}, {total('dt')},"
        f" max(own) AS own FROM (SELECT {names}, {MULTIPLICITY} AS m, {TRANSITION} AS t,"
        f" 0 AS dm, 0 AS dt, 0 AS own FROM known UNION ALL SELECT {names}, 0 AS m, 0 AS t,"
        f" {MULTIPLICITY} AS dm, {TRANSITION} AS dt, 1 AS own FROM differences)"
        f" GROUP BY {names}"
    )


def by_fact(fact: Iterable[str]) -> str:
    """The states of facts before the epoch and now, from the rows of `by_iteration`."""
    names = _list(fact)
    return (
        f"SELECT {names}, {_state('m', 't', 'was_')}, {_state('m + dm', 't + dt', '')},"
        f" max(own) AS own FROM rows GROUP BY {names}"
    )


def _state(multiplicity: str, transition: str, prefix: str) -> str:
    """The state of a fact, from multiplicities and transitions by iteration."""
    sums = {
        "asserted": f"IF({ITERATION} = 0, {multiplicity}, 0)",
        "present": transition,
        "total": multiplicity,
        "trace_rows": f"CAST({multiplicity} != 0 AS INT)",
    }
    totals = [total(expression, f"{prefix}{name}") for name, expression in sums.items()]
    held = f"max(CAST({multiplicity} != 0 OR {transition} != 0 AS INT)) AS {prefix}held"
    return ", ".join((*totals, held))


def changes(fact: Iterable[str], hidden: Iterable[str]) -> str:
    """Changes of the epoch's own facts, from the rows of `by_fact`.

    Args:
        fact: Columns that identify a fact.
        hidden: Predicates whose facts are not part of the closure.
    """
    shown = " AND ".join(f"{PREDICATE} != {quoted(name)}" for name in hidden) or "true"
    return (
        f"SELECT {_list(fact)}, IF({shown}, IF(asserted > 0, 0, present)"
        f" - IF(was_asserted > 0, 0, was_present), 0) AS {DERIVED},"
        f" IF({shown}, present - was_present, 0) AS {CLOSURE},"
        " held - was_held AS facts,"
        " CAST(asserted > 0 AS INT) - CAST(was_asserted > 0 AS INT) AS asserted,"
        " CAST(total < 0 AS INT) - CAST(was_total < 0 AS INT) AS below_zero,"
        " trace_rows - was_trace_rows AS trace_rows FROM rows WHERE own = 1"
    )


# The state ---------------------------------------------------------------------------------------


def present(fact: Iterable[str]) -> str:
    """The present facts."""
    names = _list(fact)
    return f"SELECT {names} FROM rows GROUP BY {names} HAVING sum({TRANSITION}) > 0"


def sizes(fact: Iterable[str], *, shown: bool) -> str:
    """Sizes of the state of a predicate, which may be part of the closure."""
    return (
        f"SELECT count(*) AS facts, {total(f'present * {shown:d}', 'present')},"
        f" {total('CAST(asserted > 0 AS INT)', 'asserted')},"
        f" {total('CAST(below < 0 AS INT)', 'below_zero')}, {total('trace_rows')} FROM"
        f" (SELECT {total(TRANSITION, 'present')},"
        f" {total(f'IF({ITERATION} = 0, {MULTIPLICITY}, 0)', 'asserted')},"
        f" {total(MULTIPLICITY, 'below')},"
        f" {total(f'CAST({MULTIPLICITY} != 0 AS INT)', 'trace_rows')}"
        f" FROM rows GROUP BY {_list(fact)})"
    )


_CHANGED = f"{MULTIPLICITY} != 0 OR {TRANSITION} != 0"


def _sums(place: Iterable[str], rows: str = "rows") -> str:
    names = _list(place)
    sums = f"{total(MULTIPLICITY)}, {total(TRANSITION)}"
    return f"SELECT {names}, {sums} FROM {rows} GROUP BY {names}"


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
