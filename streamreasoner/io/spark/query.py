"""The streaming query: passes Spark's batches on until it is stopped.

Invariant: once `stop` is called, the current batch is finished and no further one begins.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol
from weakref import WeakMethod

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import ArithmeticException, PySparkException, StreamingQueryException
from pyspark.sql.classic.dataframe import DataFrame

from streamreasoner.errors import (
    BatchTooLargeError,
    BrokerError,
    EnvironmentSetupError,
    SparkDiedError,
    StateError,
    StreamReasonerError,
)
from streamreasoner.io.spark import session
from streamreasoner.io.spark.internals.each_batch import StopRequestedError, for_each_batch
from streamreasoner.io.spark.internals.read_limit import ReadLimit
from streamreasoner.io.spark.internals.running_source import FEW, PlannedRows
from streamreasoner.io.spark.offsets import Checkpoint, size
from streamreasoner.io.spark.read_ahead import ReadAhead
from streamreasoner.io.spark.watchdog import Watchdog

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

    import pyarrow as pa
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame as Stream
    from pyspark.sql.streaming.query import StreamingQuery

    from streamreasoner.io.observer import PipelineObserver
    from streamreasoner.state.record import Offsets

_POLL_SECONDS = 0.5
_COMMIT_SECONDS = 10.0
_TOO_LARGE = session.MOST_COLLECTED
# Raised for a Kafka timestamp that does not fit Spark's.
_TIME_TOO_LARGE = "java.lang.ArithmeticException"
# Raised where the session bounds how long the end of a query may take.
_STILL_ENDING = "java.util.concurrent.TimeoutException"
# Ends the JVM in a task, but is handed to Python where the driver reads few messages itself.
_OUT_OF_MEMORY = "java.lang.OutOfMemoryError"
_LOGIN = "Check mechanism, username and password in kafka.security."
_CERTIFICATE = """\
Set kafka.security.ca_file to the certificate (PEM) of the authority that signed the broker's."""
_RIGHTS = """\
Grant Read on the input and control topics: `streamreasoner topics acls run --config FILE` prints \
the commands."""
# Exceptions of Kafka's Java client. The other clients have connected by then.
_REFUSALS = {
    "SaslAuthenticationException": _LOGIN,
    "LoginException": _LOGIN,
    "SslAuthenticationException": _CERTIFICATE,
    "SSLHandshakeException": _CERTIFICATE,
    "TopicAuthorizationException": _RIGHTS,
    "GroupAuthorizationException": _RIGHTS,
}
_SESSION_ENDED = """\
The Spark session was stopped while the pipeline ran in it. Nothing is lost: make a new session \
and run again. Stop the pipeline before its session."""
_LOSS = re.compile(
    r"Some data may have been lost.*?Reason:\s*(.*?)\s*(?:SQLSTATE|\n\s+at |\Z)", re.DOTALL
)
_log = logging.getLogger(__name__)


class BatchRunner(Protocol):
    """Runs the batches that Spark delivers."""

    @property
    def next(self) -> int:
        """The batch that `run` expects."""

    def range(self, epoch: int) -> Offsets:
        """Input range of a batch that is planned."""

    def run(self, batch: pa.Table, epoch: int, keep_alive: Callable[[], None]) -> None:
        """Run one batch; calls *keep_alive* when it should not count as stuck yet."""

    def check_topics(self) -> None:
        """Raise a StateError if a topic problem may be why Spark cannot read."""


class Pace(Protocol):
    """Chooses the size of the next batch; an immutable value."""

    @property
    def messages(self) -> int:
        """Most messages in the next batch."""

    def most_next(self, messages: int, size: int) -> int:
        """Most messages in the batch after one of this many messages and bytes."""

    def after(self, messages: int, size: int, seconds: float) -> Self:
        """The pace after a batch of this many messages, bytes and seconds."""


