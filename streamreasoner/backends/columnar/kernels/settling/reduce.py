"""Aggregates of groups, from the multiplicities of their matches.

Invariant: the accumulators of a group are exact sums over its matches, so they do not depend on the
order of updates; a group without matches has no record. Changing an accumulator and undoing the
change are each the inverse of the other, for every function, and so stand together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.kernels.records.arrangement import (
    drop_group,
    ensure_group,
    group_units,
)
from streamreasoner.backends.columnar.kernels.records.fact_record import allocate, release
from streamreasoner.backends.columnar.kernels.records.layout import (
    ACCOUNTED,
    ARENA,
    ARRANGEMENT_REDUCTION,
    ARRANGEMENT_WIDTH,
    ARRANGEMENTS,
    CALL,
    CELLS,
    CELLS_OUT,
    CHANGED_GROUP,
    CLASS_BITS,
    CLASS_REDUCTION,
    CLASS_WIDTH,
    CLASSES,
    COUNT_UNITS,
    DELTAS,
    FACT_BITS,
    FACT_BUFFER,
    FACT_MASK,
    FACT_TABLE,
    FAILED,
    FAILURE,
    FRESH,
    FULL,
    FUNCTION_COUNT,
    FUNCTION_DISTINCT,
    FUNCTION_SUM,
    GROUP_BUFFER,
    GROUP_FIRST,
    GROUP_KEY,
    GROUP_MASK,
    GROUP_TABLE,
    JOURNAL_ENTRIES,
    JOURNAL_FACTS,
    JOURNALED_ENTRIES,
    JOURNALED_FACTS,
    MULTIPLICITY_SHIFT,
    OK,
    OPERANDS,
    QUIET,
    REDUCE,
    REDUCTION_ARRANGEMENT,
    REDUCTION_FUNCTION,
    REDUCTION_HEAD,
    REDUCTION_HEAD_COUNT,
    REDUCTION_HEAD_RELATION,
    REDUCTION_KEYS,
    REDUCTION_STRATUM,
    REDUCTION_WIDTH,
    REDUCTIONS,
    SCALARS,
    SCRATCH,
    SUM_COUNT,
    SUM_DECIMALS,
    SUM_DIGITS,
    SUM_DOUBLES,
    SUM_FINITE,
    SUM_FRACTION,
    SUM_NAN,
    SUM_NEGATIVE,
    SUM_NEXT,
    SUM_POSITIVE,
    SUM_UNITS,
    SUM_WHOLE,
)
from streamreasoner.backends.columnar.kernels.records.pending import UNKNOWN, flush, push
from streamreasoner.backends.columnar.kernels.records.slots import LOW
from streamreasoner.backends.columnar.kernels.settling.superaccumulator import (
    DIGITS_DOUBLE,
    add,
    add_double,
)
from streamreasoner.native.addresses import (
    call,
    float64_column,
    int8_column,
    int32_column,
    int64_column,
    signed,
)
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.rdf.kernels.hash_table import FULL as DICTIONARY_FULL
from streamreasoner.values.kernels.comparing import DOUBLE, FRACTION, KIND, WHOLE
from streamreasoner.values.kernels.integers import intern_integer

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.kernels.records.layout import Int64s

ANY_STRATUM = -1
_EXACT, _DOUBLE, _INTEGER = 1, 2, 6  # valuation.Kind
_NONE = -1  # the end of the list of changed groups
_HALF = 1 << 31
_INFINITY = float("inf")


@kernel
def reduce(table: Int64s, values: Int64s, stratum: int) -> int:
    """Bring the aggregates that a stratum derives up to date; returns a status."""
    status = apply_matches(table, values, stratum)
    if status == OK:
        status = finish(table, values, emit=True)
    return flush(table) if status == OK else status


@kernel
def apply_matches(table: Int64s, values: Int64s, stratum: int) -> int:
    """Add the epoch's changes of matches to the accumulators of one stratum or of all."""
    return _account(table, values, stratum, undo=False)


