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
    forget_touched,
    free_numbers,
    has_transitions,
    state_of,
    trace_rows,
)
from streamreasoner.backends.columnar.kernels.records.fact_record import (
    drop,
    prefetch_drop_slot,
    release,
)
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.backends.columnar.kernels.records.pending import discard_pending
from streamreasoner.backends.columnar.kernels.settling.lattice import (
    clear_unsettled_groups,
    restore_group,
    unmark_group,
)
from streamreasoner.backends.columnar.kernels.settling.reduce import (
    finish,
    restore_matches,
    withdraw_matches,
)
from streamreasoner.backends.columnar.kernels.settling.settle import clear_class_lists, clear_deltas
from streamreasoner.native.compile import inlined, kernel


@kernel
def commit(table: layout.Int64s) -> None:
    """Make the epoch final: drop facts and entries left at zero, and clear the journal."""
    scalars = views.scalars(table)
    for i in range(scalars[layout.JOURNALED_ENTRIES]):
        lists.prefetch_journaled_entry(table, i)
        entry = lists.journaled_entry(table, i)
        facts.unflag(table, entry, layout.JOURNALED)
        multiplicity = facts.multiplicity(table, entry)
        scalars[layout.TRACE_ROWS] += (multiplicity != 0) - (
            lists.multiplicity_before(table, i) != 0
        )
        if facts.iteration(table, entry) != 0:
            scalars[layout.DERIVATIONS] += multiplicity - lists.multiplicity_before(table, i)
    count = scalars[layout.JOURNALED_FACTS]
    for i in range(count):
        lists.prefetch_journaled(table, i)
        if i + lists.AHEAD < count:
            prefetch_drop_slot(table, lists.journaled_fact(table, i + lists.AHEAD))
        fact = lists.journaled_fact(table, i)
        before = lists.state_before(table, i)
        after = state_of(table, fact)
        if facts.has(table, fact, layout.FRESH):
            scalars[layout.TRACE_ROWS] += trace_rows(table, fact)
            scalars[layout.DERIVATIONS] += _derivations(table, fact)
            facts.unmark(table, fact, layout.FRESH)
        if facts.field_of(table, fact, layout.CLASS_HIDDEN) == 0:
            scalars[layout.PRESENT] += (after & layout.WAS_PRESENT != 0) - (
                before & layout.WAS_PRESENT != 0
            )
        scalars[layout.ASSERTED] += (after & layout.WAS_ASSERTED != 0) - (
            before & layout.WAS_ASSERTED != 0
        )
        scalars[layout.BELOW_ZERO] += (after & layout.WAS_BELOW_ZERO != 0) - (
            before & layout.WAS_BELOW_ZERO != 0
        )
        facts.unflag(table, facts.first_entry(fact), layout.FACT_JOURNALED)
        if not _is_kept(table, fact):
            _free_empty(table, fact)
    _end(table)


@inlined
def _is_kept(table: layout.Int64s, fact: int) -> bool:
    """Whether a fact has a single entry, with a transition, so that nothing of it is freed."""
    entry = facts.first_entry(fact)
    return facts.next_entry(table, entry) == 0 and facts.transition(table, entry) != 0


@kernel
def rollback(table: layout.Int64s, values: layout.Int64s) -> int:
    """Restore every multiplicity, rederive what depends on them, and clear the journal."""
    status = withdraw_epoch(table, values)
    return max(status, rederive(table, values))


@kernel
def withdraw_epoch(table: layout.Int64s, values: layout.Int64s) -> int:
    """Restore every multiplicity, and note the former state of the journaled facts; a status.

    It is in their headers, plus 1, until `rederive`.
    """
    uncount(table)
    clear_deltas(table)
    clear_unsettled_groups(table)
    discard_pending(table)
    discard_log(table)
    _untouch_all(table)
    status = withdraw_matches(table, values)
    for i in range(views.scalars(table)[layout.JOURNALED_ENTRIES]):
        entry = lists.journaled_entry(table, i)
        facts.unflag(table, entry, layout.JOURNALED)
        facts.set_multiplicity(table, entry, lists.multiplicity_before(table, i))
    for i in range(views.scalars(table)[layout.JOURNALED_FACTS]):
        fact = lists.journaled_fact(table, i)
        facts.mark(table, fact, (1 + lists.state_before(table, i)) << layout.NOTED_SHIFT)
        if facts.has(table, fact, layout.FRESH):
            entry = facts.first_entry(fact)
            while entry != 0:
                facts.set_multiplicity(table, entry, 0)
                entry = facts.next_entry(table, entry)
    return status


@kernel
def rederive(table: layout.Int64s, values: layout.Int64s) -> int:
    """Rederive what depends on multiplicities after `withdraw_epoch`, and clear the journal."""
    status = _rebuild_all_transitions(table, values)
    status = max(status, finish(table, values, emits=False))
    for i in range(views.scalars(table)[layout.JOURNALED_FACTS]):
        fact = lists.journaled_fact(table, i)
        facts.unmark(table, fact, layout.FRESH | layout.NOTED_BITS)
        facts.unflag(table, facts.first_entry(fact), layout.FACT_JOURNALED)
        _free_empty(table, fact)
    _end(table)
    return status


@kernel
def settle_restored(table: layout.Int64s, values: layout.Int64s) -> int:
    """Derive aggregates and transitions from restored multiplicities; returns a status."""
    _untouch_all(table)
    status = _rebuild_all_transitions(table, values)
    if status == layout.OK:
        status = restore_matches(table, values)
    if status == layout.OK:
        status = finish(table, values, emits=False)
    return status


