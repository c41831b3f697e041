"""`[kafka.security]` in the words of each client. Invariant: all clients connect in the same way.

| client     | files                               | user and password                        |
|------------|-------------------------------------|------------------------------------------|
| Java       | their content, as executors need it | `sasl.jaas.config`                       |
| librdkafka | their paths                         | `sasl.username`, or `sasl.oauthbearer.*` |

Those of kafka-python are in `python_client`, which the pipeline does not import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.config.security import OAUTHBEARER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamreasoner.config.secrets import PemFile, Secret
    from streamreasoner.config.security import SecurityConfig

_PACKAGE = "org.apache.kafka.common.security"
_MODULES = {
    "PLAIN": f"{_PACKAGE}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_PACKAGE}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_PACKAGE}.scram.ScramLoginModule",
    OAUTHBEARER: f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule",
}
_TOKENS = f"{_PACKAGE}.oauthbearer.OAuthBearerLoginCallbackHandler"


def java(security: SecurityConfig) -> dict[str, str]:
    """Options of Kafka's Java client."""
    found = {
        "security.protocol": security.protocol,
        "ssl.truststore.type": security.ca_file and "PEM",
        "ssl.truststore.certificates": _content(security.ca_file),
        "ssl.keystore.type": security.key_file and "PEM",
        "ssl.keystore.certificate.chain": _content(security.certificate_file),
        "ssl.keystore.key": _content(security.key_file),
        "ssl.key.password": _reveal(security.key_secret),
        "sasl.mechanism": security.mechanism,
        "sasl.jaas.config": _jaas(security),
        "sasl.oauthbearer.token.endpoint.url": security.token_endpoint,
        "sasl.login.callback.handler.class": security.token_endpoint and _TOKENS,
    }
    return _given(found)


def librdkafka(security: SecurityConfig) -> dict[str, str]:
    """Options of librdkafka."""
    oauth = security.mechanism == OAUTHBEARER
    user, password = (
        ("sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret")
        if oauth
        else ("sasl.username", "sasl.password")
    )
    found = {
        "security.protocol": security.protocol,
        "ssl.ca.location": _path(security.ca_file),
        "ssl.certificate.location": _path(security.certificate_file),
        "ssl.key.location": _path(security.key_file),
        "ssl.key.password": _reveal(security.key_secret),
        "sasl.mechanism": security.mechanism,
        "sasl.oauthbearer.method": "oidc" if oauth else None,
        "sasl.oauthbearer.token.endpoint.url": security.token_endpoint,
        "sasl.oauthbearer.scope": security.scope,
        user: security.username,
        password: _reveal(security.login_secret),
    }
    return _given(found)


def _jaas(security: SecurityConfig) -> str | None:
    if security.mechanism is None:
        return None
    oauth = security.mechanism == OAUTHBEARER
    user, password = ("clientId", "clientSecret") if oauth else ("username", "password")
    values = _given(
        {
            user: security.username,
            password: _reveal(security.login_secret),
            "scope": security.scope,
        }
    )
    words = (f"{name}={_quoted(value)}" for name, value in values.items())
    return f"{_MODULES[security.mechanism]} required {' '.join(words)};"


def _quoted(text: str) -> str:
    """A string of a JAAS configuration, in which a backslash begins an escape."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _content(file: PemFile | None) -> str | None:
    return None if file is None else file.content.reveal()


def _path(file: PemFile | None) -> str | None:
    return None if file is None else str(file.path)


def _reveal(secret: Secret | None) -> str | None:
    return None if secret is None else secret.reveal()


def _given(found: Mapping[str, str | PemFile | None]) -> dict[str, str]:
    """What is set; a client's own default stands for the rest."""
    return {name: value for name, value in found.items() if isinstance(value, str)}
