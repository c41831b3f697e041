"""Commit and rollback of an epoch. Invariant: no flag, delta or journal outlives it.

The journal holds every changed fact with its state before the epoch, and every changed entry with
its multiplicity before it. Transitions follow from multiplicities, so this is all a rollback needs.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.loading.log import discard_log
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import arrange, delist, withdraw
from streamreasoner.backends.columnar.kernels.records.counter import uncount
from streamreasoner.backends.columnar.kernels.records.entry import (
    AHEAD,
    forget_touched,
    has_transitions,
    prefetch_journaled,
    prefetch_journaled_entry,
    state_of,
    trace_rows,
)
from streamreasoner.backends.columnar.kernels.records.fact_record import (
    drop,
    prefetch_drop_slot,
    release,
)
from streamreasoner.backends.columnar.kernels.records.pending import discard_pending
from streamreasoner.backends.columnar.kernels.records.slots import LOW
from streamreasoner.backends.columnar.kernels.settling.lattice import (
    clear_unsettled_groups,
    restore_group,
    unmark_group,
)
from streamreasoner.backends.columnar.kernels.settling.reduce import (
    ALL_REDUCTIONS,
    apply_matches,
    finish,
    withdraw_matches,
)
from streamreasoner.backends.columnar.kernels.settling.settle import clear_class_lists, clear_deltas
from streamreasoner.native.addresses import int32_column, int64_column
from streamreasoner.native.compile import inlined, kernel


@kernel
def commit(table: layout.Int64s) -> None:
    """Make the epoch final: drop facts and entries left at zero, and clear the journal."""
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    classes = int32_column(table[layout.CLASSES])
    facts = int64_column(table[layout.JOURNAL_FACTS])
    entries = int64_column(table[layout.JOURNAL_ENTRIES])
    for i in range(scalars[layout.JOURNALED_ENTRIES]):
        prefetch_journaled_entry(table, i)
        entry = entries[2 * i] & LOW
        units[entry] &= ~layout.JOURNALED
        multiplicity = units[entry] >> layout.MULTIPLICITY_SHIFT
        scalars[layout.TRACE_ROWS] += (multiplicity != 0) - (entries[2 * i + 1] != 0)
        if words[2 * entry + 2] != 0:
            scalars[layout.DERIVATIONS] += multiplicity - entries[2 * i + 1]
    count = scalars[layout.JOURNALED_FACTS]
    for i in range(count):
        prefetch_journaled(table, i)
        if i + AHEAD < count:
            prefetch_drop_slot(table, facts[i + AHEAD] & LOW)
        fact = facts[i] & LOW
        before = facts[i] >> 32
        after = state_of(table, fact)
        if words[2 * fact] & layout.FRESH != 0:
            scalars[layout.TRACE_ROWS] += trace_rows(table, fact)
            scalars[layout.DERIVATIONS] += _derivations(table, fact)
            words[2 * fact] &= ~layout.FRESH
        row = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
        if classes[row + layout.CLASS_HIDDEN] == 0:
            scalars[layout.PRESENT] += (after & layout.WAS_PRESENT != 0) - (
                before & layout.WAS_PRESENT != 0
            )
        scalars[layout.ASSERTED] += (after & layout.WAS_ASSERTED != 0) - (
            before & layout.WAS_ASSERTED != 0
        )
        scalars[layout.BELOW_ZERO] += (after & layout.WAS_BELOW_ZERO != 0) - (
            before & layout.WAS_BELOW_ZERO != 0
        )
        words[2 * fact + layout.JOURNAL_WORD] = 0
        _free_empty(table, fact)
    _end(table)


@kernel
def rollback(table: layout.Int64s, values: layout.Int64s) -> int:
    """Restore every multiplicity, rederive what depends on them, and clear the journal."""
    status = withdraw_epoch(table, values)
    return max(status, rederive(table, values))


@kernel
def withdraw_epoch(table: layout.Int64s, values: layout.Int64s) -> int:
    """Restore every multiplicity, and note the former state of the journaled facts; a status.

    It is in their journal word, plus 1, until `rederive`.
    """
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    facts = int64_column(table[layout.JOURNAL_FACTS])
    entries = int64_column(table[layout.JOURNAL_ENTRIES])
    uncount(table)
    clear_deltas(table)
    clear_unsettled_groups(table)
    discard_pending(table)
    discard_log(table)
    _untouch_all(table)
    status = withdraw_matches(table, values)
    for i in range(scalars[layout.JOURNALED_ENTRIES]):
        entry = entries[2 * i] & LOW
        flags = units[entry] & ~layout.JOURNALED & ((1 << layout.MULTIPLICITY_SHIFT) - 1)
        units[entry] = (entries[2 * i + 1] << layout.MULTIPLICITY_SHIFT) | flags
    for i in range(scalars[layout.JOURNALED_FACTS]):
        fact = facts[i] & LOW
        words[2 * fact + layout.JOURNAL_WORD] = 1 + ((facts[i] >> 32) & layout.STATE_BITS)
        if words[2 * fact] & layout.FRESH != 0:
            entry = fact + 1
            while entry != 0:
                units[entry] &= (1 << layout.MULTIPLICITY_SHIFT) - 1
                entry = words[2 * entry + 3]
    return status


@kernel
def rederive(table: layout.Int64s, values: layout.Int64s) -> int:
    """Rederive what depends on multiplicities after `withdraw_epoch`, and clear the journal."""
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    facts = int64_column(table[layout.JOURNAL_FACTS])
    status = _rebuild_all_transitions(table, values)
    status = max(status, finish(table, values, emits=False))
    for i in range(scalars[layout.JOURNALED_FACTS]):
        fact = facts[i] & LOW
        words[2 * fact] &= ~layout.FRESH
        words[2 * fact + layout.JOURNAL_WORD] = 0
        _free_empty(table, fact)
    _end(table)
    return status


@kernel
def finish_restore(table: layout.Int64s, values: layout.Int64s) -> int:
    """Derive aggregates and transitions from restored multiplicities, and commit; a status."""
    _untouch_all(table)
    status = _rebuild_all_transitions(table, values)
    if status == layout.OK:
        status = apply_matches(table, values, ALL_REDUCTIONS)
    if status == layout.OK:
        status = finish(table, values, emits=False)
    if status == layout.OK:
        commit(table)
    return status


@kernel
def resettle(table: layout.Int64s, values: layout.Int64s) -> int:
    """Rederive the transitions of the journaled facts, and commit; returns a status."""
    status = _rebuild_all_transitions(table, values)
    commit(table)
    return status


@kernel
def _rebuild_all_transitions(table: layout.Int64s, values: layout.Int64s) -> int:
    """Rederive the transitions of all journaled facts; returns a status."""
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    classes = int32_column(table[layout.CLASSES])
    facts = int64_column(table[layout.JOURNAL_FACTS])
    status = layout.OK
    lattices = False
    for i in range(scalars[layout.JOURNALED_FACTS]):
        fact = facts[i] & LOW
        row = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
        if classes[row + layout.CLASS_LATTICE] == 0:
            status = max(status, rebuild_transitions(table, fact))
        elif words[2 * fact] & layout.UNLISTED == 0:
            lattices = True
            status = max(status, restore_group(table, values, fact))
    if lattices:
        for i in range(scalars[layout.JOURNALED_FACTS]):
            fact = facts[i] & LOW
            unmark_group(table, fact)
            if has_transitions(table, fact) and words[2 * fact] & layout.ARRANGED == 0:
                status = max(status, arrange(table, fact))
    return status


@kernel
def rebuild_transitions(table: layout.Int64s, fact: int) -> int:
    """Derive a fact's transitions from its multiplicities, and arrange it if it has any."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    has_transition = False
    entry = fact + 1
    while entry != 0:
        when = words[2 * entry + 2]
        before = 0
        upto = 0
        other = fact + 1
        while other != 0:
            multiplicity = units[other] >> layout.MULTIPLICITY_SHIFT
            if words[2 * other + 2] <= when:
                upto += multiplicity
                if words[2 * other + 2] < when:
                    before += multiplicity
            other = words[2 * other + 3]
        transition = (1 if upto > 0 else 0) - (1 if before > 0 else 0)
        has_transition = has_transition or transition != 0
        units[entry] = (units[entry] & ~layout.TRANSITION_BITS) | (transition + 1)
        entry = words[2 * entry + 3]
    if has_transition and words[2 * fact] & layout.ARRANGED == 0:
        return arrange(table, fact)
    return layout.OK


