"""Terms of ids, in the driver and for executors. Invariant: an id means the same in both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streamreasoner.backends.spark import files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

    from streamreasoner.rdf.dictionary import Dictionary

ID = "id"
TEXT = "text"


class Terms:
    """Gives executors the terms of the driver's dictionary.

    Args:
        spark: The session.
        dictionary: The terms.
        directory: For files of terms; all executors must be able to read it.
    """

    def __init__(self, spark: SparkSession, dictionary: Dictionary, directory: str) -> None:
        self._spark = spark
        self._dictionary = dictionary
        self._directory = directory
        self._written = 0
        # Those of an earlier process are in files of other names.
        files.delete(spark, directory)

    def intern(self, text: str) -> int:
        """The id of a term in canonical syntax, new if need be."""
        return self._dictionary.intern(text)

    def intern_all(self, texts: Iterable[str]) -> dict[str, int]:
        """Ids of terms. New ones get theirs in an order that does not depend on that of rows.

        An epoch that is evaluated again, after a crash, must give the same ids to what it computes,
        and Spark's rows come in any order.
        """
        return {text: self.intern(text) for text in sorted(set(texts))}

    def texts(self, ids: Iterable[int]) -> dict[int, str]:
        """Terms by id."""
        distinct = np.array(sorted(set(ids)), np.int32)
        found = self._dictionary.decode(distinct).to_pylist()
        return dict(zip(distinct.tolist(), found, strict=True))

    def attach(self, frame: DataFrame, column: str, name: str) -> DataFrame:
        """A frame with the terms of a column of ids as one more column."""
        terms = self._frame().withColumnsRenamed({ID: f"{name}#", TEXT: name})
        return frame.join(terms, frame[column] == terms[f"{name}#"]).drop(f"{name}#")

    def _frame(self) -> DataFrame:
        """All terms: (id, text)."""
        count = len(self._dictionary)
        if count > self._written:
            ids = pa.array(np.arange(self._written, count, dtype=np.int64))
            texts = self._dictionary.terms(self._written, count).cast(pa.large_string())
            new = self._spark.createDataFrame(pa.table({ID: ids, TEXT: texts}))
            new.write.mode("append").parquet(self._directory)
            self._written = count
        return self._spark.read.parquet(self._directory)
