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
