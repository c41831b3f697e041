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
from streamreasoner.backends.columnar.kernels.records.pending import flush
from streamreasoner.backends.columnar.kernels.records.slots import LOW
from streamreasoner.backends.columnar.kernels.records.work import start_clock
from streamreasoner.backends.columnar.kernels.settling.lattice import restore_group, unmark_group
from streamreasoner.native.addresses import int32_column, int64_column
from streamreasoner.native.compile import inlined, kernel

RELINKED = 1
"""Effect on a class of candidates: some of its facts were relocated."""
CONVERTED = 2
"""Effect on a class: its facts are candidates of another lattice than before, or of none."""


@kernel
def detach(table: layout.Int64s, new_table: layout.Int64s) -> int:
    """Remove facts whose links change from all groups and mark them.

    Args:
        table: The addresses under the old program.
        new_table: The addresses under the new program.

    Returns:
        Units of arena that the relocated records will take.
    """
    scalars = int64_column(table[layout.SCALARS])
    slots = int64_column(table[layout.FACT_TABLE + scalars[layout.FACT_BUFFER]])
    words = int32_column(table[layout.ARENA])
    old = int32_column(table[layout.CLASSES])
    new = int32_column(new_table[layout.CLASSES])
    units = 0
    for i in range(scalars[layout.FACT_MASK] + 1):
        fact = slots[i] & LOW
        if fact == 0:
            continue
        before = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
        kind = classify(
            new_table, old[before + layout.CLASS_RELATION], words, 2 * fact + layout.CELLS
        )
        if not _same_links(table, new_table, before, kind * layout.CLASS_WIDTH):
            if words[2 * fact] & layout.ARRANGED != 0:
                withdraw(table, fact)
            if old[before + layout.CLASS_LATTICE] != 0 and words[2 * fact] & layout.UNLISTED == 0:
                delist(table, fact)
            words[2 * fact] |= layout.MARKED
            units += new[kind * layout.CLASS_WIDTH + layout.CLASS_UNITS]
    return units


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
    scalars = int64_column(table[layout.SCALARS])
    slots = int64_column(table[layout.FACT_TABLE + scalars[layout.FACT_BUFFER]])
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    old = int32_column(old_table[layout.CLASSES])
    new = int32_column(table[layout.CLASSES])
    for i in range(scalars[layout.FACT_MASK] + 1):
        fact = slots[i] & LOW
        if fact == 0:
            continue
        before = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
        kind = classify(table, old[before + layout.CLASS_RELATION], words, 2 * fact + layout.CELLS)
        sizes[kind] += 1
        if (
            old[before + layout.CLASS_LATTICE]
            != new[kind * layout.CLASS_WIDTH + layout.CLASS_LATTICE]
        ):
            effects[kind] = CONVERTED
        if words[2 * fact] & layout.MARKED == 0:
            words[2 * fact] = (words[2 * fact] & ~layout.CLASS_BITS) | kind
            continue
        moved = allocate(table, new[kind * layout.CLASS_WIDTH + layout.CLASS_UNITS])
        words[2 * moved] = kind | layout.MARKED
        units[moved + 1] = units[fact + 1]
        units[moved + 2] = units[fact + 2]
        for j in range(old[before + layout.CLASS_ARITY]):
            words[2 * moved + layout.CELLS + j] = words[2 * fact + layout.CELLS + j]
        if new[kind * layout.CLASS_WIDTH + layout.CLASS_LATTICE] != 0:
            words[2 * moved] |= layout.UNLISTED
            effects[kind] = max(effects[kind], RELINKED)
        slots[i] = (slots[i] & ~LOW) | moved
        release(table, fact, old[before + layout.CLASS_UNITS])


@kernel
def attach(table: layout.Int64s) -> int:
    """Add relocated facts to their groups; returns a status."""
    scalars = int64_column(table[layout.SCALARS])
    slots = int64_column(table[layout.FACT_TABLE + scalars[layout.FACT_BUFFER]])
    words = int32_column(table[layout.ARENA])
    classes = int32_column(table[layout.CLASSES])
    for i in range(scalars[layout.FACT_MASK] + 1):
        fact = slots[i] & LOW
        if fact == 0 or words[2 * fact] & layout.MARKED == 0:
            continue
        words[2 * fact] &= ~layout.MARKED
        row = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
        if classes[row + layout.CLASS_LATTICE] != 0 and enlist(table, fact) != layout.OK:
            return layout.FULL
        if has_transitions(table, fact) and arrange(table, fact) != layout.OK:
            return layout.FULL
    return layout.OK


@kernel
def restore_winners(table: layout.Int64s, values: layout.Int64s, effects: layout.Int32s) -> int:
    """Restore the winners of the groups of relocated candidates; returns a status."""
    scalars = int64_column(table[layout.SCALARS])
    slots = int64_column(table[layout.FACT_TABLE + scalars[layout.FACT_BUFFER]])
    words = int32_column(table[layout.ARENA])
    status = layout.OK
    for restoring in (True, False):
        for i in range(scalars[layout.FACT_MASK] + 1):
            fact = slots[i] & LOW
            if fact != 0 and effects[words[2 * fact] & layout.CLASS_BITS] == RELINKED:
                if restoring:
                    status = max(status, restore_group(table, values, fact))
                else:
                    unmark_group(table, fact)
    return status


