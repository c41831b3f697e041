"""Migrate the state to another program. Invariant: multiplicities and transitions are unchanged.

Only the classes of facts change, and with them the arrangements they belong to. A fact whose links
change moves to a record of another size. Three passes over the table of facts do this: detach facts
from their old groups, relocate them, attach them to their new groups.
"""

from __future__ import annotations

from streamreasoner.backends.columnar.kernels.joining.interpret import run
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.backends.columnar.kernels.records.arrangement import (
    arrange,
    delist,
    enlist,
    withdraw,
)
from streamreasoner.backends.columnar.kernels.records.entry import (
    has_transitions,
    journal_fact,
    presence,
    touch_at_start,
)
from streamreasoner.backends.columnar.kernels.records.fact_record import allocate, classify, release
from streamreasoner.backends.columnar.kernels.records.fields import facts, lists, views
from streamreasoner.backends.columnar.kernels.records.pending import flush
from streamreasoner.backends.columnar.kernels.records.slots import fact_at, fact_words, set_fact_at
from streamreasoner.backends.columnar.kernels.records.work import start_clock
from streamreasoner.backends.columnar.kernels.settling.lattice import restore_group, unmark_group
from streamreasoner.native.compile import inlined, kernel

RELINKED = 1
"""Effect on a class of candidates: some of its facts were relocated."""
CONVERTED = 2
"""Effect on a class: its facts are candidates of another lattice than before, or of none."""


ITEM_PLAN, ITEM_SIGN, ITEM_STRATUM, ITEM_FIELD = range(4)


@kernel
def detach(table: layout.Int64s, new_table: layout.Int64s, needed: layout.Int64s) -> None:
    """Remove facts whose links change from all groups and mark them.

    Args:
        table: The addresses under the old program.
        new_table: The addresses under the new program.
        needed: Output: number of the records that they will move to, by units.
    """
    for i in range(fact_words(table)):
        fact = fact_at(table, i)
        if fact == 0:
            continue
        before = facts.class_of(table, fact)
        relation = facts.class_field(table, before, layout.CLASS_RELATION)
        kind = classify(new_table, relation, views.words(table), facts.arguments_at(fact))
        if not _same_links(table, new_table, before, kind):
            if facts.has(table, fact, layout.ARRANGED):
                withdraw(table, fact)
            is_candidate = facts.class_field(table, before, layout.CLASS_LATTICE) != 0
            if is_candidate and not facts.has(table, fact, layout.UNLISTED):
                delist(table, fact)
            facts.mark(table, fact, layout.MARKED)
            needed[facts.class_field(new_table, kind, layout.CLASS_UNITS)] += 1


@kernel
def lacking(table: layout.Int64s, needed: layout.Int64s) -> int:
    """Units of arena that records take besides free ones: none on the way back to a program.

    Args:
        table: The addresses.
        needed: Number of the records, by units.
    """
    total = 0
    for units in range(len(needed)):
        count, record = needed[units], views.free(table)[units]
        while count > 0 and record != 0:
            count -= 1
            record = facts.word(table, record, layout.FREE_NEXT)
        total += units * count
    return total


@kernel
def relocate(
    table: layout.Int64s, old_table: layout.Int64s, sizes: layout.Int64s, effects: layout.Int32s
) -> None:
    """Assign every fact its class under the new program, and marked facts a new record.

    Args:
        table: The addresses under the new program.
        old_table: The addresses under the old program.
        sizes: Output: number of facts by class, int64.
        effects: Output: CONVERTED or RELINKED, by class.
    """
    for i in range(fact_words(table)):
        fact = fact_at(table, i)
        if fact == 0:
            continue
        before = facts.class_of(table, fact)
        relation = facts.class_field(old_table, before, layout.CLASS_RELATION)
        kind = classify(table, relation, views.words(table), facts.arguments_at(fact))
        sizes[kind] += 1
        lattice = facts.class_field(table, kind, layout.CLASS_LATTICE)
        if facts.class_field(old_table, before, layout.CLASS_LATTICE) != lattice:
            effects[kind] = CONVERTED
        if not facts.has(table, fact, layout.MARKED):
            facts.set_header(table, fact, (facts.header(table, fact) & ~layout.CLASS_BITS) | kind)
            continue
        moved = allocate(table, facts.class_field(table, kind, layout.CLASS_UNITS))
        facts.set_header(table, moved, kind | layout.MARKED)
        facts.copy_entry(table, facts.first_entry(fact), facts.first_entry(moved))
        for j in range(facts.class_field(old_table, before, layout.CLASS_ARITY)):
            views.words(table)[facts.arguments_at(moved) + j] = facts.argument(table, fact, j)
        if lattice != 0:
            facts.mark(table, moved, layout.UNLISTED)
            effects[kind] = max(effects[kind], RELINKED)
        set_fact_at(table, i, moved)
        release(table, fact, facts.class_field(old_table, before, layout.CLASS_UNITS))


