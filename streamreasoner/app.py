"""Composition root: turns a configuration into a running pipeline.

Invariant: whatever a start opened is closed in reverse order, whichever step failed. It is the only
module that sees every adapter, so its length is that of the list of adapters.
"""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from streamreasoner.api.reasoner import Reasoner, Store, columnar
from streamreasoner.backends.choice import BackendKind, Limit
from streamreasoner.backends.spark import files
from streamreasoner.backends.spark.backend import SparkBackend
from streamreasoner.backends.spark.tables.distributed_dictionary import DistributedDictionary
from streamreasoner.config_values import REGISTRY_FORMATS
from streamreasoner.engine.input.registers import NO_FRONTIER
from streamreasoner.errors import (
    BatchTooLargeError,
    SparkDiedError,
    StateError,
    StateFullError,
    StreamReasonerError,
)
from streamreasoner.io.codec.decode import InputOptions
from streamreasoner.io.codec.encode import ChangeEncoder
from streamreasoner.io.formats.records.record import NO_SCHEMAS
from streamreasoner.io.formats.registry import of_name
from streamreasoner.io.formats.schemas.connect import connect
from streamreasoner.io.kafka.access import security
from streamreasoner.io.kafka.lag import Lag
from streamreasoner.io.kafka.offsets.starting import resolve
from streamreasoner.io.kafka.owners.claims import check_changes, check_claims, claims_of
from streamreasoner.io.kafka.owners.presence import Presence
from streamreasoner.io.kafka.progress_topic import ProgressTopic
from streamreasoner.io.kafka.reread import fitting, reread
from streamreasoner.io.kafka.sink import MOST_TRANSACTION_SECONDS, Sink
from streamreasoner.io.kafka.topic_checks import admin_client, check_topics
from streamreasoner.io.kafka.topic_ids import TopicIds
from streamreasoner.io.kafka.topics import produce_one, send_to_partition
from streamreasoner.io.spark import session
from streamreasoner.io.spark.offsets import Checkpoint
from streamreasoner.io.spark.planting import PlantedCheckpoint
from streamreasoner.io.spark.query import Query
from streamreasoner.io.spark.source import MAX_POLL_RECORDS, MOST_POLLED, read_stream
from streamreasoner.pipeline import recovery
from streamreasoner.pipeline.attempts import AttemptsFile
from streamreasoner.pipeline.batch import EpochRunner, Parts
from streamreasoner.pipeline.bootstrap.load import Load, check_request, read_sources
from streamreasoner.pipeline.bootstrap.pieces import Pieces
from streamreasoner.pipeline.bootstrap.record import Bootstrap, BootstrapFile, check_finished
from streamreasoner.pipeline.control import write_tick
from streamreasoner.pipeline.evaluator import Evaluator
from streamreasoner.pipeline.failing.last_resort import LastResort
from streamreasoner.pipeline.in_effect import ProgramInEffect, stored_text
from streamreasoner.pipeline.lock import StateLock
from streamreasoner.pipeline.observers import (
    Observers,
    PipelineObserver,
    RejectionLog,
    SizeMonitor,
)
from streamreasoner.pipeline.pressure.limit import BatchLimit, default_max_bytes
from streamreasoner.pipeline.pressure.outage import KafkaWatch, Outage
from streamreasoner.pipeline.problems import Problems
from streamreasoner.pipeline.published import Published
from streamreasoner.pipeline.recent.profile import Profile
from streamreasoner.pipeline.recent.rejections import Rejections
from streamreasoner.pipeline.slots.evaluator import SlotEvaluator
from streamreasoner.pipeline.slots.idle import IdlePartitions
from streamreasoner.pipeline.slots.waiting import Waiting
from streamreasoner.pipeline.slots.watermarks import Watermarks
from streamreasoner.pipeline.ticker import Ticker
from streamreasoner.pipeline.warming import warmup
from streamreasoner.plan.program_plan import InputSources
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.server.http import Exporter
from streamreasoner.server.metrics import PrometheusObserver, Sources
from streamreasoner.server.pages import Pages, Upstream
from streamreasoner.server.supervisor import ServerProcess
from streamreasoner.state import PROGRAMS, TERMS, TRACE, Tables, check_version
from streamreasoner.state.delta.retention import Retention
from streamreasoner.system import disk, jvm
from streamreasoner.system.garbage import loaded_objects_are_kept
from streamreasoner.system.stopping import Stop, StopRequestedError
from streamreasoner.upkeep.program import configured_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from streamreasoner.config import Config
    from streamreasoner.engine.ports import Backend
    from streamreasoner.io.formats.records.record import Schemas
    from streamreasoner.io.kafka.offsets.starting import Wanted
    from streamreasoner.pipeline.bootstrap.record import Request
    from streamreasoner.pipeline.recovery import Resume
    from streamreasoner.plan.program_plan import ProgramPlan
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.state.record import EpochRecord, Offsets

