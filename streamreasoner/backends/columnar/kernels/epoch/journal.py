"""Changes, commit and rollback of an epoch. Invariant: no flag, delta or journal outlives it.

The journal holds every changed fact with its state before the epoch, and every changed entry with
its multiplicity before it. Transitions follow from multiplicities, so this is all a rollback needs.
What is saved, read and written back is one list of fields, so all three are in one module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.kernels.records.arrangement import arrange, delist, withdraw
from streamreasoner.backends.columnar.kernels.records.entry import has_transitions, state_of
from streamreasoner.backends.columnar.kernels.records.fact_record import (
    drop,
    prefetch_drop_slot,
    release,
)
from streamreasoner.backends.columnar.kernels.records.layout import (
    ARENA,
    ARRANGED,
    ASSERTED,
    BELOW_ZERO,
    CELLS,
    CLASS_ARITY,
    CLASS_BITS,
    CLASS_HIDDEN,
    CLASS_LATTICE,
    CLASS_RELATION,
    CLASS_WIDTH,
    CLASSES,
    CONVERTING,
    EMPTY_ENTRY,
    EPOCH,
    FACT_BITS,
    FREE_NODE,
    FRESH,
    INITIAL_HEADS,
    ITERATION,
    JOURNAL_CLASS_SHIFT,
    JOURNAL_ENTRIES,
    JOURNAL_FACTS,
    JOURNAL_WORD,
    JOURNALED,
    JOURNALED_ENTRIES,
    JOURNALED_FACTS,
    LAST_TOUCHED,
    MULTIPLICITY_SHIFT,
    OK,
    PRESENT,
    SCALARS,
    STRATA,
    TOUCHED,
    TOUCHED_COUNT,
    TOUCHED_HEADS,
    TOUCHED_NODES,
    TRACE_ROWS,
    TRANSITION_BITS,
    UNLISTED,
    WAS_ASSERTED,
    WAS_BELOW_ZERO,
    WAS_PRESENT,
)
from streamreasoner.backends.columnar.kernels.records.pending import discard_pending
from streamreasoner.backends.columnar.kernels.records.slots import LOW
from streamreasoner.backends.columnar.kernels.settling.lattice import (
    clear_unsettled_groups,
    restore_group,
    unmark_group,
)
from streamreasoner.backends.columnar.kernels.settling.reduce import (
    ANY_STRATUM,
    apply_matches,
    finish,
    withdraw_matches,
)
from streamreasoner.backends.columnar.kernels.settling.settle import clear_class_lists, clear_deltas
from streamreasoner.native.addresses import int32_column, int64_column, prefetch
from streamreasoner.native.compile import inlined, kernel

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.kernels.records.layout import Int8s, Int32s, Int64s

_AHEAD = 8  # facts between prefetching a cache line and reading it


@kernel
def count_changes(table: Int64s, sizes: Int64s) -> None:
    """Add, by relation, the rows of derived, closure and trace changes to *sizes* (n, 3).

    Hidden relations have a trace only.
    """
    scalars = int64_column(table[SCALARS])
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    classes = int32_column(table[CLASSES])
    facts = int64_column(table[JOURNAL_FACTS])
    entries = int64_column(table[JOURNAL_ENTRIES])
    for i in range(scalars[JOURNALED_FACTS]):
        fact = facts[i] & LOW
        row = ((facts[i] >> JOURNAL_CLASS_SHIFT) & CLASS_BITS) * CLASS_WIDTH
        relation = classes[row + CLASS_RELATION]
        if classes[row + CLASS_HIDDEN] == 0:
            derived, closure = _difference(facts[i] >> 32, state_of(table, fact))
            sizes[relation, 0] += derived != 0
            sizes[relation, 1] += closure != 0
        if words[2 * fact] & FRESH != 0:
            sizes[relation, 2] += _trace_rows(table, fact)
    for i in range(scalars[JOURNALED_ENTRIES]):
        if units[entries[2 * i] & LOW] >> MULTIPLICITY_SHIFT != entries[2 * i + 1]:
            fact = (entries[2 * i] >> 32) & FACT_BITS
            relation = classes[(words[2 * fact] & CLASS_BITS) * CLASS_WIDTH + CLASS_RELATION]
            sizes[relation, 2] += 1


@kernel
def read_changes(
    table: Int64s,
    places: Int64s,
    derived_cells: Int32s,
    derived_signs: Int8s,
    closure_cells: Int32s,
    closure_signs: Int8s,
) -> None:
    """Write arguments and signs of the changes of all relations, in the order of the journal.

    Args:
        table: The addresses.
        places: By relation: the next row and cell of derived changes, then of closure changes.
        derived_cells: Arguments of derived changes, contiguous by relation.
        derived_signs: Their signs.
        closure_cells: The same of closure changes.
        closure_signs: Their signs.
    """
    scalars = int64_column(table[SCALARS])
    words = int32_column(table[ARENA])
    classes = int32_column(table[CLASSES])
    facts = int64_column(table[JOURNAL_FACTS])
    for i in range(scalars[JOURNALED_FACTS]):
        row = ((facts[i] >> JOURNAL_CLASS_SHIFT) & CLASS_BITS) * CLASS_WIDTH
        if classes[row + CLASS_HIDDEN] != 0:
            continue
        fact = facts[i] & LOW
        relation, arity = classes[row + CLASS_RELATION], classes[row + CLASS_ARITY]
        derived, closure = _difference(facts[i] >> 32, state_of(table, fact))
        if derived != 0:
            derived_signs[places[relation, 0]] = derived
            places[relation, 0] += 1
            _copy_args(words, fact, arity, derived_cells, places[relation, 1])
            places[relation, 1] += arity
        if closure != 0:
            closure_signs[places[relation, 2]] = closure
            places[relation, 2] += 1
            _copy_args(words, fact, arity, closure_cells, places[relation, 3])
            places[relation, 3] += arity


@kernel
def read_trace_changes(
    table: Int64s, places: Int64s, cells: Int32s, iterations: Int32s, multiplicities: Int64s
) -> None:
    """Write the signed trace differences of all relations; *places* as in `read_changes`."""
    scalars = int64_column(table[SCALARS])
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    classes = int32_column(table[CLASSES])
    facts = int64_column(table[JOURNAL_FACTS])
    entries = int64_column(table[JOURNAL_ENTRIES])
    for i in range(scalars[JOURNALED_FACTS]):
        fact = facts[i] & LOW
        if words[2 * fact] & FRESH == 0:
            continue
        row = ((facts[i] >> JOURNAL_CLASS_SHIFT) & CLASS_BITS) * CLASS_WIDTH
        relation, arity = classes[row + CLASS_RELATION], classes[row + CLASS_ARITY]
        entry = fact + 1
        while entry != 0:
            multiplicity = units[entry] >> MULTIPLICITY_SHIFT
            if multiplicity != 0:
                iterations[places[relation, 0]] = words[2 * entry + 2]
                multiplicities[places[relation, 0]] = multiplicity
                places[relation, 0] += 1
                _copy_args(words, fact, arity, cells, places[relation, 1])
                places[relation, 1] += arity
            entry = words[2 * entry + 3]
    for i in range(scalars[JOURNALED_ENTRIES]):
        fact = (entries[2 * i] >> 32) & FACT_BITS
        entry = entries[2 * i] & LOW
        difference = (units[entry] >> MULTIPLICITY_SHIFT) - entries[2 * i + 1]
        if difference == 0:
            continue
        row = (words[2 * fact] & CLASS_BITS) * CLASS_WIDTH
        relation, arity = classes[row + CLASS_RELATION], classes[row + CLASS_ARITY]
        iterations[places[relation, 0]] = words[2 * entry + 2]
        multiplicities[places[relation, 0]] = difference
        places[relation, 0] += 1
        _copy_args(words, fact, arity, cells, places[relation, 1])
        places[relation, 1] += arity


@kernel
def commit(table: Int64s) -> None:
    """Make the epoch final: drop facts and entries left at zero, and clear the journal."""
    scalars = int64_column(table[SCALARS])
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    classes = int32_column(table[CLASSES])
    facts = int64_column(table[JOURNAL_FACTS])
    entries = int64_column(table[JOURNAL_ENTRIES])
    for i in range(scalars[JOURNALED_ENTRIES]):
        entry = entries[2 * i] & LOW
        units[entry] &= ~JOURNALED
        scalars[TRACE_ROWS] += (units[entry] >> MULTIPLICITY_SHIFT != 0) - (entries[2 * i + 1] != 0)
    count = scalars[JOURNALED_FACTS]
    for i in range(count):
        if i + 2 * _AHEAD < count:
            prefetch(table[ARENA] + 8 * (facts[i + 2 * _AHEAD] & LOW))
            prefetch_drop_slot(table, facts[i + _AHEAD] & LOW)
        fact = facts[i] & LOW
        before = facts[i] >> 32
        after = state_of(table, fact)
        if words[2 * fact] & FRESH != 0:
            scalars[TRACE_ROWS] += _trace_rows(table, fact)
            words[2 * fact] &= ~FRESH
        row = (words[2 * fact] & CLASS_BITS) * CLASS_WIDTH
        if classes[row + CLASS_HIDDEN] == 0:
            scalars[PRESENT] += (after & WAS_PRESENT != 0) - (before & WAS_PRESENT != 0)
        scalars[ASSERTED] += (after & WAS_ASSERTED != 0) - (before & WAS_ASSERTED != 0)
        scalars[BELOW_ZERO] += (after & WAS_BELOW_ZERO != 0) - (before & WAS_BELOW_ZERO != 0)
        words[2 * fact + JOURNAL_WORD] = 0
        _free_empty(table, fact)
    _end(table)


@kernel
def rollback(table: Int64s, values: Int64s) -> int:
    """Restore every multiplicity, rederive what depends on them, and clear the journal."""
    scalars = int64_column(table[SCALARS])
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    facts = int64_column(table[JOURNAL_FACTS])
    entries = int64_column(table[JOURNAL_ENTRIES])
    clear_deltas(table)
    clear_unsettled_groups(table)
    discard_pending(table)
    _untouch_all(table)
    status = withdraw_matches(table, values)
    for i in range(scalars[JOURNALED_ENTRIES]):
        entry = entries[2 * i] & LOW
        flags = units[entry] & ~JOURNALED & ((1 << MULTIPLICITY_SHIFT) - 1)
        units[entry] = (entries[2 * i + 1] << MULTIPLICITY_SHIFT) | flags
    for i in range(scalars[JOURNALED_FACTS]):
        fact = facts[i] & LOW
        if words[2 * fact] & FRESH != 0:
            words[2 * fact] &= ~FRESH
            entry = fact + 1
            while entry != 0:
                units[entry] &= (1 << MULTIPLICITY_SHIFT) - 1
                entry = words[2 * entry + 3]
    status = max(status, _rebuild_all_transitions(table, values))
    for i in range(scalars[JOURNALED_FACTS]):
        fact = facts[i] & LOW
        words[2 * fact + JOURNAL_WORD] = 0
        _free_empty(table, fact)
    _end(table)
    return status


@kernel
def finish_restore(table: Int64s, values: Int64s) -> int:
    """Derive aggregates and transitions from restored multiplicities, and commit; a status."""
    _untouch_all(table)
    status = apply_matches(table, values, ANY_STRATUM)
    if status == OK:
        status = finish(table, values, emit=False)
    if status == OK:
        status = _rebuild_all_transitions(table, values)
    if status == OK:
        commit(table)
    return status


@kernel
def resettle(table: Int64s, values: Int64s) -> int:
    """Rederive the transitions of the journaled facts, and commit; returns a status."""
    status = _rebuild_all_transitions(table, values)
    commit(table)
    return status


@kernel
def _rebuild_all_transitions(table: Int64s, values: Int64s) -> int:
    """Rederive the transitions of all journaled facts; returns a status."""
    scalars = int64_column(table[SCALARS])
    words = int32_column(table[ARENA])
    classes = int32_column(table[CLASSES])
    facts = int64_column(table[JOURNAL_FACTS])
    status = OK
    lattices = False
    for i in range(scalars[JOURNALED_FACTS]):
        fact = facts[i] & LOW
        row = (words[2 * fact] & CLASS_BITS) * CLASS_WIDTH
        if classes[row + CLASS_LATTICE] == 0:
            status = max(status, rebuild_transitions(table, fact))
        elif words[2 * fact] & UNLISTED == 0:
            lattices = True
            status = max(status, restore_group(table, values, fact))
    if lattices:
        for i in range(scalars[JOURNALED_FACTS]):
            fact = facts[i] & LOW
            unmark_group(table, fact)
            if has_transitions(table, fact) and words[2 * fact] & ARRANGED == 0:
                status = max(status, arrange(table, fact))
    return status


@kernel
def rebuild_transitions(table: Int64s, fact: int) -> int:
    """Derive a fact's transitions from its multiplicities, and arrange it if it has any."""
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    has_transition = False
    entry = fact + 1
    while entry != 0:
        when = words[2 * entry + 2]
        before = 0
        upto = 0
        other = fact + 1
        while other != 0:
            multiplicity = units[other] >> MULTIPLICITY_SHIFT
            if words[2 * other + 2] <= when:
                upto += multiplicity
                if words[2 * other + 2] < when:
                    before += multiplicity
            other = words[2 * other + 3]
        transition = (1 if upto > 0 else 0) - (1 if before > 0 else 0)
        has_transition = has_transition or transition != 0
        units[entry] = (units[entry] & ~TRANSITION_BITS) | (transition + 1)
        entry = words[2 * entry + 3]
    if has_transition and words[2 * fact] & ARRANGED == 0:
        return arrange(table, fact)
    return OK


