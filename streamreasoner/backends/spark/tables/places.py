"""Where the table has a fact. Invariant: it is stored where it is looked for.

Every arrangement is a partition, in buckets by its key. A bucket is a weighted sum of ids, which
are dense, so driver and executors need not share a hash function.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from streamreasoner.backends.spark.queries.columns import (
    ARRANGEMENT,
    BUCKET,
    EPOCH,
    ITERATION,
    MULTIPLICITY,
    TRANSITION,
    argument,
    arguments,
)
from streamreasoner.backends.spark.queries.sql import condition, quoted
from streamreasoner.backends.spark.tables.bucket_files import UNSPLIT
from streamreasoner.plan.algebra import Arrangement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from streamreasoner.backends.spark.queries.sql import Constants

_WEIGHT = 31


def primary(predicate: str, arity: int) -> Arrangement:
    """The arrangement with every fact of a predicate."""
    return Arrangement(predicate, (), (0,) if arity > 0 else ())


@dataclass(frozen=True, slots=True)
class Places:
    """Partitions of arrangements, and their buckets.

    Attributes:
        intern: Gives the id of a term.
        buckets: Number of buckets per arrangement.
    """

    intern: Callable[[str], int]
    buckets: int

    def name(self, arrangement: Arrangement) -> str:
        """The name of an arrangement, with ids for constants: terms are not valid in paths."""
        constants = "".join(f"-{p}.{term}" for p, term in self.constants(arrangement))
        key = "".join(f"+{position}" for position in arrangement.key)
        return f"{arrangement.predicate}{constants}{key}"

    def constants(self, arrangement: Arrangement) -> Constants:
        """Positions and ids that the facts of an arrangement have."""
        return tuple((p, self.intern(term)) for p, term in arrangement.constants)

    def of_keys(self, arrangement: Arrangement, keys: pa.Table) -> NDArray[np.int64]:
        """The buckets of an arrangement that rows with these keys are in."""
        found = np.zeros(keys.num_rows, np.int64)
        for position in arrangement.key:
            found = found * _WEIGHT + keys[argument(position)].to_numpy()
        return np.unique(found % self.buckets)

    def bucket(self, arrangement: Arrangement) -> str:
        """SQL for a row's bucket in an arrangement."""
        weighted = reduce(
            lambda total, position: f"({total} * {_WEIGHT} + {argument(position)})",
            arrangement.key,
            "0L",
        )
        return f"CAST(pmod({weighted}, {self.buckets}) AS INT)"

    def placed(
        self, rows: DataFrame, width: int, arrangements: Iterable[Arrangement], *, split: bool
    ) -> DataFrame:
        """Rows as the table stores them, once for each arrangement that they belong to.

        Args:
            rows: Facts with as many arguments as *width*, iterations, differences, and perhaps
                epochs.
            width: Number of columns of arguments.
            arrangements: Some arrangements.
            split: Whether rows go to the buckets of their keys.
        """
        places = ", ".join(self._place(each, split=split) for each in arrangements)
        columns = (*arguments(width), ITERATION, MULTIPLICITY, TRANSITION)
        columns += (EPOCH,) if EPOCH in rows.columns else ()
        return (
            rows.selectExpr(*columns, f"explode(array({places})) AS place")
            .filter("place IS NOT NULL")
            .selectExpr(f"place.{ARRANGEMENT}", f"place.{BUCKET}", *columns)
        )

    def _place(self, arrangement: Arrangement, *, split: bool) -> str:
        """SQL for a row's place in an arrangement, null if it does not belong to it."""
        bucket = self.bucket(arrangement) if split else str(UNSPLIT)
        holds = condition(arrangement.predicate, self.constants(arrangement))
        return (
            f"CASE WHEN {holds} THEN"
            f" named_struct('{ARRANGEMENT}', {quoted(self.name(arrangement))},"
            f" '{BUCKET}', {bucket}) END"
        )
