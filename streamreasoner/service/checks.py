"""What a start needs before it takes time. Invariant: all that can be refused now is, at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from streamreasoner.format_names import REGISTRY_FORMATS
from streamreasoner.io.formats.records.record import NO_SCHEMAS
from streamreasoner.io.formats.schemas.connect import connect
from streamreasoner.io.kafka.topic_checks import admin_client, check_topics
from streamreasoner.io.kafka.topic_ids import TopicIds
from streamreasoner.io.spark import session as spark_session
from streamreasoner.pipeline.bootstrap.record import check_finished
from streamreasoner.pipeline.published import Published
from streamreasoner.state import PROGRAMS, check_version
from streamreasoner.state.lock import StateLock
from streamreasoner.state.objects.held import upload_of
from streamreasoner.upkeep.offline import Problems, configured_program

if TYPE_CHECKING:
    from contextlib import ExitStack

    from streamreasoner.config import Config
    from streamreasoner.io.formats.records.record import Schemas
    from streamreasoner.io.spark.existing import ExistingSession
    from streamreasoner.program.checked import CheckedProgram
    from streamreasoner.state.objects.mirror import Upload


@dataclass(frozen=True, slots=True)
class Checked:
    """What the checks of a start have opened.

    Attributes:
        program: The configured program, which the mappings of rows fit.
        lock: The lock on a state of this version.
        upload: Makes the state durable in an object store, if there is one.
        topics: The topics, which exist and are set up as they must be.
        schemas: The schema registry, which answers, if a topic needs one.
    """

    program: CheckedProgram
    lock: StateLock
    upload: Upload
    topics: TopicIds
    schemas: Schemas


def check_start(
    config: Config,
    stack: ExitStack,
    *,
    loading: bool = False,
    standby: bool = False,
    existing: ExistingSession | None = None,
) -> Checked:
    """Check what a start needs, and open it.

    Args:
        config: The configuration.
        stack: Closes what is opened.
        loading: Whether a first load begins, which may not need Java.
        standby: Whether another process may have the state; the lock is not held then.
        existing: The session that someone else made.

    Raises:
        StreamReasonerError: Something is refused; the message has all problems.
    """
    problems = Problems()
    with problems.kept():
        if existing is not None:
            existing.check()
        elif not loading:
            spark_session.check_java()
    with problems.kept():
        program = configured_program(config)
    with problems.kept():
        lock = StateLock(config.state.directory, required=not standby)
        stack.callback(lock.close)
        upload = upload_of(config.state)
        stack.push(partial(_end, upload))
        if lock.held:
            upload.fill()
        check_state(config, loading=loading)
    with problems.kept():
        topics = _topics(config)
    with problems.kept():
        schemas = _schemas(config, stack)
    problems.end_check()
    if loading or not (config.state.tables / PROGRAMS).exists():
        Published.of(config.output).check(program)
    return Checked(program, lock, upload, topics, schemas)


def _end(upload: Upload, failed: type[BaseException] | None, *_: object) -> None:
    """Upload what a pipeline has left that ended as it was asked to."""
    if failed is None:
        upload.end()
    else:
        upload.abandon()


def check_state(config: Config, *, loading: bool = False) -> None:
    """Refuse a state of another version, and one that has yet to be loaded.

    Raises:
        StateError: Says what to do.
    """
    check_version(config.state.tables)
    if not loading:
        check_finished(config.state)


def _topics(config: Config) -> TopicIds:
    admin, control = admin_client(config.kafka), config.rules.control_topic
    check_topics(admin, config.kafka, control, upsert=config.output.upsert)
    return TopicIds(admin, config.kafka, control, config.state.topics)


def _schemas(config: Config, stack: ExitStack) -> Schemas:
    if config.formats.isdisjoint(REGISTRY_FORMATS):
        return NO_SCHEMAS
    registry = connect(config.schema_registry, config.state.unusable_schemas)
    stack.callback(registry.close)
    return registry
