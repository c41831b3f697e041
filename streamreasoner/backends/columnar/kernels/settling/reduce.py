"""Aggregates of groups, from the multiplicities of their matches.

Invariant: the accumulators of a group are exact sums over its matches, so they do not depend on the
order of updates; a group without matches has no record. Changing an accumulator and undoing the
change are each the inverse of the other, for every function, and so stand together.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import (
    drop_group,
    ensure_group,
    find_first,
    group_units,
)
from streamreasoner.backends.columnar.kernels.records.entry import presence
from streamreasoner.backends.columnar.kernels.records.fact_record import (
    allocate,
    link_offset,
    release,
)
from streamreasoner.backends.columnar.kernels.records.pending import flush
from streamreasoner.backends.columnar.kernels.records.slots import LOW
from streamreasoner.backends.columnar.kernels.records.work import start_clock, take_time
from streamreasoner.backends.columnar.kernels.settling.chosen import (
    exclude,
    forget,
    hide,
    include,
    show,
)
from streamreasoner.backends.columnar.kernels.settling.heads import emit
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
from streamreasoner.values.kernels import value_kinds
from streamreasoner.values.kernels.comparing import DOUBLE, FRACTION, KIND, WHOLE
from streamreasoner.values.kernels.integers import intern_integer

ALL_REDUCTIONS = -1
_NONE = -1  # the end of the list of changed groups
_HALF = 1 << 31
_INFINITY = float("inf")


@kernel
def reduce(table: layout.Int64s, values: layout.Int64s, reduction: int) -> int:
    """Replace the results of a reduction's changed groups; returns a status."""
    start_clock(table)
    status = apply_matches(table, values, reduction)
    if status == layout.OK:
        status = finish(table, values, emits=True)
    if status == layout.OK:
        status = flush(table)
    row = reduction * layout.REDUCTION_WIDTH + layout.REDUCTION_WORK
    take_time(table, int32_column(table[layout.REDUCTIONS])[row])
    return status


@kernel
def apply_matches(table: layout.Int64s, values: layout.Int64s, reduction: int) -> int:
    """Add the epoch's changes of matches to the accumulators of one reduction or of all."""
    return _account(table, values, reduction, undo=False)


@kernel
def withdraw_matches(table: layout.Int64s, values: layout.Int64s) -> int:
    """Undo `apply_matches` for the whole epoch; returns a status.

    `finish` is still to be called, without emitting, when the matches can be walked again.
    """
    return _account(table, values, ALL_REDUCTIONS, undo=True)


@kernel
def _account(table: layout.Int64s, values: layout.Int64s, reduction: int, undo: bool) -> int:  # noqa: FBT001
    """Apply the journaled changes to the accumulators, or undo those already applied.

    A match has a single multiplicity because its premises are all in lower strata.
    """
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    facts = int64_column(table[layout.JOURNAL_FACTS])
    entries = int64_column(table[layout.JOURNAL_ENTRIES])
    for i in range(scalars[layout.JOURNALED_FACTS]):
        fact = facts[i] & LOW
        if words[2 * fact] & layout.FRESH != 0 and _concerns(
            table, fact, facts[i], reduction, undo
        ):
            now = units[fact + 1] >> layout.MULTIPLICITY_SHIFT
            status = _accumulate(table, values, fact, 0, now, undo)
            if status != layout.OK:
                return status
            facts[i] ^= layout.ACCOUNTED
    for i in range(scalars[layout.JOURNALED_ENTRIES]):
        fact = (entries[2 * i] >> 32) & layout.FACT_BITS
        if _concerns(table, fact, entries[2 * i], reduction, undo):
            now = units[entries[2 * i] & LOW] >> layout.MULTIPLICITY_SHIFT
            status = _accumulate(table, values, fact, entries[2 * i + 1], now, undo)
            if status != layout.OK:
                return status
            entries[2 * i] ^= layout.ACCOUNTED
    return layout.OK