class Query:
    """A running query.

    Args:
        stream: The input.
        runner: Runs each batch.
        reread: Reads a range of offsets that Spark cannot read.
        observer: Notified when a batch begins and ends.
        batch_timeout: Seconds after which a batch counts as stuck.
        pace: Chooses the size of each batch; the input has the limit that it begins with.
        overdue: Told of a stuck batch, in a process that must not be ended for it.
    """

    def __init__(  # noqa: PLR0917 - in the order of use
        self,
        stream: Stream,
        runner: BatchRunner,
        reread: Callable[[Offsets], pa.Table],
        observer: PipelineObserver,
        batch_timeout: float,
        pace: Pace,
        overdue: Callable[[StreamReasonerError], None] | None = None,
    ) -> None:
        self._stream = stream
        self._runner = runner
        self._reread = reread
        self._observer = observer
        self._batch_timeout = batch_timeout
        self._overdue = overdue
        self._watchdog = Watchdog(
            batch_timeout, overdue=None if overdue is None else self._tell_overdue
        )
        self._pace = pace
        self._limit = ReadLimit(stream.sparkSession, pace.messages)
        self._ahead = ReadAhead(stream.sparkSession)
        self._rows: PlannedRows | None = None
        self._batch = threading.Lock()
        self._wake = threading.Event()
        self._stopping = self._ended = False
        self._error: BaseException | None = None
        self._query: StreamingQuery | None = None
        self._checkpoint: Path | None = None
        self._temporary: Path | None = None

    def start(
        self, name: str, checkpoint: Path, trigger_interval: float, temporary: Path | None
    ) -> None:
        """Start the query.

        Args:
            name: Name of the query.
            checkpoint: Directory of Spark's checkpoint.
            trigger_interval: Seconds from one batch to the next; 0 for as soon as possible.
            temporary: Where a JVM of this process has its temporary files.
        """
        self._checkpoint = checkpoint
        self._temporary = temporary
        writer = (
            self._stream.writeStream.queryName(name)
            # An explicitly local path, whatever Hadoop's default file system is.
            .option("checkpointLocation", f"file:{checkpoint.absolute()}")
            .trigger(processingTime=f"{int(trigger_interval * 1000)} milliseconds")
        )
        for_each_batch(writer, WeakMethod(self._on_batch))
        self._query = writer.start()

    def stop(self) -> None:
        """Ask the query to end after the current batch; returns at once."""
        self._stopping = True
        self._wake.set()

    def wait(self) -> None:
        """Return when the query has ended because of `stop`.

        Raises:
            StreamReasonerError: It ended because of an error.
        """
        query = self._query
        if query is None or self._ended:
            return
        try:
            while query.isActive and not self._wake.wait(_POLL_SECONDS):
                if session.has_ended(self._stream.sparkSession):
                    raise self._orphaned(query)
            if self._error is None and self._stopping:
                self._await_commit()
                self._end(query)
                return
            query.awaitTermination()
        except StreamingQueryException as error:
            if self._stopping and isinstance(self._error, StopRequestedError):
                return
            raise self._explain(error) from error
        except (Py4JError, OSError) as error:
            # A batch that Spark delivered still uses tables and sink: wait for it.
            with self._batch:
                self._stopping = True
            raise SparkDiedError(
                "Spark's Java process has died: it crashed, was killed or ran out of memory. "
                "Nothing is lost. Restart the process; if it recurs, see Spark's log, which is "
                "spark.log in the state directory unless Spark was there before."
            ) from error
        finally:
            self._watchdog.close()
            self._ahead.close()
            if self._rows is not None:
                self._rows.close()

    def _tell_overdue(self, epoch: int) -> None:
        assert self._overdue is not None  # noqa: S101 - the watchdog calls this only if it is set
        self._overdue(
            StreamReasonerError(
                f"Batch {epoch} did not finish within {self._batch_timeout:g} s "
                "(pipeline.batch_timeout). No other begins, nothing is lost, and the state stays "
                "locked until the batch ends or this process does. To repeat it at once, end the "
                "process and run again."
            )
        )
        self.stop()

    def _on_batch(self, frame: JavaObject, epoch: int) -> None:
        with self._batch:
            try:
                if self._stopping:
                    raise StopRequestedError  # noqa: TRY301 - an error ends the query in Spark too
                with self._watchdog.guard(epoch) as restart_clock:
                    self._run(frame, epoch, restart_clock)
            except BaseException as error:
                self._error = error
                self._wake.set()
                raise

    def _run(self, frame: JavaObject, epoch: int, restart_clock: Callable[[], None]) -> None:
        def keep_alive() -> None:
            if self._stopping:
                raise StopRequestedError
            restart_clock()

        start = time.perf_counter()
        batch = self._read(frame, epoch)
        self._observer.batch_started(epoch, len(batch))
        self._observer.stage("read", time.perf_counter() - start)
        nbytes = batch.nbytes
        # The first batch may end before Spark has returned the query.
        if self._query is not None:
            most = self._pace.most_next(len(batch), nbytes)
            current = self._runner.range(epoch)
            self._ahead.begin(self._query, current, self._limit.messages, most)
        self._runner.run(batch, epoch, keep_alive)
        seconds = time.perf_counter() - start
        self._pace = self._pace.after(len(batch), nbytes, seconds)
        if self._query is not None:
            self._limit.set(self._query, self._pace.messages)
        self._observer.paced(nbytes, self._limit.messages)
        self._observer.batch_finished(epoch, seconds)
        if self._query is not None and self._stopping:
            # Otherwise Spark would begin another batch and log at length that it failed.
            self._limit.set(self._query, 0)

    def _read(self, frame: JavaObject, epoch: int) -> pa.Table:
        if self._ahead.is_reading:
            batch = self._ahead.take(self._runner.range(epoch))
            if batch is not None:
                _log.debug("Batch %d was read ahead.", epoch)
                return batch
        try:
            few = self._read_few(epoch)
            return DataFrame(frame, self._stream.sparkSession).toArrow() if few is None else few
        except (Py4JError, PySparkException) as error:
            if _TOO_LARGE in str(error):
                raise BatchTooLargeError(
                    f"Batch {epoch} does not fit memory: its messages are longer than those "
                    "before. The next start plans it anew, with fewer messages."
                ) from None
            if _OUT_OF_MEMORY in str(error):
                raise SparkDiedError(
                    f"Batch {epoch} does not fit the memory of Spark's Java process. Nothing is "
                    "lost. Raise spark.driver.memory in spark.options."
                ) from None
            if not isinstance(error, ArithmeticException) and _TIME_TOO_LARGE not in str(error):
                raise
        _log.warning(
            "Batch %d has a message whose Kafka timestamp is too large for Spark; reading it "
            "with another client.",
            epoch,
        )
        return self._reread(self._runner.range(epoch))

    def _read_few(self, epoch: int) -> pa.Table | None:
        """The messages of a batch that has few; None if its DataFrame must be read."""
        # The first batch may begin before Spark has returned the query.
        if self._query is None or size(self._runner.range(epoch)) > FEW:
            return None
        try:
            if self._rows is None:
                self._rows = PlannedRows(self._stream.sparkSession, self._query)
            batch = self._rows.read()
        except Py4JJavaError:
            raise
        except (Py4JError, TypeError) as error:
            _log.debug("A batch cannot be read in the driver.", exc_info=error)
            return None
        if batch is not None:
            _log.debug("Batch %d was read in the driver.", epoch)
        return batch

    def _end(self, query: StreamingQuery) -> None:
        """End a query between two batches; its Kafka client may take longer, if Kafka is away."""
        try:
            query.stop()
        except Py4JJavaError as error:
            if _STILL_ENDING not in str(error):
                raise
            _log.warning("Kafka is away. Spark still waits for it, and does nothing else.")
        self._ended = True

    def _orphaned(self, query: StreamingQuery) -> EnvironmentSetupError:
        """End a query whose session was stopped, which Spark may not end with it."""
        with self._batch:
            self._stopping = True
        with suppress(Py4JError):
            query.stop()
        return EnvironmentSetupError(_SESSION_ENDED)

    def _await_commit(self) -> None:
        """Let Spark commit the last batch, so a restart need not repeat it."""
        assert self._checkpoint is not None  # noqa: S101 - set by start
        with self._batch:
            last = self._runner.next - 1
        deadline = time.monotonic() + _COMMIT_SECONDS
        while Checkpoint.read(self._checkpoint).committed < last and time.monotonic() < deadline:
            time.sleep(0.01)

    def _missing(self) -> str | None:
        """What a query needs and someone has taken away."""
        if session.has_ended(self._stream.sparkSession):
            return _SESSION_ENDED
        if self._temporary is not None and not self._temporary.is_dir():
            return (
                f"The directory {self._temporary} has been removed while Spark had its temporary "
                "files there. Nothing is lost. Restart the process, and keep cleaners away from "
                "the directory of the state."
            )
        return None

    def _explain(self, error: StreamingQueryException) -> StreamReasonerError:
        if isinstance(self._error, StreamReasonerError):
            return self._error
        if (missing := self._missing()) is not None:
            return EnvironmentSetupError(missing)
        with suppress(BrokerError):
            try:
                self._runner.check_topics()
            except StateError as cause:
                return cause
        text = f"{self._error}\n{error}"
        if (explained := explain_client(text) or explain_loss(text)) is not None:
            return explained
        if self._error is not None:
            _log.debug("The batch failed.", exc_info=self._error)
            kind = type(self._error).__name__
            return StreamReasonerError(
                f"Batch {self._runner.next} failed, and nothing of it is lost: {kind}: "
                f"{_brief(str(self._error))}. Set log.level to debug for a stack trace and "
                "report it."
            )
        return BrokerError(f"Spark ended the query: {_cause(error)}")


def explain_client(text: str) -> BrokerError | None:
    """Why Kafka refuses Spark's client, from Java's message; None for any other message."""
    for exception, advice in _REFUSALS.items():
        match = re.search(rf"{exception}: ([^\n]*)", text)
        if match is not None:
            return BrokerError(f"Kafka refuses Spark's client: {match[1].rstrip('.')}. {advice}")
    return None


def explain_loss(text: str) -> StateError | None:
    """Which input was deleted before it was read, from Spark's message; None for any other."""
    match = _LOSS.search(text)
    if match is None:
        return None
    return StateError(
        f"Input was deleted before it was read: {' '.join(match[1].split()).rstrip('.')}. Facts "
        "would be missing, so nothing more is read. Raise the retention of the input topics "
        "(retention.ms, retention.bytes), and start from scratch with all input and another "
        "state.directory, pipeline.app_id and kafka.output_topic."
    )


def _cause(error: StreamingQueryException) -> str:
    """The innermost cause, without Java's stack trace."""
    return _brief(str(error).split("JVM stacktrace")[0])


def _brief(text: str) -> str:
    """The first three lines of a message, joined."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[:3])