@kernel
def withdraw_matches(table: Int64s, values: Int64s) -> int:
    """Undo `apply_matches` for the whole epoch; returns a status."""
    status = _account(table, values, ANY_STRATUM, undo=True)
    return max(status, finish(table, values, emit=False))


@kernel
def _account(table: Int64s, values: Int64s, stratum: int, undo: bool) -> int:  # noqa: FBT001
    """Apply the journaled changes to the accumulators, or undo those already applied.

    A match has a single multiplicity because its premises are all in lower strata.
    """
    scalars = int64_column(table[SCALARS])
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    facts = int64_column(table[JOURNAL_FACTS])
    entries = int64_column(table[JOURNAL_ENTRIES])
    for i in range(scalars[JOURNALED_FACTS]):
        fact = facts[i] & LOW
        if words[2 * fact] & FRESH != 0 and _concerns(table, fact, facts[i], stratum, undo):
            now = units[fact + 1] >> MULTIPLICITY_SHIFT
            status = _accumulate(table, values, fact, 0, now, undo)
            if status != OK:
                return status
            facts[i] ^= ACCOUNTED
    for i in range(scalars[JOURNALED_ENTRIES]):
        fact = (entries[2 * i] >> 32) & FACT_BITS
        if _concerns(table, fact, entries[2 * i], stratum, undo):
            now = units[entries[2 * i] & LOW] >> MULTIPLICITY_SHIFT
            status = _accumulate(table, values, fact, entries[2 * i + 1], now, undo)
            if status != OK:
                return status
            entries[2 * i] ^= ACCOUNTED
    return OK


@inlined
def _concerns(table: Int64s, fact: int, row: int, stratum: int, undo: bool) -> bool:  # noqa: FBT001
    """Whether a row of the journal is a match to account for, or to undo."""
    reduction = _reduction(table, fact)
    if reduction < 0 or (row < 0) != undo:
        return False
    due = int32_column(table[REDUCTIONS])[reduction * REDUCTION_WIDTH + REDUCTION_STRATUM]
    # numba cannot type `stratum in (due, ANY_STRATUM)`.
    return bool(stratum == due) or bool(stratum == ANY_STRATUM)


@kernel
def finish(table: Int64s, values: Int64s, emit: bool) -> int:  # noqa: FBT001
    """Recompute the results of the changed groups, and emit the difference; returns a status."""
    scalars = int64_column(table[SCALARS])
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    reductions = int32_column(table[REDUCTIONS])
    while scalars[CHANGED_GROUP] != _NONE:
        group = scalars[CHANGED_GROUP]
        arranged = ARRANGEMENT_WIDTH * words[2 * group] + ARRANGEMENT_REDUCTION
        r = (int32_column(table[ARRANGEMENTS])[arranged] - 1) * REDUCTION_WIDTH
        at = group + group_units(reductions[r + REDUCTION_KEYS])
        before = words[2 * group + GROUP_FIRST]
        after = 0
        if units[at + SUM_COUNT] != 0:
            term = _result(table, values, reductions[r + REDUCTION_FUNCTION], group, at)
            if term == FAILURE:
                return FAILED
            after = term + 1
        if emit and before != after:
            if before != 0:
                status = _emit(table, table, r, group, before - 1, -1)
                if status != OK:
                    return status
            if after != 0:
                status = _emit(table, table, r, group, after - 1, 1)
                if status != OK:
                    return status
        words[2 * group + GROUP_FIRST] = after
        scalars[CHANGED_GROUP] = units[at + SUM_NEXT]
        units[at + SUM_NEXT] = 0
        if units[at + SUM_COUNT] == 0:
            _drop(table, group, at, reductions[r + REDUCTION_FUNCTION])
    return OK


