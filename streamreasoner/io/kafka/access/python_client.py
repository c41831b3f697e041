"""Settings of kafka-python, the client of the commands. Invariant: it connects as the others do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamreasoner.config.security import OAUTHBEARER
from streamreasoner.io.kafka.access.tokens import ClientCredentials

if TYPE_CHECKING:
    from streamreasoner.config.kafka import KafkaConfig
    from streamreasoner.config.security import SecurityConfig

_ANSWER_MILLISECONDS = 10_000
_OPTIONS = {
    "sasl.mechanism": "sasl_mechanism",
    "sasl.mechanisms": "sasl_mechanism",
    "client.id": "client_id",
}


def kafka_python(kafka: KafkaConfig) -> dict[str, Any]:
    """Keyword arguments of a client: how to connect, and the options that it supports.

    Raises:
        BrokerError: There is no token to log in with.
    """
    options = {**kafka.options, **kafka.producer_options}
    return {
        "bootstrap_servers": kafka.bootstrap_servers.split(","),
        "bootstrap_timeout_ms": _ANSWER_MILLISECONDS,
        **_connection(kafka.security),
        **{_OPTIONS[name]: value for name, value in options.items() if name in _OPTIONS},
    }


def _connection(security: SecurityConfig) -> dict[str, Any]:
    found: dict[str, Any] = {"security_protocol": security.protocol}
    for name, file in (
        ("ssl_cafile", security.ca_file),
        ("ssl_certfile", security.certificate_file),
        ("ssl_keyfile", security.key_file),
    ):
        if file is not None:
            found[name] = str(file.path)
    if security.key_secret is not None:
        found["ssl_password"] = security.key_secret.reveal()
    if security.mechanism is not None:
        found["sasl_mechanism"] = security.mechanism
    if security.mechanism == OAUTHBEARER:
        found["sasl_oauth_token_provider"] = ClientCredentials(security)
    elif security.login_secret is not None:
        found["sasl_plain_username"] = security.username
        found["sasl_plain_password"] = security.login_secret.reveal()
    return found
