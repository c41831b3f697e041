"""States as tables of Spark: `spark.read.format("streamreasoner")`, after `register(spark)`.

Invariant: an answer is of one epoch, and exact, or refused; the state may be written meanwhile.

| option | |
|---|---|
| `path` | directory of the state, of a reasoner or a pipeline; what `load` takes |
| `predicate` | whose facts; default: triples |
| `at` | the epoch at whose end the facts are read; default: the last one |
| `table` | `facts`, the default, or `changes`, which a stream can read |
| `from` | the first epoch of a stream of changes; default: the first that is retained |

Facts have the columns of `Facts.to_arrow`, with terms in N-Triples syntax; changes, those of the
table `changes`: epoch, time, predicate, arguments and +1 or -1.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)

from streamreasoner.api.updates import check_predicate
from streamreasoner.errors import DataError, NoEpochError, StateError
from streamreasoner.history.epochs import Past
from streamreasoner.history.past_facts import PastFacts
from streamreasoner.lang.ast import TRIPLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from streamreasoner.facts import Terms

NAME = "streamreasoner"
FACTS, CHANGES = "facts", "changes"
_CHANGES = "epoch long, ts timestamp, predicate string, args array<string>, diff byte"
_EPOCH = "epoch"
_ROWS = 1 << 16
"""Rows of a batch that is handed to Spark."""
_TABLES = "tables"
_OPTIONS = ("path", "table", "predicate", "at", "from")


def register(spark: SparkSession) -> None:
    """Make `streamreasoner` a format of a session, for `read` and `readStream`."""
    spark.dataSource.register(StateSource)


class StateSource(DataSource):
    """A state as a table; see the module."""

    @classmethod
    def name(cls) -> str:
        """What `format` takes."""
        return NAME

    def schema(self) -> str:
        """The columns of the table.

        Raises:
            DataError: An option is unknown or has a wrong value.
            StateError: There is no state, or it is damaged.
        """
        asked = _Asked.of(self.options)
        if asked.table == CHANGES:
            return _CHANGES
        names = asked.facts().columns
        return ", ".join(f"`{name}` string" for name in names)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Reads the table once."""
        del schema
        return _Reader(_Asked.of(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's
        """Reads changes, and those of new epochs as they are complete.

        Raises:
            DataError: The table is not `changes`.
        """
        del schema
        asked = _Asked.of(self.options)
        if asked.table != CHANGES:
            raise DataError("A stream reads the changes of a state: .option('table', 'changes').")
        return _StreamReader(asked)


@dataclass(frozen=True, slots=True)
class _Facts:
    """The facts of one predicate at the end of an epoch.

    Attributes:
        columns: The columns of its arguments.
        ids: Term ids of shape (n, arity).
        terms: The terms of the ids.
    """

    columns: tuple[str, ...]
    ids: NDArray[np.int32]
    terms: Terms


@dataclass(frozen=True, slots=True)
class _Asked:
    """The options of a read; see the module."""

    directory: Path
    table: str
    predicate: str
    at: int | None
    first: int | None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> _Asked:
        """Those of a frame.

        Raises:
            DataError: One is unknown, or has a wrong value.
        """
        unknown = sorted({name.lower() for name in options} - set(_OPTIONS))
        if unknown:
            raise DataError(f"No option is called {unknown[0]!r}. Use {', '.join(_OPTIONS)}.")
        if "path" not in options:
            raise DataError(f"Give the directory of the state: .format({NAME!r}).load(directory).")
        table = options.get("table", FACTS)
        if table not in {FACTS, CHANGES}:
            raise DataError(f"A state has the tables {FACTS} and {CHANGES}, not {table!r}.")
        return cls(
            Path(options["path"].removeprefix("file:")),
            table,
            options.get("predicate", TRIPLE),
            _number(options, "at"),
            _number(options, "from"),
        )

    def past(self) -> Past:
        """The epochs of the state.

        Raises:
            NoEpochError: It has none yet.
            StateError: There is no state, or it is damaged.
        """
        return Past(self.directory / _TABLES)

    def facts(self) -> _Facts:
        """The facts.

        Raises:
            DataError: The program does not have the predicate.
            StateError: The epoch cannot be asked for, or the state is damaged.
        """
        facts = PastFacts(self.past())
        epoch = facts.past.last if self.at is None else self.at
        program = facts.program(epoch)
        check_predicate(self.predicate, None, program)
        return _Facts(program.columns(self.predicate), *facts.present(self.predicate, epoch))


class _Reader(DataSourceReader):
    def __init__(self, asked: _Asked) -> None:
        self._asked = asked

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - Spark's
        asked = self._asked
        if asked.table == CHANGES:
            past = asked.past()
            yield from _changes(past, max(past.changes_from, 0), past.last)
            return
        facts = asked.facts()
        for start in range(0, len(facts.ids), _ROWS):
            block = facts.ids[start : start + _ROWS]
            columns = [facts.terms.decode(column).cast(pa.string()) for column in block.T]
            yield pa.record_batch(columns, names=list(facts.columns))


class _StreamReader(DataSourceStreamReader):
    """Its offsets are `{"epoch": n}`: the first epoch that is not read yet."""

    def __init__(self, asked: _Asked) -> None:
        self._asked = asked

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's
        if self._asked.first is not None:
            return {_EPOCH: self._asked.first}
        try:
            return {_EPOCH: max(self._asked.past().changes_from, 0)}
        except NoEpochError:
            return {_EPOCH: 0}

    def latestOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's
        try:
            return {_EPOCH: self._asked.past().last + 1}
        except NoEpochError:
            return self.initialOffset()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [InputPartition((start[_EPOCH], end[_EPOCH] - 1))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from _changes(self._asked.past(), *partition.value)


def _changes(past: Past, first: int, last: int) -> Iterator[pa.RecordBatch]:
    """The changes of some epochs.

    Args:
        past: The epochs of the state.
        first: The first of them.
        last: The last one.

    Raises:
        StateError: They are not retained any more, or the state is damaged.
    """
    if first < past.changes_from:
        raise StateError(
            f"The changes of epoch {first} are no longer retained; the first that are are "
            f"those of epoch {past.changes_from}. Begin a new query, with a new checkpoint, "
            "from the facts of an epoch; and raise retention.changes."
        )
    rows = past.changes_between(first, last)
    texts = rows.column("args").cast(pa.list_(pa.string()))
    yield from pa.table(
        {
            "epoch": rows.column("epoch"),
            "ts": rows.column("ts"),
            "predicate": rows.column("predicate").cast(pa.string()),
            "args": texts,
            "diff": rows.column("multiplicity"),
        }
    ).to_batches(_ROWS)


def _number(options: Mapping[str, str], name: str) -> int | None:
    """An option that is the number of an epoch."""
    text = options.get(name)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit():
        raise DataError(f"The option {name!r} is the number of an epoch, not {text!r}.")
    return int(text)
