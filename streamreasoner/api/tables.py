"""Facts as tables of Arrow, pandas and polars. Invariant: no term becomes a Python object.

Terms are texts in N-Triples syntax. All columns of terms of a table share one Arrow dictionary, so
each term of a result is stored once: they are categorical columns in pandas and polars. The table
of a predicate without arguments has no columns, and a row for its fact.
"""

from __future__ import annotations

from importlib import import_module
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from streamreasoner.system.extras import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from streamreasoner.engine.updates import Changes
    from streamreasoner.rdf.dictionary import Dictionary

_ROWS = " rows"
PREDICATE, ARGUMENTS, MULTIPLICITY, ITERATION = "predicate", "args", "multiplicity", "iteration"
"""Columns besides those of terms."""


def facts_table(
    names: Sequence[str], args: NDArray[np.int32], dictionary: Dictionary, **others: object
) -> pa.Table:
    """A row for each fact.

    Args:
        names: The columns of their arguments.
        args: Term ids of shape (n, arity).
        dictionary: Has the terms.
        others: Further columns: arrays of shape (n,).
    """
    terms, places = _terms(dictionary, args)
    columns = {
        name: pa.DictionaryArray.from_arrays(np.ascontiguousarray(places[:, position]), terms)
        for position, name in enumerate(names)
    }
    # Without a column of its own, a table would lose the number of its rows.
    rows = pa.table({**columns, **others, _ROWS: pa.nulls(len(args))})
    return rows.select([*columns, *others])


def changes_table(changes: Sequence[Changes], dictionary: Dictionary) -> pa.Table:
    """A row for each change of any predicate, with its arguments as a list."""
    ids = [each.args.reshape(-1) for each in changes]
    terms, places = _terms(dictionary, np.concatenate([*ids, np.empty(0, np.int32)]))
    sizes = np.concatenate(
        [
            np.empty(0, np.int64),
            *starmap(np.full, ((len(e.args), e.args.shape[1]) for e in changes)),
        ]
    )
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    names = np.repeat(np.arange(len(changes), dtype=np.int32), [len(each.args) for each in changes])
    return pa.table(
        {
            PREDICATE: pa.DictionaryArray.from_arrays(
                names, pa.array([each.predicate for each in changes], pa.string())
            ),
            ARGUMENTS: pa.ListArray.from_arrays(
                offsets, pa.DictionaryArray.from_arrays(places, terms)
            ),
            MULTIPLICITY: pa.array(
                np.concatenate([*(each.multiplicity for each in changes), np.empty(0, np.int8)]),
                pa.int8(),
            ),
        }
    )


def _terms(
    dictionary: Dictionary, ids: NDArray[np.int32]
) -> tuple[pa.LargeStringArray, NDArray[np.int32]]:
    """The distinct terms of ids, and the place of each id among them."""
    if ids.size < len(dictionary):
        distinct, places = np.unique(ids, return_inverse=True)
        return dictionary.decode(distinct), places.reshape(ids.shape).astype(np.int32)
    # Sorting takes longer than a walk over the whole dictionary.
    used = np.zeros(len(dictionary), np.bool_)
    used[ids] = True
    rank = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return dictionary.decode(np.flatnonzero(used)), rank[ids]


def to_pandas(table: pa.Table) -> Any:
    """The table as a `pandas.DataFrame`.

    Raises:
        EnvironmentSetupError: pandas is not installed.
    """
    require("pandas", "to_pandas()")
    return table.to_pandas()


def to_polars(table: pa.Table) -> Any:
    """The table as a `polars.DataFrame`.

    Raises:
        EnvironmentSetupError: polars is not installed.
    """
    require("polars", "to_polars()")
    return import_module("polars").from_arrow(table)
