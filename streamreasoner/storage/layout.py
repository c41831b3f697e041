"""Names, schemas and properties of the Delta tables. Invariant: nobody else spells a column.

| table      | columns                                                        | partition |
|------------|----------------------------------------------------------------|-----------|
| `terms`    | id, term (canonical N-Triples), epoch                          |           |
| `trace`    | predicate, a0..a(n-1), iteration, epoch, multiplicity          | predicate |
| `changes`  | epoch, ts, predicate, args (decoded), multiplicity (+1 or -1)  |           |
| `programs` | epoch, hash, predicates (name/arity), text                     |           |

n is the largest arity of the program that the state began with, and 8 at least: the columns a
predicate does not use are null, which takes no room, and a later program may use them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from streamreasoner.state_version import StateVersion

if TYPE_CHECKING:
    from collections.abc import Iterable

TERMS: Final = "terms"
TRACE: Final = "trace"
CHANGES: Final = "changes"
PROGRAMS: Final = "programs"
NAMES: Final[tuple[str, ...]] = (TERMS, TRACE, CHANGES, PROGRAMS)
LEAST_ARGUMENTS: Final = 8

APP_ID: Final = "streamreasoner.applicationId"
CHECKPOINT_INTERVAL: Final = 64

RETENTION_SECONDS: Final = 3600
"""Age at which files that no snapshot uses, and old log entries, are deleted."""
CLEANED_HERE: Final = {"delta.enableExpiredLogCleanup": "false"}
"""Other programs do not delete log entries: they do not know which checkpoints have a seal."""
KEPT_FILES: Final = 128
"""The most files of a table that no snapshot uses; more are deleted earlier, the oldest first."""
KEPT_COMMITS: Final = 128
"""The most commits of a table before its last two checkpoints; more are deleted earlier."""


def arg_columns(max_arity: int) -> tuple[str, ...]:
    """Columns of `trace` that hold term ids: a0, a1, ..."""
    return tuple(f"a{position}" for position in range(max_arity))


def argument_count(columns: Iterable[str]) -> int:
    """How many of the columns of a `trace` hold term ids."""
    return sum(column[0] == "a" and column[1:].isdigit() for column in columns)


def schema(name: str, max_arity: int) -> pa.Schema:
    """Arrow schema of one table; ids and epochs are int64 so that any reader can join them."""
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
        case _:
            raise ValueError(f"No table is called {name!r}; the tables are {NAMES}.")
    return pa.schema(fields)


def file_schema(name: str, max_arity: int) -> pa.Schema:
    """Arrow schema of the data files of one table: no partition columns, and large strings.

    In a file both kinds of strings are the same; in memory only large ones may exceed 2 GiB.
    """
    large = {"term": pa.large_string(), "args": pa.list_(pa.large_string())}
    fields = [
        field.with_type(large.get(field.name, field.type))
        for field in schema(name, max_arity)
        if field.name not in partition_columns(name)
    ]
    return pa.schema(fields)


def partition_columns(name: str) -> list[str]:
    """Partition columns of a table; data files do not hold them, the log does."""
    return ["predicate"] if name == TRACE else []


def properties(app_id: str) -> dict[str, str]:
    """Table properties; all of them are within reader version 1 and writer version 2."""
    retention = f"interval {RETENTION_SECONDS} seconds"
    return {
        "delta.checkpointInterval": str(CHECKPOINT_INTERVAL),
        **CLEANED_HERE,
        "delta.logRetentionDuration": retention,
        "delta.deletedFileRetentionDuration": retention,
        APP_ID: app_id,
        **StateVersion.current().properties,
    }