@inlined
def _trace_rows(table: Int64s, fact: int) -> int:
    """Number of iterations at which a fact has a multiplicity."""
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    rows = 0
    entry = fact + 1
    while entry != 0:
        rows += units[entry] >> MULTIPLICITY_SHIFT != 0
        entry = words[2 * entry + 3]
    return rows


@kernel
def _difference(before: int, after: int) -> tuple[int, int]:
    """Change of derived (present, not asserted) and of present, from two states of a fact."""
    was = before & WAS_PRESENT != 0
    now = after & WAS_PRESENT != 0
    was_derived = was and before & WAS_ASSERTED == 0
    now_derived = now and after & WAS_ASSERTED == 0
    return int(now_derived) - int(was_derived), int(now) - int(was)


@inlined
def _copy_args(words: Int32s, fact: int, arity: int, target: Int32s, at: int) -> None:
    base = 2 * fact + CELLS
    for j in range(arity):
        target[at + j] = words[base + j]


@kernel
def _untouch_all(table: Int64s) -> None:
    """Clear the lists of touched facts that are not settled yet."""
    scalars = int64_column(table[SCALARS])
    heads = int32_column(table[INITIAL_HEADS])
    for stratum in range(scalars[STRATA]):
        _untouch(table, heads[stratum])
        heads[stratum] = 0
    heads = int32_column(table[TOUCHED_HEADS])
    for iteration in range(scalars[ITERATION], scalars[LAST_TOUCHED] + 1):
        _untouch(table, heads[iteration])
        heads[iteration] = 0


