"""Settings of the Kafka clients. Invariant: every client of a pipeline uses the same cluster.

| client        | used for                                | options from                          |
|---------------|-----------------------------------------|---------------------------------------|
| Spark's       | input                                   | `kafka.options`, `.consumer_options`  |
| librdkafka    | output, progress, checks before a start | `kafka.options`, `.producer_options`  |
| kafka-python  | `topics`, `produce`, `consume`          | those of `kafka.options` it supports  |

All of them connect as `kafka.security` says: see `access.security`, and `access.python_client`.
"""

from __future__ import annotations

import logging
import re
import time
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from streamreasoner.errors import (
    BrokerError,
    BrokerUnavailableError,
    ConfigError,
    StreamReasonerError,
)
from streamreasoner.io.kafka.access import security
from streamreasoner.io.kafka.access.rights import Resource, Right, denied
from streamreasoner.io.kafka.access.roles import Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamreasoner.config.kafka import KafkaConfig

ANSWER_SECONDS = 10.0
_DENIED = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: Resource.TOPIC,
    KafkaError.GROUP_AUTHORIZATION_FAILED: Resource.GROUP,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Resource.TRANSACTIONAL_ID,
}
# Errors say what failed; a program without handlers of its own would print retries, too.
logging.getLogger("streamreasoner.kafka").addHandler(logging.NullHandler())
# The first is reported after the error that broke the last connection.
_FINAL = (KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTHENTICATION)  # noqa: SLF001


def librdkafka(kafka: KafkaConfig, **settings: object) -> dict[str, Any]:
    """Configuration of a librdkafka client; in *settings*, `_` stands for `.`."""
    dotted = {name.replace("_", "."): value for name, value in settings.items()}
    return {
        "bootstrap.servers": kafka.bootstrap_servers,
        "logger": logging.getLogger("streamreasoner.kafka"),
        **dotted,
        **security.librdkafka(kafka.security),
        **kafka.options,
        **kafka.producer_options,
    }


def reader(kafka: KafkaConfig, group: str, **settings: object) -> Consumer:
    """A consumer of committed records, which reports the end of a partition and commits nothing."""
    return Consumer(
        librdkafka(
            kafka,
            group_id=group,
            isolation_level="read_committed",
            enable_auto_commit=False,
            enable_partition_eof=True,
            **settings,
        )
    )


def not_created(error: KafkaException) -> StreamReasonerError:
    """The error for a client that cannot be created: it may refuse an option."""
    cause = error.args[0]
    if isinstance(cause, KafkaError) and cause.code() == KafkaError._INVALID_ARG:  # noqa: SLF001
        unknown = "No such configuration property" in cause.str() or "Java" in cause.str()
        advice = (
            " Options that only Java knows belong in kafka.consumer_options." if unknown else ""
        )
        return ConfigError(f"kafka.options or kafka.producer_options: {cause.str()}.{advice}")
    return BrokerError(str(cause))


def refused_right(
    kafka: KafkaConfig, error: KafkaError, *rights: Right, role: Role = Role.RUN
) -> BrokerError | None:
    """The error as a missing right if that is the cause, else None.

    Args:
        kafka: The cluster.
        error: The client's error, which tells the kind of resource.
        rights: What the client needs.
        role: The role that has them.
    """
    resource = _DENIED.get(error.code())
    missing = [right for right in rights if right.resource is resource]
    return denied(kafka, missing, role) if missing else None


def no_answer(
    kafka: KafkaConfig, error: KafkaException, *rights: Right, role: Role = Role.RUN
) -> BrokerError:
    """The error for a request that failed: a missing right, or what keeps Kafka from answering."""
    cause = error.args[0]
    return refused_right(kafka, cause, *rights, role=role) or unreachable(kafka, cause.str())


def unreadable(kafka: KafkaConfig, topic: str, error: KafkaError, *rights: Right) -> BrokerError:
    """The error for a topic that cannot be read further."""
    return refused_right(kafka, error, *rights) or BrokerError(
        f"Cannot read the topic {topic}: {error.str()}."
    )


def unreachable(kafka: KafkaConfig, why: object) -> BrokerError:
    """The error for brokers that do not answer; connects once more to find the cause.

    Clients retry and report a timeout whatever the cause; only the error callback names it. The
    result is a `BrokerUnavailableError` unless Kafka refuses the client.

    Args:
        kafka: Cluster and options.
        why: The client's error, or what it was doing.
    """
    errors: list[KafkaError] = []
    settings: dict[str, Any] = {**librdkafka(kafka), "error_cb": errors.append}
    client = AdminClient(settings)
    # The client connects only on a request.
    client.describe_cluster(request_timeout=ANSWER_SECONDS)
    deadline = time.monotonic() + ANSWER_SECONDS
    while time.monotonic() < deadline:
        client.poll(0.1)
        if any(error.code() in _FINAL for error in errors):
            break
    return _cause(kafka, errors, why)


def _cause(kafka: KafkaConfig, errors: Sequence[KafkaError], why: object) -> BrokerError:
    where = f"Kafka at {kafka.bootstrap_servers} (kafka.bootstrap_servers)"
    texts = {error.code(): _brief(error.str()) for error in reversed(errors)}
    text = texts.get(KafkaError._SSL, "")  # noqa: SLF001
    text = text or texts.get(KafkaError._RESOLVE, "") or texts.get(KafkaError._TRANSPORT, "")  # noqa: SLF001
    if login := texts.get(KafkaError._AUTHENTICATION):  # noqa: SLF001
        return BrokerError(_refused_login(kafka, where, login))
    if "SSL" in text or "closed by peer" in text:
        return BrokerError(_refused_encryption(where, text))
    if errors and not text:
        return BrokerError(
            f"{where} closes the connection. Set kafka.security.protocol to the protocol of the "
            "listener on this port: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."
        )
    return BrokerUnavailableError(
        f"{where} did not answer within {ANSWER_SECONDS:g} s ({text or why}). Check the address, "
        "and that the broker is running."
    )


def _refused_login(kafka: KafkaConfig, where: str, text: str) -> str:
    if "acquire SASL OAUTHBEARER token" in text:
        return (
            f"{text} from {kafka.security.token_endpoint} (kafka.security.token_endpoint). "
            "Check the address, username, password and scope in kafka.security."
        )
    return (
        f"{where} refuses the login: {text}. Check mechanism, username and password in "
        "kafka.security."
    )


def _refused_encryption(where: str, text: str) -> str:
    if "closed by peer" in text:
        return (
            f"{where} ends the TLS handshake: {text}. Use the port of a listener with TLS, or set "
            "kafka.security.protocol to PLAINTEXT or SASL_PLAINTEXT. If the broker asks for a "
            "client certificate, set kafka.security.certificate_file and kafka.security.key_file."
        )
    if re.search(r"alert .*(certificate|unknown ca)", text):
        return (
            f"{where} asks for a certificate of this client, or does not trust it: {text}. Set "
            "kafka.security.certificate_file and kafka.security.key_file, or use the port of "
            "another listener."
        )
    return (
        f"No TLS connection to {where}: {text}. Set kafka.security.ca_file to the certificate "
        "(PEM) of the authority that signed the broker's, and use a host name that the broker's "
        "certificate contains."
    )


def _brief(text: str) -> str:
    """An error of librdkafka without the connection's name and the elapsed time."""
    return re.sub(r"^\S+/\S+: | \(after \d+ms in state \w+\)$", "", text)
