"""Requirements on topics. Invariant: a topic that does not fit its role is refused."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from streamreasoner.config.kafka import TopicKey, topic_keys
from streamreasoner.errors import BrokerError
from streamreasoner.io.kafka.access.rights import (
    DESCRIBE,
    DESCRIBE_CONFIGS,
    READ,
    WRITE,
    denied,
    of_pipeline,
    on_topic,
)
from streamreasoner.io.kafka.access.roles import Role
from streamreasoner.io.kafka.access.topic_needs import TopicNeeds, needs
from streamreasoner.io.kafka.clients import ANSWER_SECONDS, librdkafka, no_answer, not_created

if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from concurrent.futures import Future

    from confluent_kafka.admin import TopicDescription

    from streamreasoner.config.kafka import KafkaConfig

    Answers = Mapping[str, Future[TopicDescription]]

_ALL = (READ, WRITE, DESCRIBE, DESCRIBE_CONFIGS)


def admin_client(kafka: KafkaConfig) -> AdminClient:
    """A client to describe topics.

    Raises:
        ConfigError: A client option is refused.
        BrokerError: The client cannot be created.
    """
    try:
        return AdminClient(librdkafka(kafka))
    except KafkaException as error:
        raise not_created(error) from None


def brokers(admin: AdminClient, kafka: KafkaConfig) -> int:
    """The number of brokers, one of which answers.

    Raises:
        BrokerError: None does.
    """
    try:
        return len(admin.describe_cluster(request_timeout=ANSWER_SECONDS).result().nodes)
    except KafkaException as error:
        raise no_answer(kafka, error) from None


def check_topics(
    admin: AdminClient, kafka: KafkaConfig, control_topic: str | None, *, upsert: bool = False
) -> None:
    """Check that the brokers answer and that every topic of the pipeline fits its role.

    Args:
        admin: The client.
        kafka: Cluster and names.
        control_topic: Topic of control messages, None if there is none.
        upsert: Whether the output topic holds facts under keys, and not changes.

    Raises:
        BrokerError: A broker, a topic or a right is missing, or a topic does not fit its role;
            names the command that creates topics or that prints how to grant rights.
    """
    answers = describe(admin, kafka, control_topic)
    check_rights(kafka, control_topic, answers)
    topics = check_exist(kafka, control_topic, answers)
    check_settings(admin, kafka, control_topic, topics, upsert=upsert)


def describe(admin: AdminClient, kafka: KafkaConfig, control_topic: str | None) -> Answers:
    """Ask for the topics of the pipeline, and for what this user may do with them."""
    return admin.describe_topics(
        TopicCollection([name for name, _ in topic_keys(kafka, control_topic)]),
        include_authorized_operations=True,
        request_timeout=ANSWER_SECONDS,
    )


def check_exist(
    kafka: KafkaConfig, control_topic: str | None, answers: Answers
) -> Mapping[str, TopicDescription]:
    """The topics of the pipeline, all of which exist.

    Raises:
        BrokerError: Kafka does not answer, or a topic is missing.
    """
    keys = dict(topic_keys(kafka, control_topic))
    found = {name: description(kafka, name, answer) for name, answer in answers.items()}
    missing = [f"{name} ({keys[name]})" for name, answer in found.items() if answer is None]
    if missing:
        noun = "topic" if len(missing) == 1 else "topics"
        raise BrokerError(
            f"Kafka at {kafka.bootstrap_servers} has no {noun} {', '.join(missing)}. "
            "Create with: streamreasoner topics create --config FILE"
        )
    return {name: topic for name, topic in found.items() if topic is not None}


def check_settings(
    admin: AdminClient,
    kafka: KafkaConfig,
    control_topic: str | None,
    topics: Mapping[str, TopicDescription],
    *,
    upsert: bool = False,
) -> None:
    """Check that each topic fits its role, see `topic_needs`.

    Raises:
        BrokerError: One does not; says how to set it.
    """
    of_key, keys = needs(upsert=upsert), dict(topic_keys(kafka, control_topic))
    for name, key in keys.items():
        count, single = len(topics[name].partitions), of_key[key].single
        if single is not None and count != 1:
            raise BrokerError(
                f"The topic {name} ({key}) has {count} partitions; it must have 1, or {single} is "
                "undefined."
            )
    for name, key in keys.items():
        policy = None if of_key[key].compacted is None else _policy(admin, name)
        if policy is not None:
            _check_policy(kafka, name, key, policy, of_key[key])


def description(
    kafka: KafkaConfig, name: str, answer: Future[TopicDescription], role: Role = Role.RUN
) -> TopicDescription | None:
    """Kafka's description of a topic, None if it does not exist.

    Raises:
        BrokerError: Kafka does not answer or refuses.
    """
    try:
        return answer.result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return None
        raise no_answer(kafka, error, on_topic(DESCRIBE, name), role=role) from None


def check_rights(kafka: KafkaConfig, control_topic: str | None, answers: Answers) -> None:
    """Refuse a user who lacks a right on a topic, before anything is read or written.

    Raises:
        BrokerError: Names all rights that are missing, and the command that prints how to grant.
    """
    granted = {name: _granted(answer) for name, answer in answers.items()}
    missing = [
        right
        for right in of_pipeline(kafka, control_topic)
        if right.operation not in granted[right.name]
    ]
    if missing:
        raise denied(kafka, missing, Role.RUN)


def _granted(answer: Future[TopicDescription]) -> Container[str]:
    """The operations that the user may do on a topic; all of them if the broker cannot say."""
    try:
        operations = answer.result().authorized_operations
    except KafkaException as error:
        denied_all = error.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
        return () if denied_all else _ALL
    if operations is None:
        return _ALL
    return {each.name.replace("_", " ").title().replace(" ", "") for each in operations}


def _check_policy(
    kafka: KafkaConfig, topic: str, key: TopicKey, policy: str, needs_: TopicNeeds
) -> None:
    if needs_.compacted and policy != "compact":
        why = '; output.envelope = "upsert"' if key is TopicKey.OUTPUT else ""
        raise BrokerError(
            f"The topic {topic} ({key}{why}) has cleanup.policy={policy}; it must be compact, or "
            f"{needs_.otherwise}. {_alter(kafka, topic, 'compact')}"
        )
    if not needs_.compacted and "compact" in policy:
        raise BrokerError(
            f"The topic {topic} ({key}) has cleanup.policy={policy}, but holds changes: Kafka "
            "would delete all but the last one of each key, so readers would lose facts. "
            f"{_alter(kafka, topic, 'delete')}{needs_.otherwise}"
        )


def _alter(kafka: KafkaConfig, topic: str, policy: str) -> str:
    return (
        f"Set it with: kafka-configs.sh --bootstrap-server {kafka.bootstrap_servers} --alter "
        f"--entity-type topics --entity-name {topic} --add-config cleanup.policy={policy}. Or name "
        "a topic that does not exist, and create it with: streamreasoner topics create --config "
        "FILE."
    )


def _policy(admin: AdminClient, topic: str) -> str | None:
    """The cleanup policy of a topic, None if this user may not see it."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    try:
        answer = admin.describe_configs([resource], request_timeout=ANSWER_SECONDS)
        policy: str = answer[resource].result()["cleanup.policy"].value
    except KafkaException as error:
        # A broker may not tell; a lost marker is still refused at the start.
        logging.getLogger(__name__).warning(
            "Cannot check whether %s is compacted: %s.", topic, error.args[0].str()
        )
        return None
    return policy
