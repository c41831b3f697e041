"""Typed views of the address table. Invariant: a view is borrowed; it owns and frees nothing."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from streamreasoner.rdf.kernels.compile import inlined
from streamreasoner.rdf.kernels.memory import int32_column, int64_column

Int8s: TypeAlias = NDArray[np.int8]
Int32s: TypeAlias = NDArray[np.int32]
Int64s: TypeAlias = NDArray[np.int64]


@inlined
def int32_view(table: Int64s, column: int) -> Int32s:
    """Column *column* of the address table, as int32."""
    return int32_column(table[column])


@inlined
def int64_view(table: Int64s, column: int) -> Int64s:
    """Column *column* of the address table, as int64."""
    return int64_column(table[column])