@inlined
def _derivations(table: layout.Int64s, fact: int) -> int:
    """Sum of the multiplicities of a fact beyond iteration 0."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    derivations = 0
    entry = fact + 1
    while entry != 0:
        if words[2 * entry + 2] != 0:
            derivations += units[entry] >> layout.MULTIPLICITY_SHIFT
        entry = words[2 * entry + 3]
    return derivations


@kernel
def _untouch_all(table: layout.Int64s) -> None:
    """Clear the lists of touched facts that are not settled yet."""
    scalars = int64_column(table[layout.SCALARS])
    heads = int32_column(table[layout.INITIAL_HEADS])
    for stratum in range(scalars[layout.STRATA]):
        _untouch(table, heads[stratum])
        heads[stratum] = 0
    heads = int32_column(table[layout.TOUCHED_HEADS])
    last = int32_column(table[layout.TOUCHED_LAST])
    for segment in range((scalars[layout.LAST_TOUCHED] >> layout.SEGMENT_BITS) + 1):
        for iteration in range(segment << layout.SEGMENT_BITS, last[segment] + 1):
            _untouch(table, heads[iteration])
            heads[iteration] = 0


@kernel
def _untouch(table: layout.Int64s, node: int) -> None:
    """Clear the TOUCHED flags of the facts in one list."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    nodes = int64_column(table[layout.TOUCHED_NODES])
    while node != 0:
        entry = (nodes[node] & LOW) + 1
        while entry != 0:
            units[entry] &= ~layout.TOUCHED
            entry = words[2 * entry + 3]
        node = nodes[node] >> 32


