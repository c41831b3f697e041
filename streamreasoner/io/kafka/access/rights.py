"""The rights that each role needs on a cluster with access control, and no others.

Invariant: a role works with exactly these rights, and is refused by name without any of them.

Describe is implied by Read, Write and Delete. Spark's client needs no right on its groups, as it
commits nothing; librdkafka asks for the coordinator of a group in any case.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from streamreasoner.config.kafka import PUBLISHED, TopicKey, own_topics, topic_keys, topics_of
from streamreasoner.errors import BrokerError, ConfigError
from streamreasoner.io.kafka.access.roles import Role
from streamreasoner.io.kafka.access.topic_needs import NEEDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from streamreasoner.config import Config
    from streamreasoner.config.kafka import KafkaConfig

READ, WRITE, CREATE, DELETE, DESCRIBE = "Read", "Write", "Create", "Delete", "Describe"
DESCRIBE_CONFIGS = "DescribeConfigs"


class Resource(StrEnum):
    """What a right is on, as `kafka-acls.sh` calls it."""

    TOPIC = "topic"
    GROUP = "group"
    TRANSACTIONAL_ID = "transactional-id"


@dataclass(frozen=True, slots=True)
class Right:
    """One operation on one resource.

    Attributes:
        operation: As `kafka-acls.sh` calls it.
        resource: The kind of resource.
        name: Its name; of a group, what the names begin with.
    """

    operation: str
    resource: Resource
    name: str

    @property
    def prefixed(self) -> bool:
        """Whether it is a right on every resource whose name begins like this."""
        return self.resource is Resource.GROUP

    def __str__(self) -> str:
        """The right in words."""
        which = f"{self.resource}s that begin with" if self.prefixed else f"the {self.resource}"
        return f"{self.operation} on {which} {self.name}"

    def arguments(self) -> list[str]:
        """The words of `kafka-acls.sh` that stand for it."""
        pattern = ["--resource-pattern-type", "prefixed"] if self.prefixed else []
        return ["--operation", self.operation, *pattern, f"--{self.resource}", self.name]


def on_topic(operation: str, name: str) -> Right:
    """A right on a topic."""
    return Right(operation, Resource.TOPIC, name)


def on_groups(app_id: str) -> Right:
    """The right on the groups of a pipeline."""
    return Right(READ, Resource.GROUP, f"{app_id}-")


def on_transactions(app_id: str) -> Right:
    """The right to the transactions of a pipeline."""
    return Right(WRITE, Resource.TRANSACTIONAL_ID, app_id)


def of_pipeline(kafka: KafkaConfig, control_topic: str | None) -> Iterator[Right]:
    """The rights of a pipeline on its topics."""
    topics = topic_keys(kafka, control_topic)
    for topic, key in sorted(topics, key=lambda each: NEEDS[each[1]].written):
        needs = NEEDS[key]
        if needs.read:
            yield on_topic(READ, topic)
        if needs.written:
            yield on_topic(WRITE, topic)
        if needs.compacted is not None:
            yield on_topic(DESCRIBE_CONFIGS, topic)


def of_role(config: Config, role: Role) -> tuple[Right, ...]:
    """The rights of a role.

    Raises:
        ConfigError: There is no control topic for the commands `rules`.
    """
    kafka, control_topic = config.kafka, config.rules.control_topic
    found: Iterable[Right]
    match role:
        case Role.RUN:
            app_id = config.pipeline.app_id
            topics = [*of_pipeline(kafka, control_topic)]
            if config.time.granularity is not None and config.time.idle_advance > 0:
                topics += (on_topic(WRITE, topic) for topic in kafka.input_topics)
            found = (*topics, on_groups(app_id), on_transactions(app_id))
        case Role.PRODUCE:
            found = (on_topic(WRITE, topic) for topic in kafka.input_topics)
        case Role.CONSUME:
            found = (on_topic(READ, kafka.output_topic),)
        case Role.RULES:
            if control_topic is None:
                raise ConfigError(
                    "rules.control_topic is not set, so the program cannot be changed, and the "
                    "role rules needs no right."
                )
            read = topics_of(kafka, TopicKey.DEAD_LETTER, TopicKey.PROGRESS)
            found = on_topic(WRITE, control_topic), *(on_topic(READ, topic) for topic in read)
        case Role.TOPICS:
            names = [name for name, _ in topic_keys(kafka, control_topic)]
            found = (on_topic(each, name) for name in names for each in (CREATE, DESCRIBE))
        case Role.SNAPSHOT:
            read = topics_of(kafka, TopicKey.OUTPUT, TopicKey.PROGRESS)
            found = (on_topic(READ, topic) for topic in read)
        case Role.RESET:
            found = _of_reset(config)
    return tuple(found)


def _of_reset(config: Config) -> Iterator[Right]:
    kafka = config.kafka
    for topic in own_topics(kafka, config.rules.control_topic):
        yield on_topic(DELETE, topic)
    for topic in topics_of(kafka, *PUBLISHED):
        yield on_topic(CREATE, topic)
        yield on_topic(DESCRIBE_CONFIGS, topic)
    yield on_topic(READ, kafka.progress_topic)
    yield on_topic(WRITE, kafka.progress_topic)
    yield on_groups(config.pipeline.app_id)


def commands(config: Config, role: Role, principal: str, settings: str) -> Iterator[str]:
    """The command lines that grant the rights of a role.

    Args:
        config: Cluster, topics and application id.
        role: The role.
        principal: Such as `User:reasoner`.
        settings: File with the options of a client that may change ACLs.
    """
    start = ["kafka-acls.sh", "--bootstrap-server", config.kafka.bootstrap_servers]
    start += ["--command-config", settings, "--add", "--allow-principal", principal]
    for right in of_role(config, role):
        yield shlex.join([*start, *right.arguments()])


def denied(kafka: KafkaConfig, rights: Iterable[Right], role: Role) -> BrokerError:
    """The error for rights that a user lacks.

    Args:
        kafka: The cluster.
        rights: What is missing, or what may be.
        role: The role that needs them.
    """
    return BrokerError(
        f"Kafka at {kafka.bootstrap_servers} denies this user what it needs: "
        f"{'; '.join(map(str, rights))}. `streamreasoner topics acls {role} --config FILE` prints "
        "the commands that grant it."
    )