@kernel
def retract_results(table: Int64s, old_table: Int64s, reduction: int) -> int:
    """Retract the results of a reduction of the previous program, and drop its groups; a status.

    Args:
        table: The addresses under the new program.
        old_table: The addresses under the previous program.
        reduction: Its row in the previous program's table.
    """
    scalars = int64_column(table[SCALARS])
    words = int32_column(table[ARENA])
    slots = int64_column(table[GROUP_TABLE + scalars[GROUP_BUFFER]])
    reductions = int32_column(old_table[REDUCTIONS])
    groups = int64_column(table[DELTAS])
    r = reduction * REDUCTION_WIDTH
    count = 0
    # Dropping a group moves others in the table of groups, so they are collected first.
    for i in range(scalars[GROUP_MASK] + 1):
        group = slots[i] & LOW
        if group != 0 and words[2 * group] == reductions[r + REDUCTION_ARRANGEMENT]:
            groups[count] = group
            count += 1
    scalars[QUIET] = 1
    status = OK
    for i in range(count):
        group = groups[i]
        if status == OK:
            result = words[2 * group + GROUP_FIRST]
            if result != 0:
                status = _emit(table, old_table, r, group, result - 1, -1)
        at = group + group_units(reductions[r + REDUCTION_KEYS])
        _drop(table, group, at, reductions[r + REDUCTION_FUNCTION])
    if status == OK:
        status = flush(table)
    scalars[QUIET] = 0
    return status


@kernel
def rebuild_groups(table: Int64s, values: Int64s, reduction: int) -> int:
    """Rebuild the groups of a reduction from all its matches; returns a status."""
    scalars = int64_column(table[SCALARS])
    slots = int64_column(table[FACT_TABLE + scalars[FACT_BUFFER]])
    units = int64_column(table[ARENA])
    for i in range(scalars[FACT_MASK] + 1):
        fact = slots[i] & LOW
        if fact != 0 and _reduction(table, fact) == reduction:
            now = units[fact + 1] >> MULTIPLICITY_SHIFT
            status = _accumulate(table, values, fact, 0, now, undo=False)
            if status != OK:
                return status
    return finish(table, values, emit=False)


@inlined
def _reduction(table: Int64s, fact: int) -> int:
    """The reduction that a fact is a match of, or -1."""
    words = int32_column(table[ARENA])
    row = (words[2 * fact] & CLASS_BITS) * CLASS_WIDTH
    return int32_column(table[CLASSES])[row + CLASS_REDUCTION] - 1


@inlined
def _accumulator_units(function: int) -> int:
    return COUNT_UNITS if function in (FUNCTION_COUNT, FUNCTION_DISTINCT) else SUM_UNITS


@kernel
def _accumulate(
    table: Int64s,
    values: Int64s,
    fact: int,
    before: int,
    now: int,
    undo: bool,  # noqa: FBT001
) -> int:
    """Account for a match's change of multiplicity, or undo it; returns a status."""
    scalars = int64_column(table[SCALARS])
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    reductions = int32_column(table[REDUCTIONS])
    r = _reduction(table, fact) * REDUCTION_WIDTH
    keys = reductions[r + REDUCTION_KEYS]
    function = reductions[r + REDUCTION_FUNCTION]
    change = now - before
    if function == FUNCTION_DISTINCT:
        change = int(now > 0) - int(before > 0)
    if undo:
        change = -change
    value = words[2 * fact + CELLS + keys] if function >= FUNCTION_SUM else 0
    if change == 0 or (function >= FUNCTION_SUM and not _is_number(values, value)):
        return OK
    extra = _accumulator_units(function)
    group = ensure_group(table, reductions[r + REDUCTION_ARRANGEMENT], fact, extra)
    if group == 0:
        return FULL
    at = group + group_units(keys)
    if units[at + SUM_NEXT] == 0:
        units[at + SUM_NEXT] = scalars[CHANGED_GROUP]
        scalars[CHANGED_GROUP] = group
    if function >= FUNCTION_SUM:
        status = _add_value(table, values, at, value, change)
        if status != OK:
            return status
    units[at + SUM_COUNT] += change
    return OK


@inlined
def _is_number(values: Int64s, value: int) -> bool:
    kind = signed(int8_column(values[KIND])[value])
    return kind in (_EXACT, _DOUBLE, _INTEGER)