_log = logging.getLogger(__name__)
# How many times `max_batch_bytes` a batch may have, if its messages are longer than those before.
_TOLERANCE = 4
# In memory, the polls of this many partitions take no more than a batch.
_POLLS_IN_MEMORY = 4
_CHANGE_PROGRAM = (
    ' The state has this program; with "json", change it while the pipeline runs: streamreasoner '
    "rules replace FILE --config CONFIG."
)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A started pipeline.

    Attributes:
        reasoner: Its state; owned by the batch thread while the query runs.
        query: Its query; `stop` it, then `wait`.
        position: Input range of the last finished epoch, None before the first.
        outgrown: Whether the query ends because the state is too large for its backend.
    """

    reasoner: Reasoner
    query: Query
    _runner: EpochRunner
    _size_monitor: SizeMonitor | None

    @property
    def position(self) -> Offsets | None:
        """Input range of the last finished epoch, None before the first; thread-safe."""
        return self._runner.position

    @property
    def outgrown(self) -> bool:
        """Whether the query ends because the state is too large for its backend."""
        return self._size_monitor is not None and self._size_monitor.exceeded


@contextmanager
def pipeline(
    config: Config, observer: PipelineObserver | None = None, stop: Stop | None = None
) -> Iterator[Pipeline]:
    """Start a pipeline; on exit, finish the current batch and close.

    Args:
        config: The configuration.
        observer: Notified of every batch, in addition to the metrics.
        stop: Ends the start, or the query once it runs.

    Raises:
        StopRequestedError: The start was ended.
        StreamReasonerError: A step of the start failed, or a batch did.
    """
    stop = Stop() if stop is None else stop
    stop.starting()
    with ExitStack() as stack:
        program, topics, schemas, lock = _checked(config, stack)
        stop.check()
        # Only the server of facts shows what the last epochs did.
        recent = (Profile(), Rejections()) if config.server.facts else None
        metrics = _metrics(config, stack, recent)
        observers = (
            metrics,
            RejectionLog(config.kafka.dead_letter_topic),
            *(recent or ()),
            observer,
        )
        watcher = Observers(*(each for each in observers if each is not None))
        # Starting Spark, restoring the state and compiling kernels each take seconds: run them
        # in parallel.
        place = _place(config)
        may_move = place is BackendKind.COLUMNAR and config.pipeline.backend == "auto"
        if metrics is not None:
            metrics.backend(place.value)
        starting = _start_spark(config, place, lock, stack)
        warming = stack.enter_context(ThreadPoolExecutor(1)).submit(warmup.prepare, program)
        presence, sink, encoder = _output(config, stack, stop.check)
        stop.check()
        tables, checkpoint, in_effect, point = _recover(
            config, program, topics, presence, sink, stack, encoder.layout
        )
        store = (
            _in_spark(config, tables, point, stop.result(starting))
            if place is BackendKind.SPARK
            else _in_memory(tables, point)
        )
        progress = _progress(config, tables, point)
        stop.check()
        reasoner = _restore(config, in_effect, tables, point, store, progress)
        checkpoint, limit = _plan(config, checkpoint, tables, reasoner)
        watcher.program(in_effect.text.hash)
        parts = Parts(
            checkpoint=checkpoint,
            topics=topics,
            schemas=schemas,
            evaluation=(
                _batches(
                    config,
                    reasoner,
                    _evaluator(config, reasoner, in_effect, watcher, schemas, may_move=may_move),
                    tables,
                    checkpoint,
                )
                if progress is None
                else _slots(config, reasoner, in_effect, watcher, schemas, progress)
            ),
            dictionary=reasoner.dictionary,
            tables=tables,
            encoder=encoder,
            sink=sink,
            marker=partial(_marker, config),
            observer=watcher,
            outage=Outage(watcher),
            semantics=config.semantics,
        )
        runner = EpochRunner(parts, point)
        lag = _watch(config, metrics, reasoner, tables, runner, stack)
        if recent is not None:
            recent[0].watch(lag.total)
        stream = read_stream(
            stop.result(starting).spark,
            config.kafka,
            security.java(config.kafka.security),
            config.rules.control_topic,
            limit.messages,
        )
        stop.result(warming)
        monitor = None
        if may_move:
            monitor = _size_monitor(config, reasoner, lambda: query.stop())  # noqa: PLW0108 - assigned below
        ticker = _ticker(config, reasoner, runner, lag, progress)
        query = Query(
            stream,
            runner,
            partial(reread, config.kafka, f"{config.pipeline.app_id}-reread"),
            Observers(watcher, *_told(monitor, ticker, progress)),
            config.pipeline.batch_timeout,
            limit,
        )
        query.start(
            config.pipeline.app_id,
            config.state.checkpoint_directory,
            config.pipeline.trigger_interval,
        )
        stack.callback(query.wait)
        stack.callback(query.stop)
        stack.callback(KafkaWatch(presence.why_silent, parts.outage).stop)
        if ticker is not None:
            ticker.start()
            stack.callback(ticker.stop)
        if metrics is not None:
            metrics.health.ready(is_ready=True)
            stack.callback(metrics.health.ready, is_ready=False)
        stop.running(partial(_end, query, parts.outage))
        _log.info("Reading %s.", ", ".join(_read_topics(config)))
        yield Pipeline(reasoner, query, runner, monitor)


def _end(query: Query, outage: Outage) -> None:
    """End a query after the current batch, or soon if Kafka is away."""
    query.stop()
    outage.end_process()


def run(config: Config, stop: Stop, observer: PipelineObserver | None = None) -> None:
    """Run a pipeline until it is asked to stop; the current batch is finished first.

    A state that outgrows memory moves to Spark.

    Raises:
        StreamReasonerError: The pipeline cannot start, or failed.
    """
    while not stop.requested:
        try:
            outgrown = _run_once(config, stop, observer)
        except StopRequestedError:
            return
        except BatchTooLargeError as error:
            _log.warning("%s", error)
            continue
        except SparkDiedError:
            careful = _careful(config)
            if stop.requested or careful is None or session.submitted():
                raise
            _log.warning(
                "Spark's Java process has died or has no memory left; nothing is lost. "
                "Starting it again, to take at most %s messages of a partition at a time, in "
                "case more did not fit its memory. The next start takes more again.",
                careful.kafka.consumer_options[MAX_POLL_RECORDS],
            )
            config = careful
            continue
        if not outgrown:
            return
        spark = replace(config.pipeline, backend=BackendKind.SPARK.value)
        config = replace(config, pipeline=spark)


def bootstrap(
    config: Config, request: Request, wanted: Wanted, report: Callable[[Bootstrap, int], None]
) -> Bootstrap:
    """Load the facts of files into a new state, or go on with a load that was interrupted.

    A state that outgrows memory moves to Spark.

    Args:
        config: The configuration.
        request: What to load.
        wanted: Where the input begins.
        report: Called after each epoch, with the number of epochs that are done.

    Raises:
        StreamReasonerError: It is refused, or failed; nothing is lost, and it may run again.
    """
    while True:
        try:
            done = _bootstrap_once(config, request, wanted, report)
        except StateFullError as error:
            if config.pipeline.backend != "auto":
                raise
            _log.warning("%s Continuing in Spark.", error)
        else:
            if done.done:
                return done
        spark = replace(config.pipeline, backend=BackendKind.SPARK.value)
        config = replace(config, pipeline=spark)


def _bootstrap_once(
    config: Config, request: Request, wanted: Wanted, report: Callable[[Bootstrap, int], None]
) -> Bootstrap:
    """Load epochs until all are done, or the state is too large for memory."""
    with ExitStack() as stack:
        now = time.time_ns() // 1_000_000
        check_request(request, config, now)
        problems = Problems()
        with problems.kept():
            program = configured_program(config)
        with problems.kept():
            lock = _lock(config, stack)
        with problems.kept():
            topics = _topics(config)
        problems.end_check()
        Published.of(config.output).check(program)
        file, pieces = BootstrapFile(config.state.directory), Pieces(config.state.pieces)
        asked = file.interrupted(request)
        if asked is None:
            recovery.check_new(
                config.state.tables, Checkpoint.read(config.state.checkpoint_directory)
            )
            starts = resolve(config.kafka, config.rules.control_topic, wanted)
            digests, facts = read_sources(request, program, pieces, config.pipeline.max_term_bytes)
            asked = Bootstrap(request, now, starts, digests, facts)
            file.write(asked)
        place = _place(config)
        may_move = place is BackendKind.COLUMNAR and config.pipeline.backend == "auto"
        starting = None
        if place is BackendKind.SPARK:
            session.check_java()
            starting = _start_spark(config, place, lock, stack)
        presence, sink, encoder = _output(config, stack)
        tables, checkpoint, in_effect, point = _recover(
            config, program, topics, presence, sink, stack, encoder.layout
        )
        store = (
            _in_memory(tables, point)
            if starting is None
            else _in_spark(config, tables, point, starting.result())
        )
        reasoner = _restore(config, in_effect, tables, point, store, None)
        schemas, observer = _schemas(config, stack), Observers()
        evaluator = _evaluator(config, reasoner, in_effect, observer, schemas, may_move=may_move)
        parts = Parts(
            checkpoint=checkpoint,
            topics=topics,
            schemas=schemas,
            evaluation=_batches(config, reasoner, evaluator, tables, checkpoint),
            dictionary=reasoner.dictionary,
            tables=tables,
            encoder=encoder,
            sink=sink,
            marker=partial(_marker, config),
            observer=observer,
            outage=Outage(observer),
            semantics=config.semantics,
        )
        planted = PlantedCheckpoint(checkpoint.directory, asked.starts, asked.now)
        if not checkpoint.begun:
            planted.begin()
        load = Load(
            bootstrap=asked,
            pieces=pieces,
            runner=EpochRunner(parts, point),
            evaluator=evaluator,
            planted=planted,
            dictionary=reasoner.dictionary,
            source=asked.request.topic if asked.request.topic in config.semantics else "",
        )
        limit = Limit(config.pipeline.max_state_bytes)
        for epoch in range(point.before, asked.epochs):
            if may_move and limit.exceeded(reasoner.engine.statistics().capacity):
                return asked
            load.run(epoch)
            report(asked, epoch + 1)
        pieces.delete()
        file.write(done := asked.finished())
        return done


def _run_once(config: Config, stop: Stop, observer: PipelineObserver | None) -> bool:
    """Run a pipeline until its query ends; returns whether to continue in Spark."""
    try:
        with pipeline(config, observer, stop) as started, loaded_objects_are_kept():
            started.query.wait()
    except StateFullError as error:
        if config.pipeline.backend != "auto":
            raise
        _log.warning("%s Continuing in Spark.", error)
        return True
    except StreamReasonerError as error:
        # What a start waits for may fail before the start looks whether it is asked to end.
        if not stop.ends_start:
            raise
        _log.info("Ended while starting: %s", error)
        raise StopRequestedError from None
    else:
        return started.outgrown


def _checked(
    config: Config, stack: ExitStack
) -> tuple[CheckedProgram, TopicIds, Schemas, StateLock]:
    """What a start needs, before it takes time: whatever can be refused now is, at once."""
    problems = Problems()
    with problems.kept():
        session.check_java()
    with problems.kept():
        program = configured_program(config)
    with problems.kept():
        lock = _lock(config, stack)
        check_finished(config.state)
    with problems.kept():
        topics = _topics(config)
    with problems.kept():
        schemas = _schemas(config, stack)
    problems.end_check()
    if not (config.state.tables / PROGRAMS).exists():
        Published.of(config.output).check(program)
    return program, topics, schemas, lock


def _lock(config: Config, stack: ExitStack) -> StateLock:
    """The lock on a state of this version."""
    lock = StateLock(config.state.directory)
    stack.callback(lock.close)
    check_version(config.state.tables)
    return lock


def _topics(config: Config) -> TopicIds:
    """The topics, which exist and are set up as they must be."""
    admin, control = admin_client(config.kafka), config.rules.control_topic
    check_topics(admin, config.kafka, control, upsert=config.output.upsert)
    return TopicIds(admin, config.kafka, control, config.state.topics)


def _schemas(config: Config, stack: ExitStack) -> Schemas:
    """The schema registry, which answers, if a topic needs one."""
    if config.formats.isdisjoint(REGISTRY_FORMATS):
        return NO_SCHEMAS
    registry = connect(config.schema_registry, config.state.unusable_schemas)
    stack.callback(registry.close)
    return registry


def _read_topics(config: Config) -> Iterator[str]:
    """Those that the query reads."""
    yield from config.kafka.input_topics
    if config.rules.control_topic is not None:
        yield config.rules.control_topic


def _output(
    config: Config, stack: ExitStack, check_stop: Callable[[], None] = lambda: None
) -> tuple[Presence, Sink, ChangeEncoder]:
    """What shows that this process publishes, what sends the changes, and what writes them."""
    pipeline = config.pipeline
    presence = Presence(config.kafka, pipeline.app_id, config.state.directory, check_stop)
    stack.callback(presence.close)
    # An attempt must end before the batch counts as stuck.
    longest = min(MOST_TRANSACTION_SECONDS, pipeline.batch_timeout / 2)
    sink = Sink(
        config.kafka, pipeline.app_id, pipeline.transaction_timeout, longest, presence.rivals
    )
    stack.callback(sink.close)
    output = config.output
    encoder = ChangeEncoder(of_name(output.format), sink.partitions(), output.upsert)
    return presence, sink, encoder


def _recover(  # noqa: PLR0917 - in the order of use
    config: Config,
    program: CheckedProgram,
    topics: TopicIds,
    presence: Presence,
    sink: Sink,
    stack: ExitStack,
    layout: int | None,
) -> tuple[Tables, Checkpoint, ProgramInEffect, Resume]:
    """Reconcile progress topic, tables and checkpoint.

    All checks run before earlier processes are fenced, so that a refused start does not stop a
    healthy one. The last marker is final only after fencing, so it is read twice. A claim that is
    visible shows that every earlier one is.
    """
    if not config.state.tables.exists():
        disk.write(config.state.app_id, f"{config.pipeline.app_id}\n".encode())
        disk.sync(config.state.directory)
    # A fact of a topic with keys is stored with its key.
    has_keys = bool(_sources(config).keyed)
    tables = Tables.open(
        config.state.tables,
        config.pipeline.app_id,
        text := stored_text(program),
        max(text.arities.values()) + has_keys,
        waiting=config.time.granularity is not None,
        retention=Retention(**asdict(config.retention)),
    )
    stack.callback(tables.close)
    checkpoint = Checkpoint.read(config.state.checkpoint_directory)
    programs = recovery.programs_before(tables, checkpoint)
    recovery.check_semantics(tables.last_record, config.semantics)
    recovery.check_granularity(tables.last_record, config.time.granularity)
    recovery.check_file(tables.programs, programs[-1], program, config.rules.program)
    in_effect = ProgramInEffect.restored(programs, tables.width - has_keys)
    if max(in_effect.known.values()) > in_effect.width:
        raise StateError(
            f"The tables of this state have columns for {tables.width} arguments, and a topic with "
            "the semantics upsert needs one more than the program. Use another semantics for it, "
            "or a new state with another app_id."
        )
    Published.of(config.output).check(in_effect.checked, _CHANGE_PROGRAM)
    topics.resume(begun=checkpoint.begun)
    kafka = config.kafka
    claims = claims_of(kafka, config.pipeline.app_id, topics.id)
    # While another process publishes, its progress is not that of this state.
    presence.check()
    with closing(ProgressTopic(config.kafka, config.pipeline.app_id)) as progress:
        progress.read()
        recovery.check(progress.marker(), tables, checkpoint)
        recovery.check_layout(progress.marker(), layout, kafka.output_topic)
        for key, claim in claims.items():
            check_claims(claim, progress.claims, kafka.progress_topic, key)
            check_changes(kafka, claim, key, new=tables.version() is None)
        sink.start()
        progress.read_all()
        point = recovery.resume(progress.marker(), tables, checkpoint)
        missing = [claim for claim in claims.values() if claim not in progress.claims]
        if missing:
            for claim in missing:
                sink.claim(claim)
            progress.read_all()
        for key, claim in claims.items():
            check_claims(claim, progress.claims, kafka.progress_topic, key)
    topics.record()
    return tables, checkpoint, in_effect, point


def _marker(config: Config) -> EpochRecord | None:
    """The last marker, once no transaction hides it."""
    with closing(ProgressTopic(config.kafka, config.pipeline.app_id)) as progress:
        progress.read_all()
        return progress.marker()


@dataclass(frozen=True, slots=True)
class _Progress:
    """How far event time has come, where epochs are slots of it."""

    watermarks: Watermarks
    waiting: Waiting


def _progress(config: Config, tables: Tables, point: Resume) -> _Progress | None:
    """How far event time had come before the next epoch; None where batches are epochs."""
    time = config.time
    if time.granularity is None:
        return None
    record = tables.record(point.before - 1) if point.before > 0 else None
    watermarks = Watermarks(
        time.granularity,
        time.allowed_lateness,
        time.max_ahead,
        None if record is None else record.slots,
        NO_FRONTIER if record is None or record.frontier is None else record.frontier,
    )
    sources = _sources(config)
    waiting = Waiting(
        config.kafka.input_topics,
        (*sources.sets, *sources.keyed),
        tables.waiting(point.before, watermarks.closed),
    )
    return _Progress(watermarks, waiting)


def _restore(  # noqa: PLR0917 - in the order of use
    config: Config,
    in_effect: ProgramInEffect,
    tables: Tables,
    point: Resume,
    store: Store,
    progress: _Progress | None,
) -> Reasoner:
    """Restore the state before the next epoch, with the program in effect then."""
    reasoner = Reasoner(
        in_effect.checked,
        recursion_limit=config.rules.recursion_limit,
        max_new_terms=config.rules.max_new_terms,
        store=store,
        known=in_effect.known,
        sources=_sources(config),
        known_constraints=in_effect.constraints,
    )
    frontier = None
    if progress is not None:
        frontier = progress.watermarks.closed
    elif point.before > 0 and reasoner.program.expiries:
        frontier = tables.record(point.before - 1).frontier
    reasoner.engine.restore((), point.before, NO_FRONTIER if frontier is None else frontier)
    _log.info("State restored; the next epoch is %d.", point.before)
    return reasoner


def _evaluator(
    config: Config,
    reasoner: Reasoner,
    program: ProgramInEffect,
    observer: PipelineObserver,
    schemas: Schemas,
    *,
    may_move: bool,
) -> Evaluator:
    return Evaluator(
        reasoner,
        program,
        config.rules.control_topic,
        _input_options(config, schemas),
        Published.of(config.output),
        observer,
        lateness=config.time.allowed_lateness,
        may_move=may_move,
    )


def _batches(
    config: Config,
    reasoner: Reasoner,
    evaluator: Evaluator,
    tables: Tables,
    checkpoint: Checkpoint,
) -> LastResort:
    return LastResort(
        evaluator,
        AttemptsFile(config.state.directory / "attempts.json"),
        checkpoint.replayed,
        lambda epoch: tables.has_begun(epoch) or reasoner.engine.holds(epoch),
    )


def _slots(  # noqa: PLR0917 - in the order of use
    config: Config,
    reasoner: Reasoner,
    program: ProgramInEffect,
    observer: PipelineObserver,
    schemas: Schemas,
    progress: _Progress,
) -> SlotEvaluator:
    group = f"{config.pipeline.app_id}-reread"
    return SlotEvaluator(
        reasoner,
        program,
        _input_options(config, schemas),
        Published.of(config.output),
        observer,
        progress.watermarks,
        progress.waiting,
        partial(reread, config.kafka, group, if_there=True),
    )


def _told(
    monitor: SizeMonitor | None, ticker: Ticker | None, progress: _Progress | None
) -> Iterator[PipelineObserver]:
    """What is told of batches beside the watcher; partitions may be idle while there are some."""
    if monitor is not None:
        yield monitor
    if ticker is not None and progress is None:
        yield ticker


def _ticker(
    config: Config,
    reasoner: Reasoner,
    runner: EpochRunner,
    lag: Lag,
    progress: _Progress | None,
) -> Ticker | None:
    """What moves the frontier while there is no input; None if nothing waits for it."""
    topic, idle = config.rules.control_topic, config.time.idle_advance
    if idle == 0:
        return None
    if progress is not None:
        send_to = partial(send_to_partition, config.kafka)
        return Ticker(
            idle / 1000,
            lambda: len(progress.waiting) > 0 or reasoner.engine.awaits_time,
            IdlePartitions(lambda: runner.position, lag, send_to).send,
        )
    engine = reasoner.engine
    if not (reasoner.program.expiries or engine.awaits_facts):
        return None
    if topic is None:
        waiting = "expire" if reasoner.program.expiries else "of the program hold"
        _log.warning(
            "Facts %s only while input arrives, because rules.control_topic is not set. Set it, or "
            "set time.idle_advance to PT0S if that is intended.",
            waiting,
        )
        return None
    send = partial(produce_one, config.kafka, topic)
    return Ticker(
        idle / 1000,
        lambda: engine.awaits_time or engine.awaits_facts,
        lambda time: send(write_tick(time)),
    )


def _input_options(config: Config, schemas: Schemas) -> InputOptions:
    return InputOptions(
        max_message_bytes=config.pipeline.max_message_bytes,
        max_term_bytes=config.pipeline.max_term_bytes,
        default=of_name(config.input.format),
        of_topics={topic: of_name(name) for topic, name in config.input.formats.items()},
        mappings=tuple(config.input.map.values()),
        sources=_sources(config),
        max_ahead=config.time.max_ahead,
        schemas=schemas,
        bases=config.input.bases,
    )


def _sources(config: Config) -> InputSources:
    """The input topics that the state keeps apart."""
    topics = sorted(config.semantics.items())
    return InputSources(
        sets=tuple(topic for topic, semantics in topics if semantics == "set"),
        keyed=tuple(topic for topic, semantics in topics if semantics == "upsert"),
    )


def _plan(
    config: Config, checkpoint: Checkpoint, tables: Tables, reasoner: Reasoner
) -> tuple[Checkpoint, BatchLimit]:
    """The limit of the first batch, and the checkpoint without a batch that does not fit.

    The batch that a crash has left is replayed as it was planned, unless it does not fit memory and
    nothing of it is durable: it may be why the process died.
    """
    pipeline, epoch = config.pipeline, checkpoint.replayed
    limit = BatchLimit.start(
        pipeline.max_offsets_per_trigger,
        _max_batch_bytes(config),
        pipeline.target_batch_time,
        pipeline.max_message_bytes,
    )
    if epoch is None or tables.has_begun(epoch) or reasoner.engine.holds(epoch):
        return checkpoint, limit
    group = f"{pipeline.app_id}-reread"
    most = fitting(config.kafka, group, checkpoint.range(epoch), limit.max_bytes)
    if most is None:
        return checkpoint, limit
    _log.warning(
        "Batch %d, which the last run did not finish, is larger than pipeline.max_batch_bytes. It "
        "is planned anew.",
        epoch,
    )
    return checkpoint.withdraw(), limit.at_most(most)


def _careful(config: Config) -> Config | None:
    """The same, reading so few messages at a time that the longest fit; None if it does already."""
    options, pipeline = config.kafka.consumer_options, config.pipeline
    fit = max(1, _max_batch_bytes(config) // pipeline.max_message_bytes // _POLLS_IN_MEMORY)
    if fit >= int(options.get(MAX_POLL_RECORDS, MOST_POLLED)):
        return None
    options = {**options, MAX_POLL_RECORDS: str(fit)}
    return replace(config, kafka=replace(config.kafka, consumer_options=options))


def _max_batch_bytes(config: Config) -> int:
    return config.pipeline.max_batch_bytes or default_max_bytes()


def _in_memory(tables: Tables, point: Resume) -> Store:
    dictionary = Dictionary()
    # Before the program's constants, so that terms keep the ids of the tables.
    tables.restore_terms(dictionary)
    empty = columnar(dictionary)

    def backend(plan: ProgramPlan) -> Backend:
        restored = empty.backend(plan)
        restored.restore(tables.restore(point.before))
        return restored

    return Store(dictionary, backend)


def _in_spark(
    config: Config, tables: Tables, point: Resume, session: session.RunningSession
) -> Store:
    place = config.spark_state
    tables.verify()
    files.check(session.spark, place)
    files.discard(session.spark, place, config.state.spark_void)
    # The memory that a state in the driver would have had.
    memory = Limit(config.pipeline.max_state_bytes).value
    dictionary = DistributedDictionary(session.spark, f"{place}/terms", memory=memory)
    dictionary.resume(config.state.tables / TERMS)

    def backend(plan: ProgramPlan) -> Backend:
        resumed = SparkBackend(session.spark, place, plan, dictionary, memory=memory)
        resumed.resume(config.state.tables / TRACE, point.before)
        return resumed

    return Store(dictionary, backend)


def _place(config: Config) -> BackendKind:
    """The backend for the state: as configured, or by its size."""
    last = config.state.directory / "backend"
    place = BackendKind.SPARK
    if config.pipeline.backend != place.value:
        place = Limit(config.pipeline.max_state_bytes).choose(
            *Tables.rows(config.state.tables),
            in_spark=last.exists() and last.read_bytes() == place.value.encode(),
            may_move=config.pipeline.backend == "auto",
        )
    last.write_text(place.value)
    return place


def _size_monitor(config: Config, reasoner: Reasoner, stop: Callable[[], None]) -> SizeMonitor:
    """The size monitor of a state that may move to Spark."""
    limit = Limit(config.pipeline.max_state_bytes)
    return SizeMonitor(lambda: limit.exceeded(reasoner.engine.statistics().capacity), stop)


def _settings(config: Config, place: BackendKind) -> dict[str, str]:
    """Spark settings for the location of the state."""
    if place is BackendKind.COLUMNAR:
        # Only batches are collected here: a batch that is far too large fails before it fills the
        # JVM's memory.
        return {session.MOST_COLLECTED: str(_TOLERANCE * _max_batch_bytes(config))}
    remote = not config.spark_state.startswith("file:")
    return {**session.WITH_DELTA, **(session.WITH_REMOTE_FILES if remote else {})}


def _start_spark(
    config: Config, place: BackendKind, lock: StateLock, stack: ExitStack
) -> Future[session.RunningSession]:
    process_group = jvm.ProcessGroup()
    stack.callback(process_group.close)
    starter = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="spark-start"))
    starting = starter.submit(
        session.start,
        config.pipeline.app_id,
        config.state.directory,
        {**_settings(config, place), **config.spark.options},
        lock.descriptor,
        process_group,
    )
    stack.callback(_stop_spark, starting, process_group)
    return starting


def _stop_spark(starting: Future[session.RunningSession], process_group: jvm.ProcessGroup) -> None:
    if not starting.done():
        # The pipeline failed to start, so abort Spark's start.
        process_group.close()
    if starting.exception() is None:
        starting.result().stop()


def _metrics(
    config: Config, stack: ExitStack, recent: tuple[Profile, Rejections] | None
) -> PrometheusObserver | None:
    """Serve metrics from the beginning: restoring a large state takes long."""
    server = config.server
    if server.port == 0:
        return None
    observer = PrometheusObserver(config.pipeline.batch_timeout, config.pipeline.trigger_interval)
    if recent is None:
        stack.enter_context(Exporter(observer, server.host, server.port))
        return observer
    profile, rejections = recent
    pages = Pages({"/profile": profile.document, "/dead-letters": rejections.document})
    own = stack.enter_context(Exporter(observer, port=0, pages=pages))
    upstream = Upstream(own.port, pages.token)
    tables, restarted = config.state.tables, observer.server_restarted
    stack.enter_context(ServerProcess(server, tables, upstream, config.log, restarted))
    return observer


def _watch(  # noqa: PLR0917 - what is watched, and where
    config: Config,
    metrics: PrometheusObserver | None,
    reasoner: Reasoner,
    tables: Tables,
    runner: EpochRunner,
    stack: ExitStack,
) -> Lag:
    """Show sizes and lag in the metrics, if there are any; returns what counts the latter."""
    lag = Lag(config.kafka, config.pipeline.app_id, lambda: runner.position)
    stack.callback(lag.close)
    if metrics is not None:
        metrics.watch(
            Sources(
                state=reasoner.engine.statistics,
                terms=reasoner.dictionary,
                storage=tables.statistics,
                lag=lag,
            )
        )
    return lag