@inlined
def _concerns(table: layout.Int64s, fact: int, row: int, reduction: int, undo: bool) -> bool:  # noqa: FBT001
    """Whether a row of the journal is a match to account for, or to undo."""
    own = _reduction(table, fact)
    if own < 0 or (row < 0) != undo:
        return False
    # numba cannot type `reduction in (own, ALL_REDUCTIONS)`.
    return bool(reduction == own) or bool(reduction == ALL_REDUCTIONS)


@inlined
def _chooses(function: int) -> bool:
    """Whether a function has several results, of which a group keeps a list."""
    return function >= layout.FUNCTION_LOWEST


@inlined
def _sums(function: int) -> bool:
    """Whether a function reads numbers."""
    return bool(function == layout.FUNCTION_SUM) or bool(function == layout.FUNCTION_AVERAGE)


@kernel
def _replace(
    table: layout.Int64s,
    values: layout.Int64s,
    r: int,
    group: int,
    at: int,
    emits: bool,  # noqa: FBT001
) -> int:
    """Replace the result of a changed group; returns a status."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    function = int32_column(table[layout.REDUCTIONS])[r + layout.REDUCTION_FUNCTION]
    before = words[2 * group + layout.GROUP_FIRST]
    after = 0
    if units[at + layout.SUM_COUNT] != 0:
        term = _result(table, values, function, group, at)
        if term == layout.FAILURE:
            return layout.FAILED
        after = term + 1
    if emits and before != after:
        if before != 0:
            status = emit(table, r, group, before - 1, -1)
            if status != layout.OK:
                return status
        if after != 0:
            status = emit(table, r, group, after - 1, 1)
            if status != layout.OK:
                return status
    words[2 * group + layout.GROUP_FIRST] = after
    return layout.OK


@kernel
def finish(table: layout.Int64s, values: layout.Int64s, emits: bool) -> int:  # noqa: FBT001
    """Recompute the results of the changed groups; the differences may be emitted; a status."""
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    reductions = int32_column(table[layout.REDUCTIONS])
    while scalars[layout.CHANGED_GROUP] != _NONE:
        group = scalars[layout.CHANGED_GROUP]
        arranged = layout.ARRANGEMENT_WIDTH * words[2 * group] + layout.ARRANGEMENT_REDUCTION
        r = (int32_column(table[layout.ARRANGEMENTS])[arranged] - 1) * layout.REDUCTION_WIDTH
        at = group + group_units(reductions[r + layout.REDUCTION_KEYS])
        if _chooses(reductions[r + layout.REDUCTION_FUNCTION]):
            status = show(table, values, r, group, at, emits)
        else:
            status = _replace(table, values, r, group, at, emits)
        if status != layout.OK:
            return status
        scalars[layout.CHANGED_GROUP] = units[at + layout.SUM_NEXT]
        units[at + layout.SUM_NEXT] = 0
        if units[at + layout.SUM_COUNT] == 0:
            _drop(table, group, at, reductions[r + layout.REDUCTION_FUNCTION])
    return layout.OK


@kernel
def retract_results(table: layout.Int64s, reduction: int) -> int:
    """Retract the results of a reduction of the former program, and drop its groups; a status."""
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    slots = int64_column(table[layout.GROUP_TABLE + scalars[layout.GROUP_BUFFER]])
    reductions = int32_column(table[layout.REDUCTIONS])
    groups = int64_column(table[layout.DELTAS])
    r = reduction * layout.REDUCTION_WIDTH
    count = 0
    # Dropping a group moves others in the table of groups, so they are collected first.
    for i in range(scalars[layout.GROUP_MASK] + 1):
        group = slots[i] & LOW
        if group != 0 and words[2 * group] == reductions[r + layout.REDUCTION_ARRANGEMENT]:
            groups[count] = group
            count += 1
    scalars[layout.QUIET] = 1
    status = layout.OK
    for i in range(count):
        group = groups[i]
        at = group + group_units(reductions[r + layout.REDUCTION_KEYS])
        if status == layout.OK:
            result = words[2 * group + layout.GROUP_FIRST]
            if _chooses(reductions[r + layout.REDUCTION_FUNCTION]):
                status = hide(table, r, group, at)
            elif result != 0:
                status = emit(table, r, group, result - 1, -1)
        _drop(table, group, at, reductions[r + layout.REDUCTION_FUNCTION])
    if status == layout.OK:
        status = flush(table)
    scalars[layout.QUIET] = 0
    return status


@kernel
def rebuild_groups(table: layout.Int64s, values: layout.Int64s, reduction: int) -> int:
    """Rebuild the groups of a reduction from all its matches; returns a status."""
    scalars = int64_column(table[layout.SCALARS])
    slots = int64_column(table[layout.FACT_TABLE + scalars[layout.FACT_BUFFER]])
    units = int64_column(table[layout.ARENA])
    for i in range(scalars[layout.FACT_MASK] + 1):
        fact = slots[i] & LOW
        if fact != 0 and _reduction(table, fact) == reduction:
            now = units[fact + 1] >> layout.MULTIPLICITY_SHIFT
            status = _accumulate(table, values, fact, 0, now, undo=False)
            if status != layout.OK:
                return status
    return finish(table, values, emits=False)


@inlined
def _reduction(table: layout.Int64s, fact: int) -> int:
    """The reduction that a fact is a match of, or -1."""
    words = int32_column(table[layout.ARENA])
    row = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
    return int32_column(table[layout.CLASSES])[row + layout.CLASS_REDUCTION] - 1


@inlined
def _accumulator_units(function: int) -> int:
    if _chooses(function):
        return layout.CHOSEN_UNITS
    return layout.SUM_UNITS if _sums(function) else layout.COUNT_UNITS


@kernel
def _accumulate(
    table: layout.Int64s,
    values: layout.Int64s,
    fact: int,
    before: int,
    now: int,
    undo: bool,  # noqa: FBT001
) -> int:
    """Account for a match's change of multiplicity, or undo it; returns a status."""
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    reductions = int32_column(table[layout.REDUCTIONS])
    r = _reduction(table, fact) * layout.REDUCTION_WIDTH
    keys = reductions[r + layout.REDUCTION_KEYS]
    function = reductions[r + layout.REDUCTION_FUNCTION]
    change = now - before
    if function == layout.FUNCTION_DISTINCT or _chooses(function):
        change = int(now > 0) - int(before > 0)
    if undo:
        change = -change
    value = 0
    if _chooses(function) or _sums(function):
        value = words[2 * fact + layout.CELLS + keys]
    if change == 0 or (_sums(function) and not _is_number(values, value)):
        return layout.OK
    extra = _accumulator_units(function)
    group = ensure_group(table, reductions[r + layout.REDUCTION_ARRANGEMENT], fact, extra)
    if group == 0:
        return layout.FULL
    at = group + group_units(keys)
    if units[at + layout.SUM_NEXT] == 0:
        units[at + layout.SUM_NEXT] = scalars[layout.CHANGED_GROUP]
        scalars[layout.CHANGED_GROUP] = group
    status = layout.OK
    if _sums(function):
        status = _add_value(table, values, at, value, change)
    elif _chooses(function):
        status = _choose(table, values, r, group, at, value, change, undo)
    if status != layout.OK:
        return status
    units[at + layout.SUM_COUNT] += change
    return layout.OK