@kernel
def attach(table: layout.Int64s) -> int:
    """Add relocated facts to their groups; returns a status."""
    for i in range(fact_words(table)):
        fact = fact_at(table, i)
        if fact == 0 or not facts.has(table, fact, layout.MARKED):
            continue
        facts.unmark(table, fact, layout.MARKED)
        if (
            facts.field_of(table, fact, layout.CLASS_LATTICE) != 0
            and enlist(table, fact) != layout.OK
        ):
            return layout.FULL
        if has_transitions(table, fact) and arrange(table, fact) != layout.OK:
            return layout.FULL
    return layout.OK


@kernel
def restore_winners(table: layout.Int64s, values: layout.Int64s, effects: layout.Int32s) -> int:
    """Restore the winners of the groups of relocated candidates; returns a status."""
    status = layout.OK
    for restoring in (True, False):
        for i in range(fact_words(table)):
            fact = fact_at(table, i)
            if fact != 0 and effects[facts.class_of(table, fact)] == RELINKED:
                if restoring:
                    status = max(status, restore_group(table, values, fact))
                else:
                    unmark_group(table, fact)
    return status


@kernel
def journal_converted(table: layout.Int64s, effects: layout.Int32s) -> None:
    """Journal the facts of CONVERTED classes, so that all of them are settled again."""
    for i in range(fact_words(table)):
        fact = fact_at(table, i)
        if fact != 0 and effects[facts.class_of(table, fact)] == CONVERTED:
            journal_fact(table, fact)


@kernel
def evaluate_in_full(
    table: layout.Int64s, values: layout.Int64s, starts: layout.Int32s, items: layout.Int32s
) -> int:
    """Add or subtract everything that some rules derive from the current state; returns a status.

    Args:
        table: The addresses.
        values: Values of terms.
        starts: By class, the first of its *items*, and the total at the end.
        items: int32 rows of plan, sign, stratum, and the class field that holds strata.
    """
    scalars = views.scalars(table)
    drivers = views.deltas(table)
    count = 0
    # Derivations may grow the table of facts, so the drivers are collected first.
    for i in range(fact_words(table)):
        fact = fact_at(table, i)
        kind = facts.class_of(table, fact)
        if fact != 0 and starts[kind] != starts[kind + 1] and has_transitions(table, fact):
            drivers[count] = fact
            count += 1
    scalars[layout.QUIET] = 1
    status = layout.OK
    start_clock(table)
    for i in range(count):
        kind = facts.class_of(table, drivers[i])
        for j in range(starts[kind], starts[kind + 1]):
            scalars[layout.STRATUM] = items[j, ITEM_STRATUM]
            scalars[layout.STRATUM_FIELD] = items[j, ITEM_FIELD]
            if status == layout.OK:
                status = _drive(table, values, drivers[i], items[j, ITEM_PLAN], items[j, ITEM_SIGN])
    if status == layout.OK:
        status = flush(table)
    scalars[layout.QUIET] = 0
    scalars[layout.STRATUM_FIELD] = layout.CLASS_STRATUM
    return status


@kernel
def touch_changed(table: layout.Int64s) -> None:
    """Touch every journaled fact at the start of its stratum."""
    for i in range(views.scalars(table)[layout.JOURNALED_FACTS]):
        fact = lists.journaled_fact(table, i)
        entry = facts.first_entry(fact)
        while entry != 0:
            if facts.iteration(table, entry) == 0:
                facts.flag(table, entry, layout.TOUCHED)
            entry = facts.next_entry(table, entry)
        touch_at_start(table, fact)


@inlined
def _drive(table: layout.Int64s, values: layout.Int64s, fact: int, plan: int, sign: int) -> int:
    """Run a plan for every transition of a fact, or for its presence in a lower stratum."""
    stratum = facts.field_of(table, fact, views.scalars(table)[layout.STRATUM_FIELD])
    if stratum != views.scalars(table)[layout.STRATUM]:
        if presence(table, fact) == 0:
            return layout.OK
        return run(table, values, plan, fact, sign, 0, 0, 0)
    entry = facts.first_entry(fact)
    while entry != 0:
        transition = facts.transition(table, entry)
        if transition != 0:
            when = facts.iteration(table, entry)
            status = run(table, values, plan, fact, sign * transition, when, 0, 0)
            if status != layout.OK:
                return status
        entry = facts.next_entry(table, entry)
    return layout.OK


@inlined
def _same_links(table: layout.Int64s, new_table: layout.Int64s, before: int, after: int) -> bool:
    """Whether an old and a new class have the same links in their records."""
    count = facts.class_field(table, before, layout.CLASS_LINK_COUNT)
    for field in (layout.CLASS_LINK_COUNT, layout.CLASS_LATTICE, layout.CLASS_LATTICE_CELL):
        if facts.class_field(table, before, field) != facts.class_field(new_table, after, field):
            return False
    new_members = views.memberships(new_table)
    first = facts.class_field(table, before, layout.CLASS_MEMBERSHIPS)
    second = facts.class_field(new_table, after, layout.CLASS_MEMBERSHIPS)
    for i in range(layout.MEMBERSHIP_WIDTH * count):
        old = views.memberships(table)[layout.MEMBERSHIP_WIDTH * first + i]
        if old != new_members[layout.MEMBERSHIP_WIDTH * second + i]:
            return False
    return True
