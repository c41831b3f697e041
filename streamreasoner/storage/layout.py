"""Names, schemas and properties of the Delta tables. Invariant: nobody else spells a column.

| table     | columns                                                        | partition |
|-----------|----------------------------------------------------------------|-----------|
| `terms`   | id, term (canonical N-Triples), epoch                          |           |
| `trace`   | predicate, a0..a(n-1), iteration, epoch, multiplicity          | predicate |
| `changes` | epoch, ts, predicate, args (decoded), multiplicity (+1 or -1)  |           |

n is the largest arity of the program; the columns a predicate does not use are null.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

TERMS: Final = "terms"
TRACE: Final = "trace"
CHANGES: Final = "changes"
NAMES: Final[tuple[str, ...]] = (TERMS, TRACE, CHANGES)

APP_ID: Final = "streamreasoner.applicationId"
PROGRAM_HASH: Final = "streamreasoner.programHash"
CHECKPOINT_INTERVAL: Final = 64

# Files that no snapshot uses live for an hour: longer than a query, short enough that a
# directory written ten times a second stays small.
RETENTION: Final = "interval 1 hours"
RETENTION_HOURS: Final = 1


def arg_columns(max_arity: int) -> tuple[str, ...]:
    """Columns of `trace` that hold term ids: a0, a1, ..."""
    return tuple(f"a{position}" for position in range(max_arity))


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


def properties(app_id: str, program_hash: str) -> dict[str, str | None]:
    """Table properties; all of them are within reader version 1 and writer version 2."""
    return {
        "delta.checkpointInterval": str(CHECKPOINT_INTERVAL),
        "delta.logRetentionDuration": RETENTION,
        "delta.deletedFileRetentionDuration": RETENTION,
        APP_ID: app_id,
        PROGRAM_HASH: program_hash,
    }
