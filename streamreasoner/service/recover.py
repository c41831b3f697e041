"""Recovers the state of a pipeline. Invariant: a start that is refused stops no other process."""

from __future__ import annotations

import logging
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from streamreasoner.backends.choice import BackendKind
from streamreasoner.backends.store import divided_elsewhere, in_memory, restored
from streamreasoner.engine.input.registers import NO_FRONTIER
from streamreasoner.engine.session import Session, Store
from streamreasoner.errors import StateError
from streamreasoner.io.codec.encode import ChangeEncoder
from streamreasoner.io.formats.registry import of_name
from streamreasoner.io.kafka.owners.claims import check_changes, check_claims, claims_of
from streamreasoner.io.kafka.owners.presence import Presence
from streamreasoner.io.kafka.progress_topic import ProgressTopic
from streamreasoner.io.kafka.sink import MOST_TRANSACTION_SECONDS, Sink
from streamreasoner.io.spark.offsets import Checkpoint
from streamreasoner.pipeline import recovery
from streamreasoner.pipeline.published import Published
from streamreasoner.pipeline.slots.waiting import Waiting
from streamreasoner.pipeline.slots.watermarks import Watermarks
from streamreasoner.program.hierarchies import encodes
from streamreasoner.service.options import sources
from streamreasoner.service.size import cores
from streamreasoner.service.spark.executors import gather
from streamreasoner.state import Tables
from streamreasoner.state.delta.retention import Retention
from streamreasoner.state.in_effect import ProgramInEffect, stored_text
from streamreasoner.system import disk

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from streamreasoner.config import Config
    from streamreasoner.io.spark.session import RunningSession
    from streamreasoner.pipeline.recovery import Resume
    from streamreasoner.rdf.dictionary import Dictionary
    from streamreasoner.service.checks import Checked
    from streamreasoner.state.record import EpochRecord, TableRecord

_log = logging.getLogger(__name__)
_CHANGE_PROGRAM = (
    ' The state has this program; with "json", change it while the pipeline runs: streamreasoner '
    "rules replace FILE --config CONFIG."
)


@dataclass(frozen=True, slots=True)
class Output:
    """What a pipeline publishes with.

    Attributes:
        presence: Shows that this process publishes.
        sink: Sends the changes.
        encoder: Writes them.
    """

    presence: Presence
    sink: Sink
    encoder: ChangeEncoder


@dataclass(frozen=True, slots=True)
class Recovered:
    """Where a pipeline goes on.

    Attributes:
        tables: Its tables.
        checkpoint: Spark's checkpoint.
        in_effect: The program before the next epoch.
        point: Where to resume.
    """

    tables: Tables
    checkpoint: Checkpoint
    in_effect: ProgramInEffect
    point: Resume


@dataclass(frozen=True, slots=True)
class Progress:
    """How far event time has come, where epochs are slots of it.

    Attributes:
        watermarks: Up to where topics are complete.
        waiting: Updates that wait for their slots.
    """

    watermarks: Watermarks
    waiting: Waiting


def open_output(
    config: Config, stack: ExitStack, check_stop: Callable[[], None] = lambda: None
) -> Output:
    """Open what a pipeline publishes with; no other process is fenced yet."""
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
    holds = output.contents if output.upsert else None
    encoder = ChangeEncoder(of_name(output.format), sink.partitions(), holds)
    return Output(presence, sink, encoder)


def recover(
    config: Config,
    checked: Checked,
    output: Output,
    stack: ExitStack,
    *,
    is_behind: bool = False,
) -> Recovered:
    """Reconcile progress topic, tables and checkpoint.

    Args:
        config: The configuration.
        checked: What the checks of the start have opened.
        output: What the pipeline publishes with.
        stack: Closes what is opened.
        is_behind: Whether epochs may have been published that the state does not have.

    Raises:
        StateError: They disagree; says how, with the remedy.
    """
    if not config.state.tables.exists():
        disk.write(config.state.app_id, f"{config.pipeline.app_id}\n".encode())
        disk.sync(config.state.directory)
    for path in disk.delete(config.state.former_copies):
        _log.info('Deleted %s, the copy of the state of the former backend "spark".', path)
    # A fact of a topic with keys is stored with its key.
    has_keys = bool(sources(config).keyed)
    tables = Tables.open(
        config.state.tables,
        config.pipeline.app_id,
        text := stored_text(checked.program),
        max(text.arities.values()) + has_keys,
        waiting=config.time.granularity is not None,
        retention=Retention(**asdict(config.retention)),
    )
    stack.callback(tables.close)
    checkpoint = Checkpoint.read(config.state.checkpoint_directory)
    programs = recovery.programs_before(tables, checkpoint)
    recovery.check_semantics(tables.last_record, config.semantics)
    recovery.check_granularity(tables.last_record, config.time.granularity)
    recovery.check_file(tables.programs, programs[-1], checked.program, config.rules.program)
    in_effect = ProgramInEffect.restored(programs, tables.width - has_keys)
    if max(in_effect.known.values()) > in_effect.width:
        raise StateError(
            f"The tables of this state have columns for {tables.width} arguments, and a topic with "
            "the semantics upsert needs one more than the program. Use another semantics for it, "
            "or a new state with another app_id."
        )
    Published.of(config.output).check(in_effect.checked, _CHANGE_PROGRAM)
    checked.topics.resume(begun=checkpoint.begun)
    point = _reconcile(config, checked, output, tables, checkpoint, is_behind=is_behind)
    checked.topics.record()
    return Recovered(tables, checkpoint, in_effect, point)


