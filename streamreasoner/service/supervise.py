"""Runs a pipeline until it is asked to stop. Invariant: each start goes on where the last ended."""

from __future__ import annotations

import logging
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING

from streamreasoner.backends.choice import BackendKind
from streamreasoner.errors import (
    BatchTooLargeError,
    PartsLostError,
    SparkDiedError,
    StateFullError,
    StreamReasonerError,
)
from streamreasoner.io.spark import session as spark_session
from streamreasoner.io.spark.source import MAX_POLL_RECORDS
from streamreasoner.service.assemble import started
from streamreasoner.service.prepared import prepare
from streamreasoner.service.size import careful, cores, may_move, moved
from streamreasoner.service.standby.standby import OtherPlaceError
from streamreasoner.system.garbage import loaded_objects_are_kept
from streamreasoner.system.stopping import Stop, StopRequestedError

if TYPE_CHECKING:
    from streamreasoner.config import Config
    from streamreasoner.io.observer import PipelineObserver
    from streamreasoner.io.spark.existing import Guest
    from streamreasoner.service.prepared import Prepared

_log = logging.getLogger(__name__)


def run(
    config: Config,
    stop: Stop,
    observer: PipelineObserver | None = None,
    *,
    standby: bool = False,
    guest: Guest | None = None,
) -> None:
    """Run a pipeline until it is asked to stop; the current batch is finished first.

    A state that becomes too large for this process goes on elsewhere, or divided.

    Args:
        config: The configuration.
        stop: Ends it.
        observer: Notified of every batch.
        standby: Whether to stand by while another process has the state.
        guest: How it runs in a process that is someone else's.

    Raises:
        StreamReasonerError: The pipeline cannot start, or failed.
    """
    while not stop.requested:
        # Before its tables grow: they may ask for more parts than it was divided among.
        parts = cores(config)
        try:
            outgrown = _run_once(config, stop, observer, guest, standby=standby)
        except StopRequestedError:
            return
        except OtherPlaceError:
            continue
        except BatchTooLargeError as error:
            _log.warning("%s", error)
            continue
        except PartsLostError as error:
            if stop.requested or guest or spark_session.submitted():
                raise
            _log.warning("%s", error)
            continue
        except SparkDiedError:
            slower = careful(config)
            if stop.requested or slower is None or guest or spark_session.submitted():
                raise
            _log.warning(
                "Spark's Java process has died or has no memory left; nothing is lost. "
                "Starting it again, to take at most %s messages of a partition at a time, in "
                "case more did not fit its memory. The next start takes more again.",
                slower.kafka.consumer_options[MAX_POLL_RECORDS],
            )
            config = slower
            continue
        if not outgrown:
            return
        config = moved(config, parts)


def _run_once(
    config: Config,
    stop: Stop,
    observer: PipelineObserver | None,
    guest: Guest | None,
    *,
    standby: bool,
) -> bool:
    """Run a pipeline until its query ends; returns whether it outgrew its place."""
    stop.starting()
    try:
        with ExitStack() as stack:
            prepared = prepare(config, observer, stop, stack, standby=standby, guest=guest)
            while True:
                try:
                    return _run_prepared(prepared, stop)
                except PartsLostError as error:
                    if stop.requested or not prepared.starting.result().is_running:
                        raise
                    _log.warning("%s", error)
                    prepared.renew()
    except StateFullError as error:
        if not may_move(config, BackendKind.COLUMNAR):
            raise
        _log.warning("%s", error)
        return True
    except StreamReasonerError as error:
        # What a start waits for may fail before the start looks whether it is asked to end.
        if not stop.ends_start:
            raise
        _log.info("Ended while starting: %s", error)
        raise StopRequestedError from None


def _run_prepared(prepared: Prepared, stop: Stop) -> bool:
    """Run a pipeline from its state on; returns whether it outgrew its place."""
    with (
        started(prepared, stop) as running,
        loaded_objects_are_kept() if prepared.guest is None else nullcontext(),
    ):
        running.query.wait()
    return running.outgrown
