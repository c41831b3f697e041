"""Terms of ids on both sides of a step. Invariant: few are looked up in the driver, many joined."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from streamreasoner.backends.spark.index import ID, TERM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark import Accumulator
    from pyspark.sql import DataFrame

    from streamreasoner.backends.spark.dictionary import DistributedDictionary
    from streamreasoner.backends.spark.relation import QueryRunner, Relation


@dataclass(frozen=True, slots=True)
class Terms:
    """Gives the rows of a step the terms of their ids.

    Attributes:
        runner: Runs the queries.
        dictionary: The terms.
        overflows: Results that had no value because they did not fit 64 bits, counted at least
            once each: Spark may evaluate a step again.
    """

    runner: QueryRunner
    dictionary: DistributedDictionary
    overflows: Accumulator[int]

    @property
    def overflowed(self) -> Callable[[], None]:
        """What counts an overflow, in the driver or on an executor."""
        return partial(self.overflows.add, 1)

    def intern(self, text: str) -> int:
        """The id of a term in canonical syntax, new if need be."""
        return self.dictionary.intern(text)

    def intern_all(self, texts: Iterable[str]) -> dict[str, int]:
        """Ids of terms. New ones get theirs in an order that does not depend on that of rows.

        An epoch that is evaluated again, after a crash, must give the same ids to what it computes,
        and Spark's rows come in any order.
        """
        distinct = sorted(set(texts))
        ids = self.dictionary.encode(pa.array(distinct, pa.large_string()))
        return dict(zip(distinct, ids.tolist(), strict=True))

    def texts(self, ids: Iterable[int]) -> dict[int, str]:
        """Terms by id."""
        distinct = np.array(sorted(set(ids)), np.int64)
        found = self.dictionary.decode(distinct).to_pylist()
        return dict(zip(distinct.tolist(), found, strict=True))

    def identify(self, rows: Relation, text: str, name: str) -> Relation:
        """Rows with ids in place of a column of texts; new ones get theirs in the driver."""
        if rows.table is not None:
            texts = rows.table[text].to_pylist()
            known = self.intern_all(texts)
            ids = pa.array([known[one] for one in texts], pa.int64())
            return self.runner.from_table(rows.table.drop(text).append_column(name, ids))
        key = f"{text}#"
        distinct = rows.frame.select(text).distinct().toArrow()[text].to_pylist()
        known = self.intern_all(distinct)
        named = {key: pa.array(known, pa.string()), name: pa.array(known.values(), pa.int64())}
        ids = self.runner.from_table(pa.table(named)).frame
        frame = rows.frame.join(ids, F.col(text) == F.col(key)).drop(text, key)
        return self.runner.from_frame(frame)

    def attach(self, frame: DataFrame, column: str, name: str) -> DataFrame:
        """A frame with the terms of a column of ids as one more column."""
        key = f"{name}#"
        wanted = self.runner.materialize(
            self.runner.from_frame(frame.select(F.col(column).alias(ID)).distinct())
        )
        if wanted.table is None:
            terms = self.dictionary.frame()
        else:
            ids = wanted.table[ID]
            texts = self.dictionary.decode(ids.to_numpy()).cast(pa.string())
            terms = F.broadcast(self.runner.from_table(pa.table({ID: ids, TERM: texts})).frame)
        terms = terms.withColumnsRenamed({ID: key, TERM: name})
        return frame.join(terms, frame[column] == terms[key]).drop(key)