@kernel
def _free_empty(table: layout.Int64s, fact: int) -> None:
    """Free empty entries, and the fact itself if no entry is left."""
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    inline = fact + 1
    previous = inline
    entry = words[2 * inline + 3]
    while entry != 0:
        following = words[2 * entry + 3]
        if units[entry] == layout.EMPTY_ENTRY:
            words[2 * previous + 3] = following
            release(table, entry, 2)
        else:
            previous = entry
        entry = following
    last = False
    if units[inline] == layout.EMPTY_ENTRY:
        entry = words[2 * inline + 3]
        last = entry == 0
        if entry != 0:
            units[inline] = units[entry]
            words[2 * inline + 2] = words[2 * entry + 2]
            words[2 * inline + 3] = words[2 * entry + 3]
            release(table, entry, 2)
    if words[2 * fact] & layout.ARRANGED and not has_transitions(table, fact):
        withdraw(table, fact)
    if last:
        row = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
        lattice = int32_column(table[layout.CLASSES])[row + layout.CLASS_LATTICE]
        if lattice != 0 and words[2 * fact] & layout.UNLISTED == 0:
            delist(table, fact)
        drop(table, fact)


@kernel
def _end(table: layout.Int64s) -> None:
    clear_class_lists(table)
    scalars = int64_column(table[layout.SCALARS])
    scalars[layout.JOURNALED_FACTS] = 0
    scalars[layout.JOURNALED_ENTRIES] = 0
    scalars[layout.TOUCHED_COUNT] = 0
    scalars[layout.FREE_NODE] = 0
    forget_touched(table)
    scalars[layout.EPOCH] += 1
    scalars[layout.CONVERTING] = 0
