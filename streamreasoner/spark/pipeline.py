"""A whole pipeline, Kafka to Kafka, in a Spark session that exists.

Invariant: whatever happens to the pipeline, the process and the session of the caller go on.
"""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from streamreasoner.config import Config, load, parse
from streamreasoner.errors import LimitError, StreamReasonerError
from streamreasoner.io.spark.existing import ExistingSession, Guest
from streamreasoner.service import supervise
from streamreasoner.system.extras import require
from streamreasoner.system.interrupts import interruptible
from streamreasoner.system.stopping import Stop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    ConfigSource = str | Path | Mapping[str, Any]

_LEAVE_SECONDS = 15.0


class RunningPipeline:
    """A pipeline in the background; made by `start`.

    In a `with` statement it is stopped at the end, and otherwise when the process exits. If that
    does not wait for its last batch, or the process is killed, nothing is lost or published twice.
    """

    def __init__(self, config: Config, session: ExistingSession) -> None:
        self._config = config
        self._session = session
        self._stop = Stop(ends_process=False)
        self._changed = threading.Condition()
        self._is_ready = self._has_ended = False
        self._error: BaseException | None = None
        # An interpreter that exits does not wait for a batch that is stuck.
        self._thread = threading.Thread(target=self._run, name="streamreasoner", daemon=True)
        self._thread.start()
        atexit.register(self._leave)

    @property
    def is_running(self) -> bool:
        """Whether it starts, reads or finishes its last batch."""
        return self._thread.is_alive()

    def await_ready(self, timeout: float | None = None) -> None:
        """Return when it reads its input.

        Args:
            timeout: Seconds to wait at most; None for as long as it takes.

        Raises:
            LimitError: It still starts; it goes on doing so.
            StreamReasonerError: It cannot start, or has failed or ended.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._is_ready or self._has_ended, timeout):
                raise LimitError(
                    f"The pipeline is not ready after {timeout:g} s, and goes on starting. Wait "
                    "again, or stop it."
                )
            self._raise_error()
            if self._has_ended:
                raise StreamReasonerError("The pipeline was stopped. Start it again.")

    def wait(self, timeout: float | None = None) -> bool:
        """Return when it has ended, because of `stop`.

        Args:
            timeout: Seconds to wait at most; None for as long as it takes.

        Returns:
            Whether it has ended.

        Raises:
            StreamReasonerError: It cannot start, or has failed.
        """
        with self._changed:
            ended = self._changed.wait_for(lambda: self._has_ended, timeout)
            self._raise_error()
            return ended

    def stop(self) -> None:
        """Finish the current batch, and return when it has ended; at once if it has.

        Raises:
            StreamReasonerError: It could not start, or has failed.
        """
        self._stop.request()
        self.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        # Not in place of what the block raises, which may be the same.
        with nullcontext() if kind is None else suppress(StreamReasonerError):
            self.stop()

    def _run(self) -> None:
        error: BaseException | None = None
        guest = Guest(self._session, self._tell_ready, self._end)
        try:
            supervise.run(self._config, self._stop, guest=guest)
        except BaseException as failure:  # noqa: BLE001 - the caller's threads raise it
            error = failure
        self._session.forget_thread()
        self._end(error)
        atexit.unregister(self._leave)

    def _leave(self) -> None:
        """Finish the current batch of a process that exits, unless it takes long."""
        if not self._has_ended:
            self._stop.request()
            self._thread.join(_LEAVE_SECONDS)

    def _tell_ready(self) -> None:
        with self._changed:
            self._is_ready = True
            self._changed.notify_all()

    def _end(self, error: BaseException | None) -> None:
        with self._changed:
            if not self._has_ended:
                self._error, self._has_ended = error, True
            self._changed.notify_all()

    def _raise_error(self) -> None:
        """Raise what ended it, without the frames of its thread."""
        if isinstance(self._error, StreamReasonerError):
            raise self._error.with_traceback(None) from None
        if self._error is not None:
            raise self._error


def start(config: ConfigSource, *, spark: SparkSession) -> RunningPipeline:
    """Run a pipeline in the background, in a Spark session that exists.

    It has a session of its own in the same context: settings, temporary views and queries of the
    caller are not touched, and the context is not stopped.

    Args:
        config: The configuration: its file, or its sections with their keys, where relative paths
            begin at the working directory. Variables of the environment override it. `log` has no
            effect, and of `spark.options` what Spark takes at its start only.
        spark: The session, whose driver is this process.

    Raises:
        ConfigError: The configuration is not valid; the message lists every problem.
        EnvironmentSetupError: The session is one of Spark Connect, or has ended; or an extra of the
            package is not installed.
    """
    require("pipeline", "A pipeline")
    session = ExistingSession(spark)
    if isinstance(config, str | Path):
        read = load(Path(config))
    else:
        read = parse(config, os.environ, Path.cwd())
    if read.server.facts:
        require("server", "server.facts = true")
    return RunningPipeline(read, session)


def run(config: ConfigSource, *, spark: SparkSession) -> None:
    """Run a pipeline in a Spark session that exists, until SIGINT (Ctrl-C) or SIGTERM.

    The current batch is finished first; a second signal does not wait for it.

    Args:
        config: As of `start`.
        spark: As of `start`.

    Raises:
        StreamReasonerError: The pipeline cannot start, or has failed.
    """
    is_main = threading.current_thread() is threading.main_thread()
    # PySpark's own handler would cancel the job of the current batch.
    with interruptible() if is_main else nullcontext():
        running = start(config, spark=spark)
        try:
            running.wait()
        except KeyboardInterrupt:
            running.stop()