@kernel
def journal_converted(table: layout.Int64s, effects: layout.Int32s) -> None:
    """Journal the facts of CONVERTED classes, so that all of them are settled again."""
    scalars = int64_column(table[layout.SCALARS])
    slots = int64_column(table[layout.FACT_TABLE + scalars[layout.FACT_BUFFER]])
    words = int32_column(table[layout.ARENA])
    for i in range(scalars[layout.FACT_MASK] + 1):
        fact = slots[i] & LOW
        if fact != 0 and effects[words[2 * fact] & layout.CLASS_BITS] == CONVERTED:
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
        items: int32 of shape (n, 4): plan, sign, stratum, and the class field that holds strata.
    """
    scalars = int64_column(table[layout.SCALARS])
    slots = int64_column(table[layout.FACT_TABLE + scalars[layout.FACT_BUFFER]])
    words = int32_column(table[layout.ARENA])
    drivers = int64_column(table[layout.DELTAS])
    count = 0
    # Derivations may grow the table of facts, so the drivers are collected first.
    for i in range(scalars[layout.FACT_MASK] + 1):
        fact = slots[i] & LOW
        kind = words[2 * fact] & layout.CLASS_BITS
        if fact != 0 and starts[kind] != starts[kind + 1] and has_transitions(table, fact):
            drivers[count] = fact
            count += 1
    scalars[layout.QUIET] = 1
    status = layout.OK
    start_clock(table)
    for i in range(count):
        kind = words[2 * drivers[i]] & layout.CLASS_BITS
        for j in range(starts[kind], starts[kind + 1]):
            scalars[layout.STRATUM] = items[j, 2]
            scalars[layout.STRATUM_FIELD] = items[j, 3]
            if status == layout.OK:
                status = _drive(table, values, drivers[i], items[j, 0], items[j, 1])
    if status == layout.OK:
        status = flush(table)
    scalars[layout.QUIET] = 0
    scalars[layout.STRATUM_FIELD] = layout.CLASS_STRATUM
    return status


@kernel
def touch_changed(table: layout.Int64s) -> None:
    """Touch every journaled fact at the start of its stratum."""
    scalars = int64_column(table[layout.SCALARS])
    facts = int64_column(table[layout.JOURNAL_FACTS])
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    for i in range(scalars[layout.JOURNALED_FACTS]):
        fact = facts[i] & LOW
        entry = fact + 1
        while entry != 0:
            if words[2 * entry + 2] == 0:
                units[entry] |= layout.TOUCHED
            entry = words[2 * entry + 3]
        touch_at_start(table, fact)


@inlined
def _drive(table: layout.Int64s, values: layout.Int64s, fact: int, plan: int, sign: int) -> int:
    """Run a plan for every transition of a fact, or for its presence in a lower stratum."""
    scalars = int64_column(table[layout.SCALARS])
    words = int32_column(table[layout.ARENA])
    units = int64_column(table[layout.ARENA])
    row = (words[2 * fact] & layout.CLASS_BITS) * layout.CLASS_WIDTH
    stratum = int32_column(table[layout.CLASSES])[row + scalars[layout.STRATUM_FIELD]]
    if stratum != scalars[layout.STRATUM]:
        if presence(table, fact) == 0:
            return layout.OK
        return run(table, values, plan, fact, sign, 0, 0, 0)
    entry = fact + 1
    while entry != 0:
        transition = (units[entry] & layout.TRANSITION_BITS) - 1
        if transition != 0:
            when = words[2 * entry + 2]
            status = run(table, values, plan, fact, sign * transition, when, 0, 0)
            if status != layout.OK:
                return status
        entry = words[2 * entry + 3]
    return layout.OK


@inlined
def _same_links(table: layout.Int64s, new_table: layout.Int64s, before: int, after: int) -> bool:
    """Whether an old and a new class have the same links in their records."""
    old = int32_column(table[layout.CLASSES])
    new = int32_column(new_table[layout.CLASSES])
    count = old[before + layout.CLASS_LINK_COUNT]
    if (
        count != new[after + layout.CLASS_LINK_COUNT]
        or old[before + layout.CLASS_LATTICE] != new[after + layout.CLASS_LATTICE]
        or old[before + layout.CLASS_LATTICE_CELL] != new[after + layout.CLASS_LATTICE_CELL]
    ):
        return False
    old_members = int32_column(table[layout.MEMBERSHIPS])
    new_members = int32_column(new_table[layout.MEMBERSHIPS])
    first = old[before + layout.CLASS_MEMBERSHIPS]
    second = new[after + layout.CLASS_MEMBERSHIPS]
    for i in range(count):
        if old_members[first + i] != new_members[second + i]:
            return False
    return True
