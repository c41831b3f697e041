"""All kernels that Python calls, with examples of arguments. Invariant: none is left out.

The image has these. One that is not here would be compiled inside the first epoch that needs it.
A test compares the list with the calls of the package, and with the types of real epochs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.columnar.kernels.epoch import (
    changes,
    fit,
    journal,
    recompute,
    relocate,
    turns,
)
from streamreasoner.backends.columnar.kernels.joining import derive, together
from streamreasoner.backends.columnar.kernels.loading import log, targets
from streamreasoner.backends.columnar.kernels.records import (
    counter,
    fact_record,
    pending,
    select,
    slots,
)
from streamreasoner.backends.columnar.kernels.records.parts import outbox
from streamreasoner.backends.columnar.kernels.settling import exchange, parcels, reduce, settle
from streamreasoner.engine.inheritance.kernels import climbing
from streamreasoner.io.formats.reading.json.kernels import messages
from streamreasoner.query.kernels import grouping, matching
from streamreasoner.rdf.kernels import (
    distinct_rows,
    hash_table,
    line_scanner,
    symbols,
    term_columns,
    term_texts,
)
from streamreasoner.values.kernels import comparing, integers, interning

if TYPE_CHECKING:
    from collections.abc import Callable

# Examples of arguments: rows of int8, int32 and int64, tables of them, and numbers.
_BYTES, _INTS, _LONGS = (np.empty(0, kind) for kind in (np.int8, np.int32, np.int64))
_INT_ROWS, _LONG_ROWS = (np.empty((0, 0), kind) for kind in (np.int32, np.int64))
_FLAGS, _TEXT, _SLOTS = (np.empty(0, kind) for kind in (np.bool_, np.uint8, np.uint64))
_READ_ONLY = np.empty(0, np.int64)
_READ_ONLY.flags.writeable = False
_TABLE = _VALUES = _LONGS
_NUMBER = 0

KERNELS: tuple[tuple[Callable[..., object], tuple[object, ...]], ...] = (
    (term_columns.encode_rows, (_TABLE, _INTS, _NUMBER, _NUMBER, _INTS, False)),
    (term_columns.encode_rows, (_TABLE, _LONGS, _NUMBER, _NUMBER, _INTS, False)),
    (term_columns.encode_rows, (_TABLE, _READ_ONLY, _NUMBER, _NUMBER, _INTS, False)),
    (term_columns.intern_term, (_TABLE, _NUMBER, _NUMBER, False)),
    (term_columns.find_term, (_TABLE, _NUMBER, _NUMBER)),
    (term_columns.term_offsets, (_TABLE, _LONGS, _LONGS)),
    (term_columns.write_terms, (_TABLE, _LONGS, _NUMBER)),
    (term_columns.kind_bytes, (_TABLE, _LONGS, _TEXT)),
    (hash_table.rehash, (_SLOTS, _SLOTS)),
    (symbols.compress, (_NUMBER, _NUMBER, _NUMBER, _NUMBER)),
    (term_texts.text, (_TABLE, _NUMBER, _NUMBER)),
    (distinct_rows.hash_rows, (_INT_ROWS, _NUMBER, _SLOTS)),
    (
        distinct_rows.add_rows,
        (_INT_ROWS, _SLOTS, _INT_ROWS, _NUMBER, _SLOTS, _NUMBER, _FLAGS),
    ),
    (distinct_rows.move_slots, (_SLOTS, _SLOTS)),
    (
        messages.scan,
        (_TABLE, _NUMBER, _LONGS, _LONGS, _NUMBER, _LONG_ROWS, _LONG_ROWS, _LONG_ROWS, _FLAGS),
    ),
    (messages.measure, (_LONG_ROWS, _LONG_ROWS, _LONG_ROWS)),
    (messages.gather, (_LONG_ROWS, _LONG_ROWS, _NUMBER, _NUMBER, _LONG_ROWS, _LONGS)),
    (
        line_scanner.scan,
        (_TABLE, _LONGS, _NUMBER, _LONGS, _LONGS, _NUMBER, _INT_ROWS, _LONGS),
    ),
    (comparing.classify, (_VALUES, _BYTES, _NUMBER, _NUMBER)),
    (comparing.compare, (_VALUES, _NUMBER, _NUMBER)),
    (integers.intern_integer, (_VALUES, _NUMBER)),
    (interning.lock, (_VALUES,)),
    (interning.unlock, (_VALUES,)),
    (integers.read_integers, (_VALUES, _NUMBER, _NUMBER)),
    (slots.mix, (_NUMBER, _NUMBER)),
    (slots.reserve, (_TABLE, _NUMBER, _NUMBER, _NUMBER)),
    (fit.fit, (_TABLE,)),
    (pending.add, (_TABLE, _NUMBER, _NUMBER, _INTS, _LONGS)),
    (pending.add, (_TABLE, _NUMBER, _NUMBER, _INTS, _READ_ONLY)),
    (pending.add_later, (_TABLE, _NUMBER, _NUMBER, _INTS, _INTS, _LONGS)),
    (pending.add_trace, (_TABLE, _NUMBER, _NUMBER, _INTS, _INTS, _LONGS)),
    (settle.enter, (_TABLE, _NUMBER)),
    (settle.settle, (_TABLE, _VALUES, _NUMBER)),
    (settle.next_touched, (_TABLE, _NUMBER)),
    (derive.derive, (_TABLE, _VALUES, _NUMBER)),
    (derive.finish, (_TABLE, _NUMBER)),
    (pending.add_owned, (_TABLE, _NUMBER, _NUMBER, _INTS, _LONGS)),
    (pending.add_owned, (_TABLE, _NUMBER, _NUMBER, _INTS, _READ_ONLY)),
    (turns.enter_all, (_TABLE, _NUMBER)),
    (turns.next_touched_all, (_TABLE, _NUMBER)),
    (turns.settle_all, (_TABLE, _VALUES, _NUMBER)),
    (turns.settle_part, (_TABLE, _VALUES, _NUMBER)),
    (turns.derive_all, (_TABLE, _VALUES, _NUMBER)),
    (turns.delta_count, (_TABLE,)),
    (turns.commit_all, (_TABLE,)),
    (turns.note_copies, (_TABLE,)),
    (turns.exchange_heads, (_TABLE,)),
    (turns.fetch_all_changes, (_TABLE, _NUMBER, _NUMBER)),
    (turns.fetch_all_heads, (_TABLE, _NUMBER)),
    (exchange.fetch_facts, (_TABLE, _TABLE, _INTS)),
    (exchange.leave, (_TABLE,)),
    (exchange.fetch_changes, (_TABLE, _TABLE, _NUMBER)),
    (parcels.pack_heads, (_TABLE, _NUMBER, _INTS)),
    (parcels.take_heads, (_TABLE, _INTS)),
    (parcels.pack_changes, (_TABLE, _NUMBER, _NUMBER, _INTS)),
    (parcels.pack_facts, (_TABLE, _NUMBER, _INTS, _INTS)),
    (parcels.take_changes, (_TABLE, _INTS, _NUMBER)),
    (outbox.clear_outbox, (_TABLE,)),
    (changes.count_changes, (_TABLE, _LONG_ROWS, _LONG_ROWS)),
    (
        changes.read_changes,
        (
            _TABLE,
            *(_LONG_ROWS, _LONG_ROWS),
            *(_INTS, _BYTES),
            *(_INTS, _INTS, _LONGS),
        ),
    ),
    (journal.commit, (_TABLE,)),
    (journal.rollback, (_TABLE, _VALUES)),
    (journal.rederive, (_TABLE, _VALUES)),
    (journal.resettle, (_TABLE, _VALUES)),
    (journal.withdraw_epoch, (_TABLE, _VALUES)),
    (journal.settle_restored, (_TABLE, _VALUES)),
    (journal.arrange_journaled, (_TABLE, _NUMBER)),
    (counter.recount, (_TABLE,)),
    (reduce.reduce, (_TABLE, _VALUES, _NUMBER)),
    (reduce.read_members, (_TABLE, _NUMBER, _NUMBER, _INTS, _LONGS)),
    (reduce.retract_results, (_TABLE, _NUMBER)),
    (reduce.rebuild_groups, (_TABLE, _VALUES, _NUMBER)),
    (relocate.detach, (_TABLE, _TABLE, _LONGS)),
    (relocate.lacking, (_TABLE, _LONGS)),
    (relocate.attach, (_TABLE,)),
    (relocate.relocate, (_TABLE, _TABLE, _LONGS, _INTS)),
    (relocate.restore_winners, (_TABLE, _VALUES, _INTS)),
    (relocate.evaluate_in_full, (_TABLE, _VALUES, _INTS, _INT_ROWS)),
    (relocate.journal_converted, (_TABLE, _INTS)),
    (relocate.touch_changed, (_TABLE,)),
    (recompute.asserted, (_TABLE, _INTS)),
    (recompute.assert_again, (_TABLE, _TABLE, _INTS)),
    (recompute.compare, (_TABLE, _TABLE, _LONGS, _LONGS)),
    (log.begin, (_TABLE, _INTS)),
    (log.end_log, (_TABLE,)),
    (targets.collect, (_TABLE, _INTS, _NUMBER)),
    (select.count, (_TABLE, _NUMBER)),
    (select.read_facts, (_TABLE, _NUMBER, _INT_ROWS)),
    (select.count_rows, (_TABLE, _INTS)),
    (select.read_trace, (_TABLE, _INTS, _INT_ROWS, _INTS, _LONGS)),
    (select.read_asserted, (_TABLE, _NUMBER, _INTS, _LONGS)),
    (select.read_args, (_TABLE, _INTS, _INT_ROWS)),
    (select.members, (_TABLE, _NUMBER, _INTS, _INTS)),
    (select.select, (_TABLE, _NUMBER, _INTS, _INTS, _INTS)),
    (select.matching, (_TABLE, _NUMBER, _INTS, _INTS, _INTS, _INTS)),
    (select.among, (_TABLE, _INTS, _NUMBER, _NUMBER, _FLAGS, _INTS)),
    (select.read_argument, (_TABLE, _INTS, _NUMBER, _INTS)),
    (select.describe, (_TABLE, _INTS, _NUMBER, _INT_ROWS, _INT_ROWS, _LONG_ROWS)),
    (climbing.step, (_LONGS, _INTS, _INTS, _LONGS, _LONGS, _LONGS)),
    (climbing.reach, (_LONGS,) * 8),
    (climbing.consolidate, (_LONGS,) * 7),
    (climbing.presence, (_LONGS,) * 7),
    (grouping.group_rows, (_INTS, _INTS, _INTS)),
    (
        matching.find_triples,
        (_INT_ROWS, _INT_ROWS, _INT_ROWS, _NUMBER, _NUMBER, _NUMBER, _LONG_ROWS, _NUMBER),
    ),
    (
        matching.match,
        (_INT_ROWS, _INT_ROWS, _INT_ROWS, _INT_ROWS, _INTS, _LONG_ROWS, _INT_ROWS),
    ),
    (fact_record.find_all, (_TABLE, _NUMBER, _INTS, _INTS)),
    (pending.stage, (_TABLE, _NUMBER, _NUMBER, _INTS, _LONGS)),
    (pending.stage, (_TABLE, _NUMBER, _NUMBER, _INTS, _READ_ONLY)),
    (pending.accumulate_beside, (_TABLE, _TABLE)),
    (pending.discard_pending, (_TABLE,)),
    (pending.pending_count, (_TABLE,)),
    (pending.share_fact_table, (_TABLE, _TABLE)),
    (derive.try_some, (_TABLE, _VALUES, _NUMBER)),
    (derive.apply_deltas, (_TABLE, _VALUES, _NUMBER, _NUMBER, _NUMBER)),
    (together.mark_deltas, (_TABLE,)),
    (together.apply_together, (_TABLE, _VALUES, _NUMBER, _NUMBER, _NUMBER)),
)
