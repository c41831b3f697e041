"""Names of columns. Invariant: facts of all predicates have the same columns; unused ones are 0.

A frame of facts has `predicate` and as many ids as the widest predicate has arguments, so that
facts of all predicates are grouped, joined and stored by the same expressions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

PREDICATE = "predicate"
STRATUM = "stratum"
LATTICE = "lattice"
ITERATION = "iteration"
MULTIPLICITY = "multiplicity"
TRANSITION = "transition"
ARRANGEMENT = "arrangement"
BUCKET = "bucket"
EPOCH = "epoch"
SIGN = "sign"
RANK = "rank"
OLD = "old"
OVERFLOW = "overflow"
DERIVED = "derived"
CLOSURE = "present"
RIGHT = "r_"
"""Prefix of columns on the right side of a join."""
PLAIN = -1
"""In the column of lattices: a fact of none."""

TYPES = {
    PREDICATE: pa.string(),
    STRATUM: pa.int32(),
    LATTICE: pa.int32(),
    ITERATION: pa.int32(),
    MULTIPLICITY: pa.int64(),
    TRANSITION: pa.int64(),
    ARRANGEMENT: pa.string(),
    BUCKET: pa.int32(),
    EPOCH: pa.int64(),
    SIGN: pa.int64(),
}


def argument(position: int) -> str:
    """The column of an argument."""
    return f"a{position}"


def arguments(width: int) -> tuple[str, ...]:
    """The columns of all arguments."""
    return tuple(map(argument, range(width)))


def fact(width: int) -> tuple[str, ...]:
    """The columns that identify a fact."""
    return (PREDICATE, *arguments(width))


def repeated(value: str | int, rows: int, kind: pa.DataType) -> pa.Array:
    """A column with one value."""
    return pa.repeat(pa.scalar(value, kind), rows)


def schema(names: Sequence[str]) -> pa.Schema:
    """The Arrow schema of some columns; ids are int64."""
    return pa.schema([(name, TYPES.get(name, pa.int64())) for name in names])
