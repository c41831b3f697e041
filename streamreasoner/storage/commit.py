"""Durable step 1: one epoch into four tables at once. Invariant: an epoch is in all of them once.

Delta has no transaction over several tables, so the appends run in parallel, each with the
application's transaction version = epoch, and whether an epoch is complete is *derived*:

- `trace` records every epoch, even one without rows. Its commit says which epoch came before
  (`previous`), and for each other table the last epoch that it has rows of (`latest`).
- `terms`, `changes` and `programs` record only the epochs that have rows for them: most epochs
  need two commits, not four.
- `trace` waits for `terms` before it shows the epoch: a replay gives the terms that rules compute
  their ids in another order, so ids in `trace` without their terms would mean other terms.
- An epoch is complete when `trace` has it and every table with rows of it has it too. `version` is
  the last complete epoch.
- A table that lacks an earlier epoch has lost the end of its log, and is refused.

A crash leaves appends of one epoch e behind, never of two: e+1 begins only when all appends of e
have been answered. So at the next start exactly one of these holds:

| `trace` has e | a table with rows of e lacks e | then |
|---|---|---|
| no | maybe | version is the epoch before e; e is replayed, tables that have e skip it |
| yes | yes, not `terms` | version is `previous`; e is replayed, the missing table gets it |
| yes | no | version is e; a replay of e changes nothing |

The replay writes the same rows, because evaluation is deterministic, because the state is restored
from epochs below e, and because terms that the crashed e appended are loaded first and so keep
their ids. An epoch that follows an incomplete one without replaying it is refused, and so is an
epoch that is replayed with other offsets, or comes to another program, than it did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.errors import StateError
from streamreasoner.storage import layout, log

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamreasoner.storage.log import EpochRecord
    from streamreasoner.storage.table import Table


def complete_version(tables: Mapping[str, Table], record: EpochRecord | None) -> int | None:
    """The last epoch that every table holds, given the last record of `trace`.

    Raises:
        StateError: A table lacks an epoch that was complete.
    """
    if record is None:
        return None
    short = {name for name, epoch in record.latest.items() if not _has(tables[name], epoch)}
    for name in sorted(short):
        if record.latest[name] < record.epoch:
            raise StateError(
                f"The log of {tables[name].directory} ends with epoch {tables[name].epoch}, but "
                f"the table had rows of epoch {record.latest[name]}: its last commits are missing. "
                f"{log.RESTORE}"
            )
    return record.previous if short else record.epoch


def incomplete_epoch(tables: Mapping[str, Table], version: int | None) -> int | None:
    """The epoch that a crash cut short, None if there is none.

    Raises:
        StateError: Tables are further apart than one crash can leave them.
    """
    ahead = {table.epoch for table in tables.values() if _has_more(table, version)}
    if len(ahead) > 1:
        raise StateError(
            f"The tables are at {_positions(tables)}, which no crash leaves behind. {log.RESTORE}"
        )
    return ahead.pop() if ahead else None


def check_epoch(epoch: int, version: int | None, incomplete: int | None) -> None:
    """Refuse an epoch that skips the replay of an incomplete one.

    Raises:
        StateError: Says which epoch must be replayed.
    """
    if incomplete is not None and epoch != incomplete:
        raise StateError(
            f"Epoch {incomplete} was cut short by a crash and must be replayed before epoch "
            f"{epoch}. The Spark checkpoint does not belong to this state; restore both from the "
            "same moment."
        )
    if epoch < 0:
        raise ValueError(f"Epoch {epoch} is negative; version is {version}.")


def check_replay(record: EpochRecord, offsets: log.Offsets) -> None:
    """Refuse a replay that read other input than the epoch did the first time.

    Raises:
        StateError: Shows both ranges.
    """
    if record.offsets != offsets:
        raise StateError(
            f"Epoch {record.epoch} is in the tables with offsets {record.offsets}, but is replayed "
            f"with {offsets}. The Spark checkpoint does not belong to this state: restore the "
            "checkpoint, or delete the state and start from the beginning."
        )


def check_program(epoch: int, stored: str | None, program: str | None) -> None:
    """Refuse a replay that comes to another program than the epoch did the first time.

    Args:
        epoch: The epoch.
        stored: Hash of the program that the tables have it change to, None for no change.
        program: The same of the replay.

    Raises:
        StateError: Shows both.
    """
    if stored != program:
        raise StateError(
            f"Epoch {epoch} is in the tables with {_program(stored)}, but its replay comes to "
            f"{_program(program)}. Run it as it was run the first time: with the same version, "
            "rules.recursion_limit, pipeline.max_message_bytes and memory."
        )


def last_record(trace: Table) -> EpochRecord | None:
    """The record of the last epoch in `trace`.

    Raises:
        StateError: The log does not have it.
    """
    if trace.epoch is None:
        return None
    record = trace.snapshot().record(trace.epoch)
    if record is None:
        raise StateError(
            f"The log of {trace.directory} does not have the record of epoch {trace.epoch}. "
            f"{log.RESTORE}"
        )
    return record


def _program(found: str | None) -> str:
    return "an unchanged program" if found is None else f"program {found[:12]}"


def _has(table: Table, epoch: int) -> bool:
    return table.epoch is not None and table.epoch >= epoch


def _has_more(table: Table, version: int | None) -> bool:
    return table.epoch is not None and (version is None or table.epoch > version)


def _positions(tables: Mapping[str, Table]) -> str:
    return ", ".join(f"{name}: {tables[name].epoch}" for name in layout.NAMES)