@inlined
def _choose(
    table: layout.Int64s,
    values: layout.Int64s,
    r: int,
    group: int,
    at: int,
    value: int,
    change: int,
    undo: bool,  # noqa: FBT001
) -> int:
    """List a value that comes, remove one that goes; returns a status."""
    if undo:
        # What was emitted is withdrawn with the epoch, so what was shown before is found anew.
        forget(table, at)
        return layout.OK
    if change > 0:
        return include(table, values, r, group, at, value)
    return exclude(table, values, r, group, at, value)


@inlined
def _is_number(values: layout.Int64s, value: int) -> bool:
    kind = signed(int8_column(values[KIND])[value])
    return kind in (value_kinds.EXACT, value_kinds.DOUBLE, value_kinds.INTEGER)


@inlined
def _add_value(
    table: layout.Int64s, values: layout.Int64s, at: int, value: int, change: int
) -> int:
    """Add a number *change* times to the sums at a unit of the arena; returns a status."""
    units = int64_column(table[layout.ARENA])
    kind = signed(int8_column(values[KIND])[value])
    if kind == value_kinds.DOUBLE:
        status = _add_double(table, at, float64_column(values[DOUBLE])[value], change)
        if status == layout.OK:
            units[at + layout.SUM_DOUBLES] += change
        return status
    units[at + layout.SUM_DECIMALS] += change if kind == value_kinds.EXACT else 0
    add(
        units,
        at + layout.SUM_WHOLE,
        layout.SUM_DIGITS,
        0,
        int64_column(values[WHOLE])[value],
        change,
    )
    fraction = int64_column(values[FRACTION])[value]
    if fraction != 0:
        add(units, at + layout.SUM_FRACTION, layout.SUM_DIGITS, 0, fraction, change)
    return layout.OK


