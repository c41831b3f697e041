"""Composition root: a configuration becomes a running pipeline.

Invariant: what a start opened is closed in reverse order, whichever step of it failed.
"""

from __future__ import annotations

import logging
import signal
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner import jvm, warmup
from streamreasoner.analysis.load import load_program
from streamreasoner.backends.spark import files
from streamreasoner.backends.spark.backend import SparkBackend
from streamreasoner.metrics.exporter import Exporter
from streamreasoner.metrics.observer import PrometheusObserver, Sources
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.reasoner import Reasoner, columnar
from streamreasoner.storage import TRACE, Tables
from streamreasoner.streaming import session
from streamreasoner.streaming.batch import EpochRunner, Parts
from streamreasoner.streaming.clients import check_topics
from streamreasoner.streaming.evaluate import Evaluator
from streamreasoner.streaming.lag import Lag
from streamreasoner.streaming.lock import StateLock
from streamreasoner.streaming.offsets import Checkpoint
from streamreasoner.streaming.ports import Observers
from streamreasoner.streaming.program import ProgramInEffect, stored_text
from streamreasoner.streaming.query import Query
from streamreasoner.streaming.recovery import check_file, resume
from streamreasoner.streaming.sink import Sink
from streamreasoner.streaming.source import read_stream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from streamreasoner.analysis.check import CheckedProgram
    from streamreasoner.config import Config
    from streamreasoner.engine.ports import Backend
    from streamreasoner.plan.algebra import ProgramPlan
    from streamreasoner.streaming.ports import PipelineObserver
    from streamreasoner.streaming.recovery import Resume

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A started pipeline.

    Attributes:
        reasoner: Its state; belongs to the thread of the batches while the query runs.
        query: Its query; `stop` it, then `wait`.
    """

    reasoner: Reasoner
    query: Query


@contextmanager
def pipeline(config: Config, observer: PipelineObserver | None = None) -> Iterator[Pipeline]:
    """Start a pipeline; at the end it finishes the batch that runs, and closes.

    Args:
        config: The configuration.
        observer: Told about every batch, besides the metrics.

    Raises:
        StreamReasonerError: A step of the start failed, or a batch did.
    """
    with ExitStack() as stack:
        metrics = _metrics(config, stack)
        watcher = Observers(*(one for one in (metrics, observer) if one is not None))
        session.check_java()
        program = load_program(config.rules.program)
        check_topics(config.kafka, config.rules.control_topic)
        lock = StateLock(config.state.directory)
        stack.callback(lock.close)
        # Spark takes seconds to start, so may the state, and kernels that are not compiled yet:
        # they come up side by side.
        starting = _start_spark(config, lock, stack)
        warming = stack.enter_context(ThreadPoolExecutor(1)).submit(warmup.prepare, program)
        sink = Sink(config.kafka, config.pipeline.app_id, config.pipeline.transaction_timeout)
        stack.callback(sink.close)
        tables, checkpoint, point = _recover(config, program, sink, stack)
        reasoner, in_effect = _restore(config, tables, point, starting)
        watcher.program(in_effect.text.hash)
        parts = Parts(
            checkpoint=checkpoint,
            evaluator=Evaluator(
                reasoner,
                in_effect,
                config.rules.control_topic,
                config.pipeline.max_message_bytes,
                config.output.include == "all",
                watcher,
            ),
            dictionary=reasoner.dictionary,
            tables=tables,
            sink=sink,
            observer=watcher,
        )
        runner = EpochRunner(parts, point)
        if metrics is not None:
            lag = Lag(config.kafka, config.pipeline.app_id, lambda: runner.position)
            _watch(metrics, reasoner, tables, lag, stack)
        stream = read_stream(
            starting.result().spark,
            config.kafka,
            config.rules.control_topic,
            config.pipeline.max_offsets_per_trigger,
        )
        warming.result()
        query = Query(stream, runner, watcher, config.pipeline.batch_timeout)
        query.start(
            config.pipeline.app_id,
            config.state.checkpoint_directory,
            config.pipeline.trigger_interval,
        )
        stack.callback(query.wait)
        stack.callback(query.stop)
        if metrics is not None:
            metrics.health.ready(is_ready=True)
            stack.callback(metrics.health.ready, is_ready=False)
        control = [config.rules.control_topic] if config.rules.control_topic else []
        _log.info("Reading %s.", ", ".join([*config.kafka.input_topics, *control]))
        yield Pipeline(reasoner, query)


def run(config: Config, observer: PipelineObserver | None = None) -> None:
    """Run a pipeline until SIGTERM or SIGINT; the batch that runs then is finished.

    Raises:
        StreamReasonerError: The pipeline cannot start, or failed.
    """
    running: list[Query] = []

    def stop(number: int, _: FrameType | None) -> None:
        _log.info("Stopping on %s.", signal.Signals(number).name)
        if not running:
            # Still starting: nothing is in flight, so leave by unwinding what is open.
            raise SystemExit(0)
        running[0].stop()

    previous = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with pipeline(config, observer) as started:
            running.append(started.query)
            started.query.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _recover(
    config: Config, program: CheckedProgram, sink: Sink, stack: ExitStack
) -> tuple[Tables, Checkpoint, Resume]:
    """Fence earlier processes, then reconcile progress topic, tables and checkpoint."""
    marker = sink.start()
    tables = Tables.open(
        config.state.tables,
        config.pipeline.app_id,
        text := stored_text(program),
        max(text.arities.values()),
    )
    stack.callback(tables.close)
    checkpoint = Checkpoint.read(config.state.checkpoint_directory)
    point = resume(marker, tables, checkpoint)
    check_file(tables.programs, point.programs[-1], text.hash, config.rules.program)
    return tables, checkpoint, point


def _restore(
    config: Config, tables: Tables, point: Resume, starting: Future[session.Session]
) -> tuple[Reasoner, ProgramInEffect]:
    """Take up the state of the epochs before the next one, with the program in effect then."""
    in_effect = ProgramInEffect.restored(point.programs, tables.width)
    # Terms come before the constants of the program: their ids are those of the tables.
    dictionary = Dictionary()
    tables.restore_terms(dictionary)

    def backend(plan: ProgramPlan, dictionary: Dictionary) -> Backend:
        if not _on_spark(config):
            return columnar(plan, dictionary)
        spark = starting.result().spark
        files.check(spark, config.spark_state)
        found = SparkBackend(spark, config.spark_state, plan, dictionary)
        found.resume(config.state.tables / TRACE, point.before)
        return found

    reasoner = Reasoner(
        in_effect.checked,
        recursion_limit=config.rules.recursion_limit,
        dictionary=dictionary,
        known=in_effect.known,
        backend=backend,
    )
    rows = () if _on_spark(config) else tables.restore(point.before)
    reasoner.engine.restore(rows, point.before)
    _log.info("State restored; the next epoch is %d.", point.before)
    return reasoner, in_effect


def _on_spark(config: Config) -> bool:
    return config.pipeline.backend == "spark"


def _settings(config: Config) -> dict[str, str]:
    remote = not config.spark_state.startswith("file:")
    return {**session.WITH_DELTA, **(session.WITH_REMOTE_FILES if remote else {})}


def _start_spark(config: Config, lock: StateLock, stack: ExitStack) -> Future[session.Session]:
    kin = jvm.Kin()
    stack.callback(kin.close)
    starter = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="spark-start"))
    starting = starter.submit(
        session.start,
        config.pipeline.app_id,
        config.state.directory,
        {**(_settings(config) if _on_spark(config) else {}), **config.spark.options},
        lock.descriptor,
        kin,
    )
    stack.callback(_stop_spark, starting, kin)
    return starting


def _stop_spark(starting: Future[session.Session], kin: jvm.Kin) -> None:
    if not starting.done():
        # The start was refused meanwhile; nobody waits for a Spark that has nothing to do.
        kin.close()
    elif starting.exception() is None:
        starting.result().stop()


def _metrics(config: Config, stack: ExitStack) -> PrometheusObserver | None:
    """Serve metrics from the first moment on: a start that restores a large state takes long."""
    if config.metrics.port == 0:
        return None
    observer = PrometheusObserver(config.pipeline.batch_timeout)
    stack.enter_context(Exporter(observer, config.metrics.host, config.metrics.port))
    return observer


def _watch(
    metrics: PrometheusObserver, reasoner: Reasoner, tables: Tables, lag: Lag, stack: ExitStack
) -> None:
    stack.callback(lag.close)
    metrics.watch(
        Sources(
            state=reasoner.engine.statistics,
            terms=reasoner.dictionary,
            storage=tables.statistics,
            lag=lag,
        )
    )
