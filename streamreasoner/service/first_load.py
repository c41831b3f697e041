"""Loads files into a new state. Invariant: a load that was interrupted goes on where it ended."""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future
from contextlib import ExitStack
from typing import TYPE_CHECKING

from streamreasoner.backends.choice import BackendKind
from streamreasoner.errors import StateFullError
from streamreasoner.io.kafka.offsets.starting import resolve
from streamreasoner.io.observer import Observers
from streamreasoner.io.spark import session as spark_session
from streamreasoner.io.spark.offsets import Checkpoint
from streamreasoner.io.spark.planting import PlantedCheckpoint
from streamreasoner.pipeline import recovery
from streamreasoner.pipeline.batch import EpochRunner
from streamreasoner.pipeline.bootstrap.load import Load, check_request, read_sources
from streamreasoner.pipeline.bootstrap.pieces import Pieces
from streamreasoner.pipeline.bootstrap.record import Bootstrap, BootstrapFile
from streamreasoner.service.checks import check_start
from streamreasoner.service.parts import Restored
from streamreasoner.service.recover import (
    open_output,
    progress_before,
    recover,
    restore,
    store_at,
)
from streamreasoner.service.size import cores, is_full, may_move, moved, place_of_state
from streamreasoner.service.spark.start import start_spark

if TYPE_CHECKING:
    from collections.abc import Callable

    from streamreasoner.config import Config
    from streamreasoner.io.kafka.offsets.starting import Wanted
    from streamreasoner.io.spark.session import RunningSession
    from streamreasoner.pipeline.bootstrap.record import Request
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.service.checks import Checked

_log = logging.getLogger(__name__)


def bootstrap(
    config: Config, request: Request, wanted: Wanted, report: Callable[[Bootstrap, int], None]
) -> Bootstrap:
    """Load the facts of files into a new state, or go on with a load that was interrupted.

    A state that becomes too large for this process goes on elsewhere, or divided.

    Args:
        config: The configuration.
        request: What to load.
        wanted: Where the input begins.
        report: Called after each epoch, with the number of epochs that are done.

    Raises:
        StreamReasonerError: It is refused, or failed; nothing is lost, and it may run again.
    """
    while True:
        parts = cores(config)
        try:
            done = _bootstrap_once(config, request, wanted, report)
        except StateFullError as error:
            if not may_move(config, BackendKind.COLUMNAR):
                raise
            _log.warning("%s", error)
        else:
            if done.done:
                return done
        config = moved(config, parts)


def _bootstrap_once(
    config: Config, request: Request, wanted: Wanted, report: Callable[[Bootstrap, int], None]
) -> Bootstrap:
    """Load epochs until all are done, or the state is too large for memory."""
    with ExitStack() as stack:
        now = time.time_ns() // 1_000_000
        check_request(request, config, now)
        checked = check_start(config, stack, loading=True)
        file, pieces = BootstrapFile(config.state.directory), Pieces(config.state.pieces)
        asked = file.interrupted(request)
        if asked is None:
            asked = _begun(config, request, wanted, now, checked.program, pieces)
            file.write(asked)
        restored = restored_alone(config, checked, stack)
        planted = PlantedCheckpoint(restored.checkpoint.directory, asked.starts, asked.now)
        if not restored.checkpoint.begun:
            planted.begin()
        evaluator = restored.evaluator()
        point = restored.recovered.point
        load = Load(
            bootstrap=asked,
            pieces=pieces,
            runner=EpochRunner(restored.parts_with(restored.last_resort(evaluator)), point),
            evaluator=evaluator,
            planted=planted,
            dictionary=restored.session.dictionary,
            source=asked.request.topic if asked.request.topic in config.semantics else "",
        )
        for epoch in range(point.before, asked.epochs):
            if may_move(config, restored.place) and is_full(config, restored.session):
                return asked
            load.run(epoch)
            report(asked, epoch + 1)
        pieces.delete()
        file.write(done := asked.finished())
        return done


def _begun(  # noqa: PLR0917 - in the order of use
    config: Config,
    request: Request,
    wanted: Wanted,
    now: int,
    program: CheckedProgram,
    pieces: Pieces,
) -> Bootstrap:
    """A load into a state that is new."""
    recovery.check_new(config.state.tables, Checkpoint.read(config.state.checkpoint_directory))
    starts = resolve(config.kafka, config.rules.control_topic, wanted)
    digests, facts = read_sources(request, program, pieces, config.pipeline.max_term_bytes)
    return Bootstrap(request, now, starts, digests, facts)


def restored_alone(
    config: Config, checked: Checked, stack: ExitStack, *, is_behind: bool = False
) -> Restored:
    """The pipeline with its state, in which epochs may be already, without a query.

    Args:
        config: The configuration.
        checked: What the checks of the start have opened.
        stack: Closes what is opened.
        is_behind: Whether epochs may have been published that the state does not have.

    Raises:
        StreamReasonerError: It cannot be restored.
    """
    place = place_of_state(config)
    starting: Future[RunningSession] = Future()
    if place is not BackendKind.COLUMNAR:
        spark_session.check_java()
        starting = start_spark(config, place, checked.lock, stack)
    output = open_output(config, stack)
    recovered = recover(config, checked, output, stack, is_behind=is_behind)
    progress = progress_before(config, recovered)
    store = store_at(place, config, recovered, starting.result, stack)
    session = restore(config, recovered, store, progress)
    checkpoint = recovered.checkpoint
    return Restored(
        config, place, checked, output, recovered, checkpoint, session, progress, Observers()
    )
