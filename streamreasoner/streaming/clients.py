"""Settings of the Kafka clients. Invariant: every client of a pipeline talks to the same cluster.

| client        | used for                                | options from                          |
|---------------|-----------------------------------------|---------------------------------------|
| Spark's       | input                                   | `kafka.options`, `.consumer_options`  |
| librdkafka    | output, progress, checks before a start | `kafka.options`, `.producer_options`  |
| kafka-python  | `topics`, `produce`, `consume`          | `kafka.options` where it has a like   |
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from streamreasoner.errors import BrokerError, ConfigError

if TYPE_CHECKING:
    from streamreasoner.config import KafkaConfig

ANSWER_SECONDS = 10.0
_KAFKA_PYTHON_NAMES = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "ssl.ca.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
    "ssl.key.password": "ssl_password",
    "client.id": "client_id",
}


def librdkafka(kafka: KafkaConfig, **settings: object) -> dict[str, Any]:
    """Configuration of a librdkafka client; settings are written with `_` for `.`."""
    own = {name.replace("_", "."): value for name, value in settings.items()}
    return {
        "bootstrap.servers": kafka.bootstrap_servers,
        "logger": logging.getLogger("streamreasoner.kafka"),
        **own,
        **kafka.options,
        **kafka.producer_options,
    }


def kafka_python(kafka: KafkaConfig) -> dict[str, Any]:
    """Keyword arguments of a kafka-python client."""
    options = {**kafka.options, **kafka.producer_options}
    named = {
        _KAFKA_PYTHON_NAMES[name]: value
        for name, value in options.items()
        if name in _KAFKA_PYTHON_NAMES
    }
    return {
        "bootstrap_servers": kafka.bootstrap_servers.split(","),
        "bootstrap_timeout_ms": int(ANSWER_SECONDS * 1000),
        **named,
    }


def refused_option(error: KafkaException) -> ConfigError | None:
    """The error as a mistake in the configuration, if it is one."""
    cause = error.args[0]
    if isinstance(cause, KafkaError) and cause.code() == KafkaError._INVALID_ARG:  # noqa: SLF001
        return ConfigError(
            f"kafka.options or kafka.producer_options: {cause.str()}. Names that only Java knows "
            "belong in kafka.consumer_options."
        )
    return None


def unreachable(kafka: KafkaConfig, why: object) -> BrokerError:
    """What to say when no broker answers."""
    return BrokerError(
        f"Kafka at {kafka.bootstrap_servers} (kafka.bootstrap_servers) did not answer within "
        f"{ANSWER_SECONDS:g} s ({why}). Check the address, and that the broker runs."
    )


def check_topics(kafka: KafkaConfig, control_topic: str | None) -> None:
    """Make sure that the brokers answer and every topic of the pipeline exists.

    Args:
        kafka: Cluster and names.
        control_topic: Topic of control messages, None if there is none.

    Raises:
        BrokerError: Names what cannot be reached or is missing, and the command that creates it.
        ConfigError: A client option is refused.
    """
    try:
        admin = AdminClient(librdkafka(kafka))
        found = admin.list_topics(timeout=ANSWER_SECONDS).topics
    except KafkaException as error:
        raise (refused_option(error) or unreachable(kafka, error.args[0].str())) from None
    wanted = [("kafka.input_topics", name) for name in kafka.input_topics]
    wanted += [
        ("kafka.output_topic", kafka.output_topic),
        ("kafka.dead_letter_topic", kafka.dead_letter_topic),
        ("kafka.progress_topic", kafka.progress_topic),
    ]
    if control_topic is not None:
        wanted.append(("rules.control_topic", control_topic))
    missing = [f"{name} ({key})" for key, name in wanted if name not in found]
    if missing:
        topics = "topic" if len(missing) == 1 else "topics"
        raise BrokerError(
            f"Kafka at {kafka.bootstrap_servers} has no {topics} {', '.join(missing)}. "
            "Create with: streamreasoner topics create --config FILE"
        )
    single = [(kafka.progress_topic, "kafka.progress_topic", "the last published batch")]
    if control_topic is not None:
        single.append((control_topic, "rules.control_topic", "the order of changes of the program"))
    for name, key, what in single:
        partitions = len(found[name].partitions)
        if partitions != 1:
            raise BrokerError(
                f"The topic {name} ({key}) has {partitions} partitions; it must have 1, or {what} "
                "cannot be told."
            )
    _check_compacted(admin, kafka)


def _check_compacted(admin: AdminClient, kafka: KafkaConfig) -> None:
    resource = ConfigResource(ResourceType.TOPIC, kafka.progress_topic)
    try:
        answer = admin.describe_configs([resource], request_timeout=ANSWER_SECONDS)
        policy = answer[resource].result()["cleanup.policy"].value
    except KafkaException as error:
        # A principal may lack the right to describe; a lost marker is still refused at start.
        logging.getLogger(__name__).warning(
            "Cannot tell whether %s is compacted: %s.", kafka.progress_topic, error.args[0].str()
        )
        return
    if policy != "compact":
        raise BrokerError(
            f"The topic {kafka.progress_topic} (kafka.progress_topic) has cleanup.policy={policy}; "
            "it must be compact, or Kafka deletes the record of what is published."
        )