@inlined
def _add_value(table: Int64s, values: Int64s, at: int, value: int, change: int) -> int:
    """Add a number *change* times to the sums at a unit of the arena; returns a status."""
    units = int64_column(table[ARENA])
    kind = signed(int8_column(values[KIND])[value])
    if kind == _DOUBLE:
        status = _add_double(table, at, float64_column(values[DOUBLE])[value], change)
        if status == OK:
            units[at + SUM_DOUBLES] += change
        return status
    units[at + SUM_DECIMALS] += change if kind == _EXACT else 0
    add(units, at + SUM_WHOLE, SUM_DIGITS, 0, int64_column(values[WHOLE])[value], change)
    fraction = int64_column(values[FRACTION])[value]
    if fraction != 0:
        add(units, at + SUM_FRACTION, SUM_DIGITS, 0, fraction, change)
    return OK


@inlined
def _add_double(table: Int64s, at: int, value: float, change: int) -> int:
    units = int64_column(table[ARENA])
    if value != value:  # noqa: PLR0124 - only NaN differs from itself
        units[at + SUM_NAN] += change
    elif value == _INFINITY:
        units[at + SUM_POSITIVE] += change
    elif value == -_INFINITY:
        units[at + SUM_NEGATIVE] += change
    else:
        if units[at + SUM_FINITE] == 0:
            digits = allocate(table, DIGITS_DOUBLE)
            if digits == 0:
                return FULL
            units[at + SUM_FINITE] = digits
        add_double(units, units[at + SUM_FINITE], value, change)
    return OK


@kernel
def _result(table: Int64s, values: Int64s, function: int, group: int, at: int) -> int:
    """The term of a group's aggregate, NO_VALUE if it does not fit 64 bits, or FAILURE."""
    units = int64_column(table[ARENA])
    number = units[at + SUM_COUNT]
    simple = function in (FUNCTION_COUNT, FUNCTION_DISTINCT)
    if function == FUNCTION_SUM and units[at + SUM_DECIMALS] == 0 and units[at + SUM_DOUBLES] == 0:
        low = units[at + SUM_WHOLE]
        high = units[at + SUM_WHOLE + 1]
        top = units[at + SUM_WHOLE + 2]
        # Digits are base 2^32, only the last is signed: the value fits if it just extends the sign.
        if (top == 0 and high < _HALF) or (top == -1 and high >= _HALF):
            simple = True
            number = (high << 32) | low
    if simple:
        term = intern_integer(values, number)
        if term != DICTIONARY_FULL:
            return term
    return call(table[CALL], REDUCE, group)


@kernel
def _emit(
    table: Int64s, program: Int64s, r: int, group: int, result: int, multiplicity: int
) -> int:
    """Add *multiplicity* to the head for a group's result; returns a status."""
    words = int32_column(table[ARENA])
    reductions = int32_column(program[REDUCTIONS])
    operands = int32_column(program[OPERANDS])
    scratch = int32_column(table[SCRATCH])
    head = reductions[r + REDUCTION_HEAD]
    keys = reductions[r + REDUCTION_KEYS]
    for i in range(reductions[r + REDUCTION_HEAD_COUNT]):
        code = operands[head + i]
        if code < 0:
            scratch[CELLS_OUT + i] = ~code
        elif code == keys:
            scratch[CELLS_OUT + i] = result
        else:
            scratch[CELLS_OUT + i] = words[2 * group + GROUP_KEY + code]
    relation = reductions[r + REDUCTION_HEAD_RELATION]
    return push(table, relation, scratch, CELLS_OUT, 1, multiplicity, UNKNOWN)


@kernel
def _drop(table: Int64s, group: int, at: int, function: int) -> None:
    units = int64_column(table[ARENA])
    extra = _accumulator_units(function)
    if extra == SUM_UNITS and units[at + SUM_FINITE] != 0:
        release(table, units[at + SUM_FINITE], DIGITS_DOUBLE)
    drop_group(table, group, extra)
