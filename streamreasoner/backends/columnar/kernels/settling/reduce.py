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
)
from streamreasoner.backends.columnar.kernels.records.entry import presence
from streamreasoner.backends.columnar.kernels.records.fact_record import allocate, release
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.backends.columnar.kernels.records.pending import flush
from streamreasoner.backends.columnar.kernels.records.slots import (
    fact_at,
    fact_words,
    group_at,
    group_words,
)
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
    fixed_address,
    float64_column,
    int8_column,
    int64_column,
    signed,
)
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.rdf.kernels.hash_table import FULL as DICTIONARY_FULL
from streamreasoner.values.kernels import value_kinds
from streamreasoner.values.kernels.comparing import DOUBLE, FRACTION, KIND, WHOLE
from streamreasoner.values.kernels.integers import intern_integer

ALL_REDUCTIONS = -1
APPLY, RESTORE, UNDO = range(3)  # what is done with matches; only what is applied emits
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
    take_time(table, views.reductions(table)[row])
    return status


@kernel
def apply_matches(table: layout.Int64s, values: layout.Int64s, reduction: int) -> int:
    """Add the epoch's changes of matches to the accumulators of a reduction; returns a status."""
    return _account(table, values, reduction, APPLY)


@kernel
def restore_matches(table: layout.Int64s, values: layout.Int64s) -> int:
    """Add the changes of matches that were restored, whose results are restored, too; a status.

    `finish` is still to be called, without emitting.
    """
    return _account(table, values, ALL_REDUCTIONS, RESTORE)


@kernel
def withdraw_matches(table: layout.Int64s, values: layout.Int64s) -> int:
    """Undo `apply_matches` for the whole epoch; returns a status.

    `finish` is still to be called, without emitting, when the matches can be walked again.
    """
    return _account(table, values, ALL_REDUCTIONS, UNDO)


@kernel
def _account(table: layout.Int64s, values: layout.Int64s, reduction: int, how: int) -> int:
    """Apply the journaled changes to the accumulators, or undo those already applied.

    A match has a single multiplicity because its premises are all in lower strata.
    """
    for i in range(views.scalars(table)[layout.JOURNALED_FACTS]):
        fact = lists.journaled_fact(table, i)
        accounted = lists.is_fact_accounted(table, i)
        if facts.has(table, fact, layout.FRESH) and _concerns(
            table, fact, accounted, reduction, how
        ):
            now = facts.multiplicity(table, facts.first_entry(fact))
            status = _accumulate(table, values, fact, 0, now, how)
            if status != layout.OK:
                return status
            lists.toggle_fact_accounted(table, i)
    for i in range(views.scalars(table)[layout.JOURNALED_ENTRIES]):
        fact = lists.journaled_entry_fact(table, i)
        if _concerns(table, fact, lists.is_entry_accounted(table, i), reduction, how):
            now = facts.multiplicity(table, lists.journaled_entry(table, i))
            before = lists.multiplicity_before(table, i)
            status = _accumulate(table, values, fact, before, now, how)
            if status != layout.OK:
                return status
            lists.toggle_entry_accounted(table, i)
    return layout.OK


@inlined
def _concerns(
    table: layout.Int64s,
    fact: int,
    accounted: bool,  # noqa: FBT001
    reduction: int,
    how: int,
) -> bool:
    """Whether a change that the journal has is to be accounted for, or to be undone."""
    own = _reduction(table, fact)
    if own < 0 or accounted != (how == UNDO):
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
    function = views.reductions(table)[r + layout.REDUCTION_FUNCTION]
    before = facts.first_member(table, group)
    after = 0
    if views.units(table)[at + layout.SUM_COUNT] != 0:
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
    facts.set_word(table, group, layout.GROUP_FIRST, after)
    return layout.OK


