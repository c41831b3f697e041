"""The durable steps of an erasure. Invariant: after each the state is valid, and a rerun goes on.

1. Delete copies of the state on this machine that nothing needs.
2. Sum all of `trace` under its last epoch, so that rows of retracted facts vanish; from then on
   only the last epoch can be asked for.
3. Delete rows of `changes`, and those of `waiting`: none of them waits any more.
4. Replace the text of terms that nothing uses by a placeholder. Ids are dense, so an id keeps a
   term; the placeholder is an IRI that nothing else has. If a producer sends this IRI, it has this
   id, which stands for nothing else.
5. Delete the files that the newest version of each table does not use.
6. Write a checkpoint of each table, and delete the log before it.

Steps 2 to 4 are one commit each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamreasoner.state import restore, rows, schemas
from streamreasoner.state.delta import datafile, retention
from streamreasoner.state.erasure.mentions import with_mentioned
from streamreasoner.state.maintenance.prune import prune, without
from streamreasoner.system import disk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from streamreasoner.state.delta.table import Table
    from streamreasoner.state.erasure.request import Request
    from streamreasoner.state.erasure.stopped import StoppedState

PLACEHOLDER: Final = "<urn:streamreasoner:erased:{}>"
_FILE_ROWS: Final = 1 << 22


class Step(NamedTuple):
    """A durable step that is done.

    Attributes:
        number: Its number.
        what: What was done.
        files: The files and folders that it deleted (step 1) or wrote (steps 2 to 4).
        terms: The terms that it erased.
    """

    number: int
    what: str
    files: tuple[Path, ...] = ()
    terms: tuple[str, ...] = ()


def erase(
    state: StoppedState,
    request: Request,
    used: NDArray[np.bool_],
    copies: Iterable[Path],
) -> Iterator[Step]:
    """Erase facts, and the terms that nothing uses any more.

    Args:
        state: The state.
        request: What to erase; `request.used_ids` has checked it.
        used: Which ids a fact or a program uses, bool of shape (terms,).
        copies: Files and folders that may hold terms too, which nothing needs.

    Raises:
        StateError: A file is damaged, or a table cannot be written.
        OSError: A file cannot be deleted.
    """
    trace, changes, terms = (
        state.tables[name] for name in (schemas.TRACE, schemas.CHANGES, schemas.TERMS)
    )
    yield Step(1, "deleted copies", tuple(disk.delete(copies)))
    present = _files(trace)
    sum_trace(state)
    yield Step(2, "summed trace", tuple(_files(trace) - present))
    present = _files(changes)
    delete_changes(state, request)
    if (waiting := state.tables.get(schemas.WAITING)) is not None:
        without(waiting, waiting.files(), lambda rows: pa.array([False] * len(rows)))
    yield Step(3, "deleted rows of changes", tuple(_files(changes) - present))
    present = _files(terms)
    gone = erase_terms(state, used)
    yield Step(4, "erased terms", tuple(_files(terms) - present), tuple(gone))
    for table in state.tables.values():
        table.clean(retention.NONE)
    yield Step(5, "deleted files of past versions")
    for table in state.tables.values():
        table.save()
        retention.delete_log_before(table.directory, table.snapshot().version)
    yield Step(6, "deleted the logs of past versions")


def sum_trace(state: StoppedState) -> None:
    """Step 2: rewrite `trace` with one row for each fact and iteration, and none that is zero.

    Raises:
        StateError: A file is damaged, or the table cannot be written.
    """
    trace = state.tables[schemas.TRACE]
    if trace.snapshot().exact_from == state.last:
        return
    old = trace.files()
    new = [
        datafile.write(trace.directory, *file)
        for block in restore.restore_trace(trace, state.last + 1)
        for file in rows.trace_files([block], state.last, trace.max_arity)
    ]
    trace.replace(old, new, state.last)


def delete_changes(state: StoppedState, request: Request) -> None:
    """Step 3: delete the rows of the facts, and those of old epochs.

    Raises:
        StateError: A file is damaged, or the table cannot be written.
    """
    changes = state.tables[schemas.CHANGES]
    if request.before is not None:
        prune(changes, request.before, state.last)
    without(changes, changes.files(), lambda each: pa.array(~request.selected(each)))


def erase_terms(state: StoppedState, used: NDArray[np.bool_]) -> list[str]:
    """Step 4: replace the terms that no fact, program or row of `changes` uses.

    Args:
        state: The state.
        used: Which ids a fact or a program uses, bool of shape (terms,).

    Returns:
        The terms that were replaced.

    Raises:
        StateError: A file is damaged, or the table cannot be written.
    """
    terms = state.tables[schemas.TERMS]
    erased = ~used & ~_in_changes(state)
    names = _placeholders(state.terms)
    erased &= ~pc.equal(state.terms, names).to_numpy(zero_copy_only=False)
    if not erased.any():
        return []
    columns = schemas.file_schema(schemas.TERMS, terms.max_arity)
    old, new = [], []
    for file in terms.files():
        read = terms.read(file, columns.names)
        ids = read.column("id").to_numpy()
        if erased[ids].any():
            text = pc.if_else(
                pa.array(erased[ids]), names.take(pa.array(ids)), read["term"].cast(names.type)
            )
            changed = read.set_column(1, "term", text).cast(columns)
            old.append(file)
            new.append(datafile.write(terms.directory, changed, file.partition))
    terms.replace(old, new, data_change=True)
    gone: list[str] = state.terms.filter(pa.array(erased)).to_pylist()
    return gone


def _files(table: Table) -> set[Path]:
    return {file.path_in(table.directory) for file in table.files()}


def _in_changes(state: StoppedState) -> NDArray[np.bool_]:
    """Which ids are of terms in rows of `changes`, those in triple terms included."""
    changes = state.tables[schemas.CHANGES]
    found = np.zeros(len(state.terms), np.bool_)
    for file in changes.files():
        args = changes.read(file, ["args"]).column("args").combine_chunks()
        texts = pc.unique(pc.list_flatten(args)).cast(pa.large_string())
        found[pc.index_in(texts, state.terms).drop_null().to_numpy()] = True
    return with_mentioned(state.terms, found)


def _placeholders(terms: pa.LargeStringArray) -> pa.LargeStringArray:
    """A placeholder for each id, which no other id has as its term."""
    ids = np.arange(len(terms))
    names = pa.array(map(PLACEHOLDER.format, ids.tolist()), pa.large_string())
    while True:
        places = pc.index_in(names, terms).fill_null(-1).to_numpy()
        taken = (places >= 0) & (places != ids)
        if not taken.any():
            return names
        longer = pc.replace_substring_regex(names, ">$", "_>")
        names = pc.if_else(pa.array(taken), longer, names)
