"""The state under another program. Invariant: multiplicities stay, and so do transitions.

Only where facts stand changes: their classes, and with these the arrangements they are members of.
A fact whose links change gets a record of another size. Every slot of the table of facts is met
once in each of three passes: leave what is no more, move, join what is new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.backends.columnar.arrangement import arrange, delist, enlist, withdraw
from streamreasoner.backends.columnar.derive import run
from streamreasoner.backends.columnar.entry import journal_fact, presence, presents, touch_at_start
from streamreasoner.backends.columnar.fact import allocate, classify, release
from streamreasoner.backends.columnar.lattice import restore_group, unmark_group
from streamreasoner.backends.columnar.layout import (
    ARENA,
    ARRANGED,
    CELLS,
    CLASS_ARITY,
    CLASS_BITS,
    CLASS_LATTICE,
    CLASS_LATTICE_CELL,
    CLASS_LINK_COUNT,
    CLASS_MEMBERSHIPS,
    CLASS_RELATION,
    CLASS_STRATUM,
    CLASS_UNITS,
    CLASS_WIDTH,
    CLASSES,
    DELTAS,
    FACT_BUFFER,
    FACT_MASK,
    FACT_TABLE,
    FULL,
    JOURNAL_FACTS,
    JOURNALED_FACTS,
    MARKED,
    MEMBERSHIPS,
    OK,
    QUIET,
    SCALARS,
    STRATUM,
    STRATUM_FIELD,
    TOUCHED,
    TRANSITION_BITS,
    UNLISTED,
)
from streamreasoner.backends.columnar.pending import flush
from streamreasoner.backends.columnar.slots import LOW
from streamreasoner.rdf.kernels.compile import inlined, kernel
from streamreasoner.rdf.kernels.memory import int32_column, int64_column

if TYPE_CHECKING:
    from streamreasoner.backends.columnar.arrays import Int32s, Int64s


RELINKED = 1
"""Effect on a class of candidates: some of its facts were moved."""
CONVERTED = 2
"""Effect on a class: its facts are candidates of another lattice than before, or of none."""


@kernel
def leave(table: Int64s, coming: Int64s) -> int:
    """Take facts whose links change out of all groups and mark them.

    Args:
        table: The addresses under the program so far.
        coming: The addresses under the program to come.

    Returns:
        Units of arena that the records to be moved will take.
    """
    scalars = int64_column(table[SCALARS])
    slots = int64_column(table[FACT_TABLE + scalars[FACT_BUFFER]])
    words = int32_column(table[ARENA])
    old = int32_column(table[CLASSES])
    new = int32_column(coming[CLASSES])
    units = 0
    for i in range(scalars[FACT_MASK] + 1):
        fact = slots[i] & LOW
        if fact == 0:
            continue
        before = (words[2 * fact] & CLASS_BITS) * CLASS_WIDTH
        kind = classify(coming, old[before + CLASS_RELATION], words, 2 * fact + CELLS)
        if not _same_links(table, coming, before, kind * CLASS_WIDTH):
            if words[2 * fact] & ARRANGED != 0:
                withdraw(table, fact)
            if old[before + CLASS_LATTICE] != 0 and words[2 * fact] & UNLISTED == 0:
                delist(table, fact)
            words[2 * fact] |= MARKED
            units += new[kind * CLASS_WIDTH + CLASS_UNITS]
    return units


@kernel
def move(table: Int64s, gone: Int64s, sizes: Int64s, effects: Int32s) -> None:
    """Give every fact its class under the program to come, and marked ones a new record.

    Args:
        table: The addresses under the program to come.
        gone: The addresses under the program so far.
        sizes: Gains the number of facts by class, int64.
        effects: By class, becomes CONVERTED or RELINKED.
    """
    scalars = int64_column(table[SCALARS])
    slots = int64_column(table[FACT_TABLE + scalars[FACT_BUFFER]])
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    old = int32_column(gone[CLASSES])
    new = int32_column(table[CLASSES])
    for i in range(scalars[FACT_MASK] + 1):
        fact = slots[i] & LOW
        if fact == 0:
            continue
        before = (words[2 * fact] & CLASS_BITS) * CLASS_WIDTH
        kind = classify(table, old[before + CLASS_RELATION], words, 2 * fact + CELLS)
        sizes[kind] += 1
        if old[before + CLASS_LATTICE] != new[kind * CLASS_WIDTH + CLASS_LATTICE]:
            effects[kind] = CONVERTED
        if words[2 * fact] & MARKED == 0:
            words[2 * fact] = (words[2 * fact] & ~CLASS_BITS) | kind
            continue
        moved = allocate(table, new[kind * CLASS_WIDTH + CLASS_UNITS])
        words[2 * moved] = kind | MARKED
        units[moved + 1] = units[fact + 1]
        units[moved + 2] = units[fact + 2]
        for j in range(old[before + CLASS_ARITY]):
            words[2 * moved + CELLS + j] = words[2 * fact + CELLS + j]
        if new[kind * CLASS_WIDTH + CLASS_LATTICE] != 0:
            words[2 * moved] |= UNLISTED
            effects[kind] = max(effects[kind], RELINKED)
        slots[i] = (slots[i] & ~LOW) | moved
        release(table, fact, old[before + CLASS_UNITS])


@kernel
def join(table: Int64s) -> int:
    """Put moved facts into their groups; returns a status."""
    scalars = int64_column(table[SCALARS])
    slots = int64_column(table[FACT_TABLE + scalars[FACT_BUFFER]])
    words = int32_column(table[ARENA])
    classes = int32_column(table[CLASSES])
    for i in range(scalars[FACT_MASK] + 1):
        fact = slots[i] & LOW
        if fact == 0 or words[2 * fact] & MARKED == 0:
            continue
        words[2 * fact] &= ~MARKED
        row = (words[2 * fact] & CLASS_BITS) * CLASS_WIDTH
        if classes[row + CLASS_LATTICE] != 0 and enlist(table, fact) != OK:
            return FULL
        if presents(table, fact) and arrange(table, fact) != OK:
            return FULL
    return OK


@kernel
def restore_winners(table: Int64s, values: Int64s, effects: Int32s) -> int:
    """Let the groups of moved candidates have their histories back; returns a status."""
    scalars = int64_column(table[SCALARS])
    slots = int64_column(table[FACT_TABLE + scalars[FACT_BUFFER]])
    words = int32_column(table[ARENA])
    status = OK
    for restoring in (True, False):
        for i in range(scalars[FACT_MASK] + 1):
            fact = slots[i] & LOW
            if fact != 0 and effects[words[2 * fact] & CLASS_BITS] == RELINKED:
                if restoring:
                    status = max(status, restore_group(table, values, fact))
                else:
                    unmark_group(table, fact)
    return status


@kernel
def unsettle(table: Int64s, effects: Int32s) -> None:
    """Journal the facts of classes that are CONVERTED, so that all of them are settled again."""
    scalars = int64_column(table[SCALARS])
    slots = int64_column(table[FACT_TABLE + scalars[FACT_BUFFER]])
    words = int32_column(table[ARENA])
    for i in range(scalars[FACT_MASK] + 1):
        fact = slots[i] & LOW
        if fact != 0 and effects[words[2 * fact] & CLASS_BITS] == CONVERTED:
            journal_fact(table, fact)


@kernel
def evaluate_in_full(table: Int64s, values: Int64s, starts: Int32s, items: Int32s) -> int:
    """Add, or take away, all that some rules derive from the state as it is; returns a status.

    Args:
        table: The addresses.
        values: Values of terms.
        starts: By class, the first of its *items*; one more at the end.
        items: int32 of shape (n, 4): plan, sign, stratum, and the field of a class with strata.
    """
    scalars = int64_column(table[SCALARS])
    slots = int64_column(table[FACT_TABLE + scalars[FACT_BUFFER]])
    words = int32_column(table[ARENA])
    drivers = int64_column(table[DELTAS])
    count = 0
    # What is derived may make the table of facts grow, so the drivers are noted first.
    for i in range(scalars[FACT_MASK] + 1):
        fact = slots[i] & LOW
        kind = words[2 * fact] & CLASS_BITS
        if fact != 0 and starts[kind] != starts[kind + 1] and presents(table, fact):
            drivers[count] = fact
            count += 1
    scalars[QUIET] = 1
    status = OK
    for i in range(count):
        kind = words[2 * drivers[i]] & CLASS_BITS
        for j in range(starts[kind], starts[kind + 1]):
            scalars[STRATUM] = items[j, 2]
            scalars[STRATUM_FIELD] = items[j, 3]
            if status == OK:
                status = _drive(table, values, drivers[i], items[j, 0], items[j, 1])
    if status == OK:
        status = flush(table)
    scalars[QUIET] = 0
    scalars[STRATUM_FIELD] = CLASS_STRATUM
    return status


@kernel
def touch_changed(table: Int64s) -> None:
    """Let every journaled fact be settled from the beginning of its stratum."""
    scalars = int64_column(table[SCALARS])
    facts = int64_column(table[JOURNAL_FACTS])
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    for i in range(scalars[JOURNALED_FACTS]):
        fact = facts[i] & LOW
        entry = fact + 1
        while entry != 0:
            if words[2 * entry + 2] == 0:
                units[entry] |= TOUCHED
            entry = words[2 * entry + 3]
        touch_at_start(table, fact)


@inlined
def _drive(table: Int64s, values: Int64s, fact: int, plan: int, sign: int) -> int:
    """Run a plan for every transition of a fact, as facts of its stratum or of a lower one."""
    scalars = int64_column(table[SCALARS])
    words = int32_column(table[ARENA])
    units = int64_column(table[ARENA])
    row = (words[2 * fact] & CLASS_BITS) * CLASS_WIDTH
    stratum = int32_column(table[CLASSES])[row + scalars[STRATUM_FIELD]]
    if stratum != scalars[STRATUM]:
        if presence(table, fact) == 0:
            return OK
        return run(table, values, plan, fact, sign, 0)
    entry = fact + 1
    while entry != 0:
        transition = (units[entry] & TRANSITION_BITS) - 1
        if transition != 0:
            status = run(table, values, plan, fact, sign * transition, words[2 * entry + 2])
            if status != OK:
                return status
        entry = words[2 * entry + 3]
    return OK


@inlined
def _same_links(table: Int64s, coming: Int64s, before: int, after: int) -> bool:
    """Whether records of two classes, one under each program, have the same links."""
    old = int32_column(table[CLASSES])
    new = int32_column(coming[CLASSES])
    count = old[before + CLASS_LINK_COUNT]
    if (
        count != new[after + CLASS_LINK_COUNT]
        or old[before + CLASS_LATTICE] != new[after + CLASS_LATTICE]
        or old[before + CLASS_LATTICE_CELL] != new[after + CLASS_LATTICE_CELL]
    ):
        return False
    one = int32_column(table[MEMBERSHIPS])
    other = int32_column(coming[MEMBERSHIPS])
    first = old[before + CLASS_MEMBERSHIPS]
    second = new[after + CLASS_MEMBERSHIPS]
    for i in range(count):
        if one[first + i] != other[second + i]:
            return False
    return True