@kernel
def arrange_journaled(table: layout.Int64s, first: int) -> int:
    """Arrange the facts that have been journaled from one on, no candidates; returns a status."""
    status = layout.OK
    for i in range(first, views.scalars(table)[layout.JOURNALED_FACTS]):
        fact = lists.journaled_fact(table, i)
        if has_transitions(table, fact) and not facts.has(table, fact, layout.ARRANGED):
            status = max(status, arrange(table, fact))
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
    status = layout.OK
    lattices = False
    for i in range(views.scalars(table)[layout.JOURNALED_FACTS]):
        fact = lists.journaled_fact(table, i)
        if facts.field_of(table, fact, layout.CLASS_LATTICE) == 0:
            status = max(status, rebuild_transitions(table, fact))
        elif not facts.has(table, fact, layout.UNLISTED):
            lattices = True
            status = max(status, restore_group(table, values, fact))
    if lattices:
        for i in range(views.scalars(table)[layout.JOURNALED_FACTS]):
            fact = lists.journaled_fact(table, i)
            unmark_group(table, fact)
            if has_transitions(table, fact) and not facts.has(table, fact, layout.ARRANGED):
                status = max(status, arrange(table, fact))
    return status


@kernel
def rebuild_transitions(table: layout.Int64s, fact: int) -> int:
    """Derive a fact's transitions from its multiplicities, and arrange it if it has any."""
    has_transition = False
    entry = facts.first_entry(fact)
    while entry != 0:
        when = facts.iteration(table, entry)
        before = 0
        upto = 0
        other = facts.first_entry(fact)
        while other != 0:
            multiplicity = facts.multiplicity(table, other)
            if facts.iteration(table, other) <= when:
                upto += multiplicity
                if facts.iteration(table, other) < when:
                    before += multiplicity
            other = facts.next_entry(table, other)
        transition = (1 if upto > 0 else 0) - (1 if before > 0 else 0)
        has_transition = has_transition or transition != 0
        facts.set_transition(table, entry, transition)
        entry = facts.next_entry(table, entry)
    if has_transition and not facts.has(table, fact, layout.ARRANGED):
        return arrange(table, fact)
    return layout.OK


@inlined
def _derivations(table: layout.Int64s, fact: int) -> int:
    """Sum of the multiplicities of a fact beyond iteration 0."""
    derivations = 0
    entry = facts.first_entry(fact)
    while entry != 0:
        if facts.iteration(table, entry) != 0:
            derivations += facts.multiplicity(table, entry)
        entry = facts.next_entry(table, entry)
    return derivations


@kernel
def _untouch_all(table: layout.Int64s) -> None:
    """Clear the lists of touched facts that are not settled yet."""
    heads = views.initial_heads(table)
    for stratum in range(views.scalars(table)[layout.STRATA]):
        _untouch(table, heads[stratum])
        heads[stratum] = 0
    heads = views.touched_heads(table)
    last = views.touched_last(table)
    for segment in range((views.scalars(table)[layout.LAST_TOUCHED] >> layout.SEGMENT_BITS) + 1):
        for iteration in range(segment << layout.SEGMENT_BITS, last[segment] + 1):
            _untouch(table, heads[iteration])
            heads[iteration] = 0


@kernel
def _untouch(table: layout.Int64s, node: int) -> None:
    """Clear the TOUCHED flags of the facts in one list."""
    while node != 0:
        entry = facts.first_entry(lists.touched_fact(table, node))
        while entry != 0:
            facts.unflag(table, entry, layout.TOUCHED)
            entry = facts.next_entry(table, entry)
        node = lists.next_touched_node(table, node)


@kernel
def _free_empty(table: layout.Int64s, fact: int) -> None:
    """Free empty entries, and the fact itself if no entry is left."""
    inline = facts.first_entry(fact)
    previous = inline
    entry = facts.next_entry(table, inline)
    while entry != 0:
        following = facts.next_entry(table, entry)
        if facts.is_empty_entry(table, entry):
            facts.set_next_entry(table, previous, following)
            free_numbers(table, entry)
            release(table, entry, layout.ENTRY_UNITS)
        else:
            previous = entry
        entry = following
    last = False
    if facts.is_empty_entry(table, inline):
        free_numbers(table, inline)
        entry = facts.next_entry(table, inline)
        last = entry == 0
        if entry != 0:
            facts.copy_entry(table, entry, inline)
            release(table, entry, layout.ENTRY_UNITS)
    if facts.has(table, fact, layout.ARRANGED) and not has_transitions(table, fact):
        withdraw(table, fact)
    if last:
        lattice = facts.field_of(table, fact, layout.CLASS_LATTICE)
        if lattice != 0 and not facts.has(table, fact, layout.UNLISTED):
            delist(table, fact)
        drop(table, fact)


@kernel
def _end(table: layout.Int64s) -> None:
    clear_class_lists(table)
    scalars = views.scalars(table)
    scalars[layout.JOURNALED_FACTS] = 0
    scalars[layout.JOURNALED_ENTRIES] = 0
    scalars[layout.TOUCHED_COUNT] = 0
    scalars[layout.FREE_NODE] = 0
    forget_touched(table)
    scalars[layout.EPOCH] += 1
    scalars[layout.CONVERTING] = 0
