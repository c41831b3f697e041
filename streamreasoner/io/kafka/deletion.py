"""Topics that are deleted, or created again as they were.

Invariant: what other applications have written to the progress topic stays.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException, Producer, TopicCollection
from confluent_kafka.admin import ConfigResource, ConfigSource, NewTopic, ResourceType

from streamreasoner.errors import BrokerError
from streamreasoner.io.kafka.access.rights import (
    CREATE,
    DELETE,
    DESCRIBE_CONFIGS,
    WRITE,
    on_topic,
)
from streamreasoner.io.kafka.access.roles import Role
from streamreasoner.io.kafka.clients import (
    ANSWER_SECONDS,
    librdkafka,
    refused_right,
    unreachable,
)
from streamreasoner.io.kafka.progress_topic import ProgressTopic
from streamreasoner.io.kafka.topic_checks import admin_client, description

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from confluent_kafka.admin import AdminClient

    from streamreasoner.config.kafka import KafkaConfig
    from streamreasoner.io.kafka.access.rights import Right

# Brokers know later than the controller what has become of a topic.
_KNOWN_SECONDS = 60.0
_POLL_SECONDS = 0.1


def existing(kafka: KafkaConfig, names: Iterable[str]) -> list[str]:
    """Those of some topics that exist.

    Raises:
        BrokerError: Kafka does not answer or refuses.
    """
    admin, names = admin_client(kafka), list(names)
    answers = admin.describe_topics(TopicCollection(names), request_timeout=ANSWER_SECONDS)
    return [name for name in names if description(kafka, name, answers[name], Role.RESET)]


def check_unshared(kafka: KafkaConfig, app_id: str) -> None:
    """Refuse to delete a progress topic with records of other applications.

    Raises:
        BrokerError: There are some, or Kafka does not answer.
    """
    with closing(ProgressTopic(kafka, app_id)) as progress:
        progress.read()
    if others := sorted(progress.keys().keys() - {app_id}):
        raise BrokerError(
            f"The topic {kafka.progress_topic} (kafka.progress_topic) also has the records of "
            f"{', '.join(others)} (pipeline.app_id), without which a start is refused. Name the "
            "topics to delete, without this one."
        )


def delete(kafka: KafkaConfig, names: Iterable[str]) -> Iterator[str]:
    """Delete topics, which exist; yields each when it is deleted.

    Raises:
        BrokerError: Kafka does not answer or refuses.
    """
    admin = admin_client(kafka)
    for name in names:
        _delete(kafka, admin, name)
        yield name


def empty(kafka: KafkaConfig, names: Iterable[str]) -> Iterator[str]:
    """Delete topics, which exist, and create them with the same partitions, copies and settings.

    Yields each when it is there again.

    Raises:
        BrokerError: Kafka does not answer or refuses.
    """
    admin = admin_client(kafka)
    for name in names:
        topic = _as_it_is(kafka, admin, name)
        _delete(kafka, admin, name)
        _create(kafka, admin, topic)
        yield name


def forget(kafka: KafkaConfig, app_id: str) -> None:
    """Delete the records of an application from the progress topic, which exists.

    Raises:
        BrokerError: Kafka does not answer or refuses.
    """
    with closing(ProgressTopic(kafka, app_id)) as progress:
        progress.read_all()
    errors: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is not None:
            errors.append(error)

    settings = librdkafka(kafka, delivery_timeout_ms=int(ANSWER_SECONDS * 1000))
    producer = Producer(settings)
    for key in progress.keys().get(app_id, ()):
        producer.produce(kafka.progress_topic, key=key, on_delivery=delivered)
    producer.flush()
    if errors:
        raise _refused(kafka, errors[0], on_topic(WRITE, kafka.progress_topic))


def _as_it_is(kafka: KafkaConfig, admin: AdminClient, name: str) -> NewTopic:
    """A topic with the partitions, the copies and the own settings of an existing one."""
    resource = ConfigResource(ResourceType.TOPIC, name)
    try:
        topics = admin.describe_topics(TopicCollection([name]), request_timeout=ANSWER_SECONDS)
        partitions = topics[name].result().partitions
        answer = admin.describe_configs([resource], request_timeout=ANSWER_SECONDS)
        settings = answer[resource].result()
    except KafkaException as error:
        rights = (on_topic(DELETE, name), on_topic(DESCRIBE_CONFIGS, name))
        raise _refused(kafka, error.args[0], *rights) from None
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return NewTopic(
        name,
        num_partitions=len(partitions),
        replication_factor=len(partitions[0].replicas),
        config={key: entry.value for key, entry in settings.items() if entry.source == own},
    )


def _delete(kafka: KafkaConfig, admin: AdminClient, name: str) -> None:
    try:
        admin.delete_topics([name], request_timeout=ANSWER_SECONDS)[name].result()
    except KafkaException as error:
        cause = error.args[0]
        if cause.code() == KafkaError.TOPIC_DELETION_DISABLED:
            raise BrokerError(
                f"Kafka at {kafka.bootstrap_servers} does not delete topics. Set "
                "delete.topic.enable=true on its brokers."
            ) from None
        raise _refused(kafka, cause, on_topic(DELETE, name)) from None
    _wait(kafka, admin, name, there=False)


def _wait(kafka: KafkaConfig, admin: AdminClient, name: str, *, there: bool) -> None:
    """Wait until the brokers know what the controller has done.

    Raises:
        BrokerError: They do not know it in time.
    """
    deadline = time.monotonic() + _KNOWN_SECONDS
    while True:
        answers = admin.describe_topics(TopicCollection([name]), request_timeout=ANSWER_SECONDS)
        if (description(kafka, name, answers[name], Role.RESET) is not None) == there:
            return
        if time.monotonic() > deadline:
            done = "created" if there else "deleted"
            raise BrokerError(
                f"Kafka at {kafka.bootstrap_servers} has {done} the topic {name}, but its brokers "
                f"do not know it after {_KNOWN_SECONDS:g} s. Repeat the command later."
            )
        time.sleep(_POLL_SECONDS)


def _create(kafka: KafkaConfig, admin: AdminClient, topic: NewTopic) -> None:
    deadline = time.monotonic() + _KNOWN_SECONDS
    while True:
        try:
            admin.create_topics([topic], request_timeout=ANSWER_SECONDS)[topic.topic].result()
        except KafkaException as error:
            cause = error.args[0]
            deleting = cause.code() == KafkaError.TOPIC_ALREADY_EXISTS
            if not deleting or time.monotonic() > deadline:
                raise _refused(kafka, cause, on_topic(CREATE, topic.topic)) from None
            time.sleep(_POLL_SECONDS)
        else:
            _wait(kafka, admin, topic.topic, there=True)
            return


def _refused(kafka: KafkaConfig, cause: KafkaError, *rights: Right) -> BrokerError:
    """The error for what Kafka does not do; names the rights that may be missing."""
    refused = refused_right(kafka, cause, *rights, role=Role.RESET)
    if refused is not None:
        return refused
    if cause.retriable() or cause.code() < 0:
        return unreachable(kafka, cause.str())
    return BrokerError(f"Kafka refuses {'; '.join(map(str, rights))}: {cause.str()}.")