@inlined
def _add_double(table: layout.Int64s, at: int, value: float, change: int) -> int:
    units = int64_column(table[layout.ARENA])
    if value != value:  # noqa: PLR0124 - only NaN differs from itself
        units[at + layout.SUM_NAN] += change
    elif value == _INFINITY:
        units[at + layout.SUM_POSITIVE] += change
    elif value == -_INFINITY:
        units[at + layout.SUM_NEGATIVE] += change
    else:
        if units[at + layout.SUM_FINITE] == 0:
            digits = allocate(table, DIGITS_DOUBLE)
            if digits == 0:
                return layout.FULL
            units[at + layout.SUM_FINITE] = digits
        add_double(units, units[at + layout.SUM_FINITE], value, change)
    return layout.OK


@kernel
def _result(table: layout.Int64s, values: layout.Int64s, function: int, group: int, at: int) -> int:
    """The term of a group's aggregate, NO_VALUE if it does not fit 64 bits, or FAILURE."""
    units = int64_column(table[layout.ARENA])
    number = units[at + layout.SUM_COUNT]
    simple = function in (layout.FUNCTION_COUNT, layout.FUNCTION_DISTINCT)
    if (
        function == layout.FUNCTION_SUM
        and units[at + layout.SUM_DECIMALS] == 0
        and units[at + layout.SUM_DOUBLES] == 0
    ):
        low = units[at + layout.SUM_WHOLE]
        high = units[at + layout.SUM_WHOLE + 1]
        top = units[at + layout.SUM_WHOLE + 2]
        # Digits are base 2^32, only the last is signed: the value fits if it just extends the sign.
        if (top == 0 and high < _HALF) or (top == -1 and high >= _HALF):
            simple = True
            number = (high << 32) | low
    if simple:
        term = intern_integer(values, number)
        if term != DICTIONARY_FULL:
            return term
    return call(table[layout.CALL], layout.REDUCE, group)


@kernel
def _drop(table: layout.Int64s, group: int, at: int, function: int) -> None:
    units = int64_column(table[layout.ARENA])
    extra = _accumulator_units(function)
    if _chooses(function):
        forget(table, at)
    if _sums(function) and units[at + layout.SUM_FINITE] != 0:
        release(table, units[at + layout.SUM_FINITE], DIGITS_DOUBLE)
    drop_group(table, group, extra)


@kernel
def read_members(
    table: layout.Int64s, r: int, group: int, ids: layout.Int32s, times: layout.Int64s
) -> int:
    """Fill in the values of a group's matches and how often each occurs; returns their number.

    Args:
        table: The addresses.
        r: Where the row of the reduction begins.
        group: The group.
        ids: Gets the values, as many as there is room for.
        times: Gets the multiplicities.
    """
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    reductions = int32_column(table[layout.REDUCTIONS])
    keys = reductions[r + layout.REDUCTION_KEYS]
    members = reductions[r + layout.REDUCTION_MEMBERS]
    count = 0
    fact = find_first(table, members, words, 2 * group + layout.GROUP_KEY, keys)
    while fact != 0:
        if presence(table, fact) != 0:
            if count < len(ids):
                ids[count] = words[2 * fact + layout.CELLS + keys]
                times[count] = units[fact + 1] >> layout.MULTIPLICITY_SHIFT
            count += 1
        fact = words[2 * fact + link_offset(table, words[2 * fact], members)]
    return count