@kernel
def finish(table: layout.Int64s, values: layout.Int64s, emits: bool) -> int:  # noqa: FBT001
    """Recompute the results of the changed groups; the differences may be emitted; a status."""
    scalars = views.scalars(table)
    units = views.units(table)
    reductions = views.reductions(table)
    while scalars[layout.CHANGED_GROUP] != _NONE:
        group = scalars[layout.CHANGED_GROUP]
        arrangement = facts.arrangement_of(table, group)
        reduction = facts.arrangement_field(table, arrangement, layout.ARRANGEMENT_REDUCTION) - 1
        r = reduction * layout.REDUCTION_WIDTH
        at = group + facts.group_units(reductions[r + layout.REDUCTION_KEYS])
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
    scalars = views.scalars(table)
    reductions = views.reductions(table)
    r = reduction * layout.REDUCTION_WIDTH
    arrangement = reductions[r + layout.REDUCTION_ARRANGEMENT]
    count = 0
    # Dropping a group moves others in the table of groups, so they are collected first.
    for i in range(group_words(table)):
        group = group_at(table, i)
        if group != 0 and facts.arrangement_of(table, group) == arrangement:
            views.deltas(table)[count] = group
            count += 1
    scalars[layout.QUIET] = 1
    status = layout.OK
    for i in range(count):
        group = views.deltas(table)[i]
        at = group + facts.group_units(reductions[r + layout.REDUCTION_KEYS])
        if status == layout.OK:
            result = facts.first_member(table, group)
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
    for i in range(fact_words(table)):
        fact = fact_at(table, i)
        if fact != 0 and _reduction(table, fact) == reduction:
            now = facts.multiplicity(table, facts.first_entry(fact))
            status = _accumulate(table, values, fact, 0, now, RESTORE)
            if status != layout.OK:
                return status
    return finish(table, values, emits=False)


@inlined
def _reduction(table: layout.Int64s, fact: int) -> int:
    """The reduction that a fact is a match of, or -1."""
    return facts.field_of(table, fact, layout.CLASS_REDUCTION) - 1


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
    how: int,
) -> int:
    """Account for a match's change of multiplicity, or undo it; returns a status."""
    units = views.units(table)
    reductions = views.reductions(table)
    r = _reduction(table, fact) * layout.REDUCTION_WIDTH
    keys = reductions[r + layout.REDUCTION_KEYS]
    function = reductions[r + layout.REDUCTION_FUNCTION]
    change = now - before
    if function == layout.FUNCTION_DISTINCT or _chooses(function):
        change = int(now > 0) - int(before > 0)
    if how == UNDO:
        change = -change
    value = 0
    if _chooses(function) or _sums(function):
        value = facts.argument(table, fact, keys)
    if change == 0 or (_sums(function) and not _is_number(values, value)):
        return layout.OK
    extra = _accumulator_units(function)
    group = ensure_group(table, reductions[r + layout.REDUCTION_ARRANGEMENT], fact, extra)
    if group == 0:
        return layout.FULL
    at = group + facts.group_units(keys)
    if units[at + layout.SUM_NEXT] == 0:
        units[at + layout.SUM_NEXT] = views.scalars(table)[layout.CHANGED_GROUP]
        views.scalars(table)[layout.CHANGED_GROUP] = group
    status = layout.OK
    if _sums(function):
        status = _add_value(table, values, at, value, change)
    elif _chooses(function):
        status = _choose(table, values, r, group, at, value, change, how)
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
    how: int,
) -> int:
    """List a value that comes, remove one that goes; returns a status."""
    if how != APPLY:
        # Lists emit what they no longer show, so what is to be shown is found anew.
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
    units = views.units(table)
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
    units = views.units(table)
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
    units = views.units(table)
    number = units[at + layout.SUM_COUNT]
    simple = function in (layout.FUNCTION_COUNT, layout.FUNCTION_DISTINCT)
    if (
        function == layout.FUNCTION_SUM
        and units[at + layout.SUM_DECIMALS] == 0
        and units[at + layout.SUM_DOUBLES] == 0
    ):
        low = units[at + layout.SUM_WHOLE]
        high = units[at + layout.SUM_WHOLE + 1]
        top = units[at + layout.SUM_WHOLE + layout.SUM_DIGITS - 1]
        # Digits are base 2^32, only the last is signed: the value fits if it just extends the sign.
        if (top == 0 and high < _HALF) or (top == -1 and high >= _HALF):
            simple = True
            number = lists.pack(high, low)
    if simple:
        term = intern_integer(values, number)
        if term != DICTIONARY_FULL:
            return term
    return call(fixed_address(table, layout.CALL), layout.REDUCE, group)


@kernel
def _drop(table: layout.Int64s, group: int, at: int, function: int) -> None:
    extra = _accumulator_units(function)
    if _chooses(function):
        forget(table, at)
    if _sums(function) and views.units(table)[at + layout.SUM_FINITE] != 0:
        release(table, views.units(table)[at + layout.SUM_FINITE], DIGITS_DOUBLE)
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
    keys = views.reductions(table)[r + layout.REDUCTION_KEYS]
    members = views.reductions(table)[r + layout.REDUCTION_MEMBERS]
    count = 0
    fact = find_first(table, members, views.words(table), facts.key_at(group), keys)
    while fact != 0:
        if presence(table, fact) != 0:
            if count < len(ids):
                ids[count] = facts.argument(table, fact, keys)
                times[count] = facts.multiplicity(table, facts.first_entry(fact))
            count += 1
        fact = facts.next_member(table, fact, members)
    return count
