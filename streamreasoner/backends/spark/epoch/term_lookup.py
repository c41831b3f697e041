"""Terms of ids and ids of terms. Invariant: few are looked up in the driver, many are joined."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from streamreasoner.backends.spark.tables.term_table import ID, TERM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark import Accumulator
    from pyspark.sql import DataFrame

    from streamreasoner.backends.spark.queries.spark_rows import QueryRunner, SparkRows
    from streamreasoner.backends.spark.tables.distributed_dictionary import DistributedDictionary


@dataclass(frozen=True, slots=True)
class TermLookup:
    """Maps the ids of rows to terms, and terms to ids.

    Attributes:
        runner: Runs the queries.
        dictionary: The terms and their ids.
        overflows: Number of results without a value because they do not fit 64 bits; one may be
            counted more than once, as Spark may evaluate a task again.
    """

    runner: QueryRunner
    dictionary: DistributedDictionary
    overflows: Accumulator[int]

    @property
    def overflowed(self) -> Callable[[], None]:
        """Counts an overflow, in the driver or on an executor."""
        return partial(self.overflows.add, 1)

    def intern(self, text: str) -> int:
        """The id of a term in canonical syntax, added if unseen."""
        return self.dictionary.intern(text)

    def intern_all(self, texts: Iterable[str]) -> dict[str, int]:
        """Ids of terms; new terms get ids in sorted order, whatever the order of rows.

        An epoch replayed after a crash must give computed terms the same ids, and Spark's rows come
        in any order.
        """
        distinct = sorted(set(texts))
        ids = self.dictionary.encode(pa.array(distinct, pa.large_string()))
        return dict(zip(distinct, ids.tolist(), strict=True))

    def texts(self, ids: Iterable[int]) -> dict[int, str]:
        """Terms by id."""
        distinct = np.array(sorted(set(ids)), np.int64)
        texts = self.dictionary.decode(distinct).to_pylist()
        return dict(zip(distinct.tolist(), texts, strict=True))

    def identify(self, rows: SparkRows, text: str, name: str) -> SparkRows:
        """Rows with ids in place of a column of texts; the driver assigns new ids."""
        if rows.table is not None:
            texts = rows.table[text].to_pylist()
            known = self.intern_all(texts)
            ids = pa.array([known[term] for term in texts], pa.int64())
            return self.runner.from_table(rows.table.drop(text).append_column(name, ids))
        key = f"{text}#"
        distinct = rows.frame.select(text).distinct().toArrow()[text].to_pylist()
        known = self.intern_all(distinct)
        named = {key: pa.array(known, pa.string()), name: pa.array(known.values(), pa.int64())}
        ids = self.runner.from_table(pa.table(named)).frame
        frame = rows.frame.join(ids, F.col(text) == F.col(key)).drop(text, key)
        return self.runner.from_frame(frame)

    def attach(self, frame: DataFrame, column: str, name: str) -> DataFrame:
        """A frame with a column added: the terms of a column of ids."""
        key = f"{name}#"
        distinct = self.runner.materialize(
            self.runner.from_frame(frame.select(F.col(column).alias(ID)).distinct())
        )
        if distinct.table is None:
            terms = self.dictionary.frame()
        else:
            ids = distinct.table[ID]
            texts = self.dictionary.decode(ids.to_numpy()).cast(pa.string())
            terms = F.broadcast(self.runner.from_table(pa.table({ID: ids, TERM: texts})).frame)
        terms = terms.withColumnsRenamed({ID: key, TERM: name})
        return frame.join(terms, frame[column] == terms[key]).drop(key)
