"""Durable step 1: append one epoch to all tables. Invariant: each table gets an epoch once.

Delta has no transaction over several tables, so the appends run in parallel, each with the
application's transaction version = epoch, and whether an epoch is complete is *derived*:

- `trace` records every epoch, even one without rows. Its commit names the epoch before it
  (`previous`) and, for each other table, the last epoch with rows in that table (`latest`).
- `terms`, `changes`, `programs` and `waiting` record only epochs that have rows for them: most
  epochs need two commits, not five.
- `trace` and `waiting` commit an epoch only after `terms` has: a replay may assign ids to computed
  terms in a different order, so ids without their terms would stand for different terms.
- An epoch is complete when `trace` and every table with rows of it have committed it. `version` is
  the last complete epoch.
- A table that lacks an earlier epoch has lost the end of its log, and is refused.

A crash leaves partial appends of at most one epoch e: e+1 begins only when all appends of e have
returned. So exactly one of these holds at the next start:

| `trace` has e | a table with rows of e lacks e | then |
|---|---|---|
| no | maybe | version is the epoch before e; e is replayed, tables that have e skip it |
| yes | yes, not `terms` | version is `previous`; e is replayed, the missing table gets it |
| yes | no | version is e; a replay of e changes nothing |

The replay writes the same rows: evaluation is deterministic, the state is restored from epochs
below e, and terms that the crashed e appended are loaded first and so keep their ids. An epoch that
follows an incomplete one without replaying it is refused, and so is a replay whose offsets or
resulting program differ from the first attempt's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.errors import StateError
from streamreasoner.state.delta import log

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamreasoner.state.delta.held import HeldTable
    from streamreasoner.state.delta.table import Table
    from streamreasoner.state.record import EpochRecord, TableRecord


def complete_version(
    tables: Mapping[str, Table | HeldTable], record: TableRecord | None
) -> int | None:
    """The last epoch that every table holds, given the last record of `trace`.

    Raises:
        StateError: A table lacks an epoch that was complete.
    """
    if record is None:
        return None
    behind = {name for name, epoch in record.latest.items() if not _has(tables[name], epoch)}
    for name in sorted(behind):
        if record.latest[name] < record.epoch:
            raise StateError(
                f"The log of {tables[name].directory} ends with epoch {tables[name].epoch}, but "
                f"the table had rows of epoch {record.latest[name]}: its last commits are lost. "
                f"{log.RESTORE}"
            )
    return record.previous if behind else record.epoch


def incomplete_epoch(tables: Mapping[str, Table], version: int | None) -> int | None:
    """The epoch that a crash interrupted, None if there is none.

    Raises:
        StateError: Tables are further apart than one crash can leave them.
    """
    ahead = {table.epoch for table in tables.values() if _is_ahead(table, version)}
    if len(ahead) > 1:
        raise StateError(
            f"The tables are at {_positions(tables)}, a state that no crash can leave. "
            f"{log.RESTORE}"
        )
    return ahead.pop() if ahead else None


def check_epoch(epoch: int, version: int | None, incomplete: int | None) -> None:
    """Refuse an epoch that skips the replay of an incomplete one.

    Raises:
        StateError: Another epoch must be replayed first.
    """
    if incomplete is not None and epoch != incomplete:
        raise StateError(
            f"Epoch {incomplete} was interrupted by a crash and must be replayed before epoch "
            f"{epoch}. The Spark checkpoint does not belong to this state; restore both from the "
            "same backup."
        )
    if epoch < 0:
        raise ValueError(f"Epoch {epoch} is negative; version is {version}.")


def check_replay(record: TableRecord, replayed: EpochRecord) -> None:
    """Refuse a replay that read different input from the first attempt, or at another event time.

    Raises:
        StateError: The offset ranges differ, the frontiers or the watermarks.
    """
    if record.offsets != replayed.offsets:
        raise StateError(
            f"Epoch {record.epoch} was committed with offsets {record.offsets}, but is replayed "
            f"with {replayed.offsets}. The Spark checkpoint does not belong to this state: restore "
            "the checkpoint, or delete the state and start from the beginning."
        )
    if (record.frontier, record.slots) != (replayed.frontier, replayed.slots):
        raise StateError(
            f"Epoch {record.epoch} was committed with the frontier {record.frontier}, but its "
            f"replay has {replayed.frontier}, or other watermarks. Replay it with the [time] of "
            "the first attempt."
        )


def check_program(epoch: int, stored: str | None, program: str | None) -> None:
    """Refuse a replay that results in a different program from the first attempt.

    Args:
        epoch: The epoch.
        stored: Hash of the program that the tables record for it, None for no change.
        program: Hash of the program that the replay results in, None for no change.

    Raises:
        StateError: The programs differ.
    """
    if stored != program:
        raise StateError(
            f"Epoch {epoch} was committed with {_describe(stored)}, but its replay results in "
            f"{_describe(program)}. Replay it with the same version, rules.recursion_limit, "
            "pipeline.max_term_bytes and memory as the first attempt."
        )


def last_record(trace: Table | HeldTable) -> TableRecord | None:
    """The record of the last epoch in `trace`.

    Raises:
        StateError: The log does not have it.
    """
    if trace.epoch is None:
        return None
    record = trace.snapshot().record(trace.epoch)
    if record is None:
        raise StateError(
            f"The log of {trace.directory} has no record of epoch {trace.epoch}. {log.RESTORE}"
        )
    return record


def _describe(program: str | None) -> str:
    return "an unchanged program" if program is None else f"program {program[:12]}"


def _has(table: Table | HeldTable, epoch: int) -> bool:
    return table.epoch is not None and table.epoch >= epoch


def _is_ahead(table: Table, version: int | None) -> bool:
    return table.epoch is not None and (version is None or table.epoch > version)


def _positions(tables: Mapping[str, Table]) -> str:
    return ", ".join(f"{name}: {tables[name].epoch}" for name in tables)