@kernel
def _untouch(table: Int64s, node: int) -> None:
    """Clear the TOUCHED flags of the facts in one list."""
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    nodes = int64_column(table[TOUCHED_NODES])
    while node != 0:
        entry = (nodes[node] & LOW) + 1
        while entry != 0:
            units[entry] &= ~TOUCHED
            entry = words[2 * entry + 3]
        node = nodes[node] >> 32


@kernel
def _free_empty(table: Int64s, fact: int) -> None:
    """Free empty entries, and the fact itself if no entry is left."""
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    inline = fact + 1
    previous = inline
    entry = words[2 * inline + 3]
    while entry != 0:
        following = words[2 * entry + 3]
        if units[entry] == EMPTY_ENTRY:
            words[2 * previous + 3] = following
            release(table, entry, 2)
        else:
            previous = entry
        entry = following
    last = False
    if units[inline] == EMPTY_ENTRY:
        entry = words[2 * inline + 3]
        last = entry == 0
        if entry != 0:
            units[inline] = units[entry]
            words[2 * inline + 2] = words[2 * entry + 2]
            words[2 * inline + 3] = words[2 * entry + 3]
            release(table, entry, 2)
    if words[2 * fact] & ARRANGED and not has_transitions(table, fact):
        withdraw(table, fact)
    if last:
        row = (words[2 * fact] & CLASS_BITS) * CLASS_WIDTH
        lattice = int32_column(table[CLASSES])[row + CLASS_LATTICE]
        if lattice != 0 and words[2 * fact] & UNLISTED == 0:
            delist(table, fact)
        drop(table, fact)


@kernel
def _end(table: Int64s) -> None:
    clear_class_lists(table)
    scalars = int64_column(table[SCALARS])
    scalars[JOURNALED_FACTS] = 0
    scalars[JOURNALED_ENTRIES] = 0
    scalars[TOUCHED_COUNT] = 0
    scalars[FREE_NODE] = 0
    scalars[ITERATION] = 0
    scalars[LAST_TOUCHED] = 0
    scalars[EPOCH] += 1
    scalars[CONVERTING] = 0
