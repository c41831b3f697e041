"""A stream of Spark as the input of a reasoner. Invariant: each batch is an epoch, exactly once.

The durable steps of a batch:

0. Write its rejected rows, to a file with the number of the batch.
1. Apply its valid rows as an epoch, which is stored with the number of the batch.
2. Return, upon which Spark records the batch in its checkpoint.

A crash before the end of step 1 leaves a state without the batch, which Spark sends again; a crash
after it, a state with the batch, which is not applied again.
"""

from __future__ import annotations

import logging
import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

import pyarrow as pa
from pyarrow import parquet

from streamreasoner.api.durable.batches import Batch, is_known
from streamreasoner.api.durable.opening import open_session
from streamreasoner.api.reasoner import Reasoner
from streamreasoner.counts import counted
from streamreasoner.engine.epoch import DEFAULT_MAX_NEW_TERMS, DEFAULT_RECURSION_LIMIT
from streamreasoner.engine.input.registers import frontier_of
from streamreasoner.errors import (
    DataError,
    DictionaryFullError,
    EngineError,
    EnvironmentSetupError,
    StateFullError,
)
from streamreasoner.lang.ast import TRIPLE
from streamreasoner.pipeline.failing.isolation import isolate
from streamreasoner.program.load import load_program
from streamreasoner.spark.frames import collected, updates_of
from streamreasoner.system import disk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

    from pyspark.sql import DataFrame

    from streamreasoner.api.durable.session import DurableSession
    from streamreasoner.engine.updates import Updates
    from streamreasoner.program.hierarchies import Hierarchies

REJECTED = "rejected"
"""Directory of the rows that are not applied, next to the tables of the state."""
REASON = "reason"
_QUERY_ID = "sql.streaming.queryId"  # a local property of the thread that runs a query
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_log = logging.getLogger(__name__)


class StreamReasoner:
    """Applies the batches of a stream: what `foreachBatch` calls; made by `reasoner`.

    Close it when its query has ended, or use it in a `with` statement.

    Args:
        session: The state.
        predicate: The predicate of the facts, in frames that do not name it.
        stream: The name of the stream.
        allowed_lateness: How far the frontier stays behind the greatest event time.

    Attributes:
        reasoner: Answers questions meanwhile, from any thread.
        rejected: How many rows have been rejected since it was made.
    """

    def __init__(
        self, session: DurableSession, predicate: str, stream: str, allowed_lateness: timedelta
    ) -> None:
        self.reasoner = Reasoner.of_session(session, allowed_lateness)
        self.rejected = 0
        self._session = session
        self._predicate = predicate
        self._stream = stream
        self._lateness = allowed_lateness // timedelta(milliseconds=1)

    def __call__(self, updates: DataFrame, batch: int) -> None:
        """Apply a batch, unless the state has it.

        Args:
            updates: The updates, in the columns of `Reasoner.apply_arrow`, where `diff` may be
                written for `multiplicity`; or `predicate` and `args`, the arguments as an array.
            batch: Its number.

        Raises:
            DataError: The frame has other columns.
            EngineError: The state is full, or has as many terms as there are ids.
            StateError: The state cannot be written, or the checkpoint does not belong to it.
        """
        query = updates.sparkSession.sparkContext.getLocalProperty(_QUERY_ID) or ""
        number = Batch(self._stream, query, batch)
        with self._session.turn:
            if is_known(number, self._session.positions):
                return
            rows = collected(updates)
            read = updates_of(rows, self._predicate, self._session)
            rejected = read.rejected
            self._write_rejected(rows, rejected, batch)
            try:
                self._apply(number, read.updates)
            except (StateFullError, DictionaryFullError):
                raise
            except (DataError, EngineError) as error:
                rejected = {**rejected, **self._failing(rows, rejected, error)}
                self._write_rejected(rows, rejected, batch)
                valid = _without(rows, rejected)
                self._apply(number, updates_of(valid, self._predicate, self._session).updates)
        self.rejected += len(rejected)
        for place in sorted(rejected)[:1]:
            _log.warning(
                "%s of batch %d rejected, and written to %s. The first is row %d: %s",
                counted(len(rejected), "row"),
                batch,
                self._rejected_file(batch),
                place,
                rejected[place],
            )

    def close(self) -> None:
        """Release the state, so that another process may open it."""
        self.reasoner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        """Refuse Spark Connect, which copies the function into a process of its server."""
        raise EnvironmentSetupError(
            "A reasoner cannot be copied into another process, as Spark Connect would. Use a "
            "classic session: SparkSession.builder.master(...), without remote(...)."
        )

    def _apply(self, number: Batch, updates: Sequence[Updates]) -> None:
        self._session.apply_batch(number, updates, frontier_of(updates, self._lateness))

    def _failing(
        self, rows: pa.Table, rejected: Mapping[int, str], error: DataError | EngineError
    ) -> dict[int, str]:
        """The valid rows that make the epoch fail, with reasons; see `isolation.isolate`.

        Raises:
            DataError: No row is to blame: the epoch fails without input, with *error*.
            EngineError: Likewise.
        """
        places = [row for row in range(len(rows)) if row not in rejected]

        def fails(accepted: Sequence[int], part: Sequence[int]) -> str | None:
            chosen = _at(rows, [places[row] for row in (*accepted, *part)])
            updates = updates_of(chosen, self._predicate, self._session).updates
            try:
                self._session.rehearse(updates, frontier=frontier_of(updates, self._lateness))
            except (DataError, EngineError) as failure:
                return str(failure)
            return None

        if fails((), ()) is not None:
            raise error
        return {places[row]: why for row, why in isolate(len(places), fails).items()}

    def _write_rejected(self, rows: pa.Table, rejected: Mapping[int, str], batch: int) -> None:
        """Write the rejected rows of a batch with their reasons, in place of those before."""
        if not rejected:
            return
        places = sorted(rejected)
        reasons = pa.array([rejected[place] for place in places], pa.string())
        sink = pa.BufferOutputStream()
        parquet.write_table(_at(rows, places).append_column(REASON, reasons), sink)
        file = self._rejected_file(batch)
        file.parent.mkdir(parents=True, exist_ok=True)
        disk.write(file, sink.getvalue())
        disk.sync(file.parent)

    def _rejected_file(self, batch: int) -> Path:
        return self._session.directory / REJECTED / self._stream / f"{batch:010}.parquet"


