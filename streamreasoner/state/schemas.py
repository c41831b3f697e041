"""Names, schemas and properties of the Delta tables. Invariant: schemas are defined only here.

| table      | columns                                                        | partition |
|------------|----------------------------------------------------------------|-----------|
| `terms`    | id, term (canonical N-Triples), epoch                          |           |
| `trace`    | predicate, a0..a(n-1), iteration, epoch, multiplicity          | predicate |
| `changes`  | epoch, ts, predicate, args (decoded), multiplicity (+1 or -1)  |           |
| `programs` | epoch, hash, predicates (name/arity), text                     |           |
| `waiting`  | predicate, a0..a(n-1), multiplicity, time, slot, topic,        |           |
|            | partition, offset, part, epoch                                 |           |

Only states whose epochs are slots of event time have `waiting`.

n is the largest arity of the program that the state began with, at least 8. Columns that a
predicate does not use are null, which takes no space, and a later program may use them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from streamreasoner.state.version import StateVersion

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

TERMS: Final = "terms"
TRACE: Final = "trace"
CHANGES: Final = "changes"
PROGRAMS: Final = "programs"
WAITING: Final = "waiting"
NAMES: Final[tuple[str, ...]] = (TERMS, TRACE, CHANGES, PROGRAMS)
"""The tables that every state has."""
LEAST_ARGUMENTS: Final = 8

APP_ID: Final = "streamreasoner.applicationId"
CHECKPOINT_INTERVAL: Final = 64

RETENTION_SECONDS: Final = 3600
"""How long other programs are told to retain log entries and unused files."""
NO_FOREIGN_CLEANUP: Final = {"delta.enableExpiredLogCleanup": "false"}
"""Keeps other programs from deleting log entries: they do not know which checkpoints are sealed."""

NOTHING_SUMMED: Final = -1
"""What a table is exact from when all epochs are as they were written."""


def names(directory: Path) -> tuple[str, ...]:
    """The tables of a state that exists."""
    return (*NAMES, *([WAITING] if (directory / WAITING / "_delta_log").is_dir() else []))


def arg_columns(max_arity: int) -> tuple[str, ...]:
    """Columns of `trace` that hold term ids: a0, a1, ..."""
    return tuple(f"a{position}" for position in range(max_arity))


def argument_count(columns: Iterable[str]) -> int:
    """How many columns of a `trace` hold term ids."""
    return sum(column[0] == "a" and column[1:].isdigit() for column in columns)


def schema(name: str, max_arity: int) -> pa.Schema:
    """Arrow schema of one table; ids and epochs are int64 so that all readers can join on them."""
    match name:
        case "terms":
            fields = [
                pa.field("id", pa.int64(), nullable=False),
                pa.field("term", pa.string(), nullable=False),
                pa.field("epoch", pa.int64(), nullable=False),
            ]
        case "trace":
            fields = [
                pa.field("predicate", pa.string(), nullable=False),
                *(pa.field(column, pa.int64()) for column in arg_columns(max_arity)),
                pa.field("iteration", pa.int32(), nullable=False),
                pa.field("epoch", pa.int64(), nullable=False),
                pa.field("multiplicity", pa.int64(), nullable=False),
            ]
        case "changes":
            fields = [
                pa.field("epoch", pa.int64(), nullable=False),
                pa.field("ts", pa.timestamp("us", tz="UTC"), nullable=False),
                pa.field("predicate", pa.string(), nullable=False),
                pa.field("args", pa.list_(pa.string()), nullable=False),
                pa.field("multiplicity", pa.int8(), nullable=False),
            ]
        case "programs":
            fields = [
                pa.field("epoch", pa.int64(), nullable=False),
                pa.field("hash", pa.string(), nullable=False),
                pa.field("predicates", pa.list_(pa.string()), nullable=False),
                pa.field("text", pa.string(), nullable=False),
            ]
        case "waiting":
            fields = [
                pa.field("predicate", pa.string(), nullable=False),
                *(pa.field(column, pa.int64()) for column in arg_columns(max_arity)),
                pa.field("multiplicity", pa.int64(), nullable=False),
                pa.field("time", pa.int64()),
                pa.field("slot", pa.int64(), nullable=False),
                pa.field("topic", pa.string(), nullable=False),
                pa.field("partition", pa.int32(), nullable=False),
                pa.field("offset", pa.int64(), nullable=False),
                pa.field("part", pa.int32(), nullable=False),
                pa.field("epoch", pa.int64(), nullable=False),
            ]
        case _:
            raise ValueError(f"No table is called {name!r}; the tables are {NAMES}.")
    return pa.schema(fields)


def file_schema(name: str, max_arity: int) -> pa.Schema:
    """Arrow schema of the data files of one table: no partition columns, and large strings.

    Both kinds of strings are the same in a file; in memory only large ones may exceed 2 GiB.
    """
    large = {"term": pa.large_string(), "args": pa.list_(pa.large_string())}
    fields = [
        field.with_type(large.get(field.name, field.type))
        for field in schema(name, max_arity)
        if field.name not in partition_columns(name)
    ]
    return pa.schema(fields)


def partition_columns(name: str) -> list[str]:
    """Partition columns of a table; they are in the log, not in the data files."""
    return ["predicate"] if name == TRACE else []


def properties(app_id: str) -> dict[str, str]:
    """Table properties; all of them are within reader version 1 and writer version 2."""
    retention = f"interval {RETENTION_SECONDS} seconds"
    return {
        "delta.checkpointInterval": str(CHECKPOINT_INTERVAL),
        **NO_FOREIGN_CLEANUP,
        "delta.logRetentionDuration": retention,
        "delta.deletedFileRetentionDuration": retention,
        APP_ID: app_id,
        **StateVersion.current().properties,
    }