def _reconcile(
    config: Config,
    checked: Checked,
    output: Output,
    tables: Tables,
    checkpoint: Checkpoint,
    *,
    is_behind: bool,
) -> Resume:
    """Compare with what was published, and fence earlier processes.

    All checks run before earlier processes are fenced, so that a refused start does not stop a
    healthy one. The last marker is final only after fencing, so it is read twice. A claim that is
    visible shows that every earlier one is.
    """
    kafka = config.kafka
    claims = claims_of(kafka, config.pipeline.app_id, checked.topics.id)
    # While another process publishes, its progress is not that of this state.
    output.presence.check()
    with closing(ProgressTopic(kafka, config.pipeline.app_id)) as progress:
        progress.read()
        resume_at = recovery.resume_behind if is_behind else recovery.resume
        if not is_behind:
            recovery.check(progress.marker(), tables, checkpoint)
        recovery.check_layout(progress.marker(), output.encoder.layout, kafka.output_topic)
        recovery.check_contents(progress.marker(), output.encoder.holds, kafka.output_topic)
        for key, claim in claims.items():
            check_claims(claim, progress.claims, kafka.progress_topic, key)
            check_changes(kafka, claim, key, new=tables.version() is None)
        # Before the broker's fence: what an earlier process has published is then in the store.
        checked.upload.claim()
        output.sink.start()
        progress.read_all()
        point = resume_at(progress.marker(), tables, checkpoint)
        missing = [claim for claim in claims.values() if claim not in progress.claims]
        if missing:
            for claim in missing:
                output.sink.claim(claim)
            progress.read_all()
        for key, claim in claims.items():
            check_claims(claim, progress.claims, kafka.progress_topic, key)
    return point


def last_marker(config: Config) -> EpochRecord | None:
    """The last marker, once no transaction hides it."""
    with closing(ProgressTopic(config.kafka, config.pipeline.app_id)) as progress:
        progress.read_all()
        return progress.marker()


def progress_before(config: Config, recovered: Recovered) -> Progress | None:
    """How far event time had come before the next epoch; None where batches are epochs."""
    time, tables, point = config.time, recovered.tables, recovered.point
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
    apart = sources(config)
    waiting = Waiting(
        config.kafka.input_topics,
        (*apart.sets, *apart.keyed),
        tables.waiting(point.before, watermarks.closed),
    )
    return Progress(watermarks, waiting)


def restore(
    config: Config, recovered: Recovered, store: Store, progress: Progress | None
) -> Session:
    """Restore the state before the next epoch, with the program in effect then."""
    before = recovered.point.before
    last = recovered.tables.record(before - 1) if before > 0 else None
    session = session_of(config, recovered.in_effect, store, last)
    resume(recovered, session, progress)
    return session


def session_of(
    config: Config, in_effect: ProgramInEffect, store: Store, last: TableRecord | None
) -> Session:
    """The session of a program, with what a store holds.

    Args:
        config: The configuration.
        in_effect: The program.
        store: The store.
        last: The record of the last epoch that it holds; None: there is none.
    """
    return Session(
        in_effect.checked,
        store,
        recursion_limit=config.rules.recursion_limit,
        max_new_terms=config.rules.max_new_terms,
        known=in_effect.known,
        sources=sources(config),
        known_constraints=in_effect.constraints,
        encodes=encodes(config.rules.hierarchies, before=last is not None and last.encoded),
    )


def resume(recovered: Recovered, session: Session, progress: Progress | None) -> None:
    """Go on with a session that has the epochs before the next one."""
    before, frontier = recovered.point.before, None
    if progress is not None:
        frontier = progress.watermarks.closed
    elif before > 0 and session.program.expiries:
        frontier = recovered.tables.record(before - 1).frontier
    session.resume_before(before, frontier)
    _log.info("State restored; the next epoch is %d.", before)


def store_at(
    place: BackendKind,
    config: Config,
    recovered: Recovered,
    running: Callable[[], RunningSession],
    stack: ExitStack,
) -> Store:
    """The store of a state, with what its tables have.

    Args:
        place: Where it is.
        config: The configuration.
        recovered: Its tables.
        running: Waits for Spark, whose executors may have the state.
        stack: Ends what it has started.
    """

    def empty(dictionary: Dictionary) -> Store:
        if place is BackendKind.COLUMNAR:
            return in_memory(cores(config), dictionary)
        team = gather(running(), config.pipeline.parts, dictionary, stack)
        return divided_elsewhere(team, dictionary)

    return restored(recovered.tables, recovered.point.before, empty=empty)