def reasoner(
    rules: str | Path | None,
    state: str | Path,
    *,
    predicate: str = TRIPLE,
    stream: str = "updates",
    graphs: Literal["default", "union", "each"] | None = None,
    recursion_limit: int = DEFAULT_RECURSION_LIMIT,
    max_new_terms: int = DEFAULT_MAX_NEW_TERMS,
    allowed_lateness: timedelta = timedelta(0),
    cores: int = 1,
    hierarchies: Hierarchies = "auto",
) -> StreamReasoner:
    """What keeps the consequences of a stream up to date: give it to `foreachBatch`.

        keep = reasoner("rules.dl", state="state")
        query = updates.writeStream.foreachBatch(keep).option("checkpointLocation", "...").start()

    Args:
        rules: The rules of a new state. For a state that is there, None or its present rules.
        state: Directory of the state, on the machine of the driver; created if absent. The
            checkpoint of the query must be elsewhere.
        predicate: The predicate of the facts, in frames that do not name it.
        stream: The name of the stream. A state may have several, one after the other.
        graphs: As of `Reasoner.open`.
        recursion_limit: As of `Reasoner.open`.
        max_new_terms: As of `Reasoner.open`.
        allowed_lateness: As of `Reasoner.open`.
        cores: As of `Reasoner.open`.
        hierarchies: As of `Reasoner.open`.

    Raises:
        DataError: The name of the stream is not one, or the number of cores is out of range, or
            hierarchies another word.
        ProgramError: The rules are invalid; the message lists every error with its position.
        EnvironmentSetupError: Another process has it open, or the directory cannot be written.
        StateError: The state is damaged, of another version, of a pipeline, or has other rules; or
            there is none, and no rules to begin one.
    """
    if _NAME.fullmatch(stream) is None:
        raise DataError(
            f"{stream!r} does not name a stream. Use up to 100 letters, digits, '.', '_' and '-', "
            "with a letter or digit at first."
        )
    session = open_session(
        Path(state),
        None if rules is None else load_program(rules, graphs),
        recursion_limit=recursion_limit,
        max_new_terms=max_new_terms,
        cores=cores,
        hierarchies=hierarchies,
    )
    return StreamReasoner(session, predicate, stream, allowed_lateness)


def _without(rows: pa.Table, places: Mapping[int, str]) -> pa.Table:
    return _at(rows, [row for row in range(len(rows)) if row not in places])


def _at(rows: pa.Table, places: Sequence[int]) -> pa.Table:
    return rows.take(pa.array(places, pa.int64()))
