"""`[kafka.security]`: how every client of a pipeline logs in and encrypts.

Invariant: what a client needs is complete, and is said once: here, and not in the options.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from streamreasoner.config import key_kinds as kinds
from streamreasoner.config.key_kinds import KeyKind, key
from streamreasoner.config.secrets import (
    CERTIFICATES,
    LINE,
    PRIVATE_KEY,
    SECRET,
    SECRET_FILE,
    PemFile,
    Secret,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

OAUTHBEARER = "OAUTHBEARER"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", OAUTHBEARER)
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
LOOPBACK = ("localhost", "127.0.0.1", "::1")

# Options of Java and of librdkafka, with the key that says the same.
_KEYS_OF_OPTIONS = {
    "security.protocol": "protocol",
    "sasl.mechanism": "mechanism",
    "sasl.mechanisms": "mechanism",
    "sasl.jaas.config": "username",
    "sasl.username": "username",
    "sasl.password": "password_file",
    "sasl.oauthbearer.method": "mechanism",
    "sasl.oauthbearer.client.id": "username",
    "sasl.oauthbearer.client.secret": "password_file",
    "sasl.oauthbearer.token.endpoint.url": "token_endpoint",
    "sasl.oauthbearer.scope": "scope",
    "ssl.ca.location": "ca_file",
    "ssl.ca.pem": "ca_file",
    "ssl.truststore.type": "ca_file",
    "ssl.truststore.location": "ca_file",
    "ssl.truststore.certificates": "ca_file",
    "ssl.truststore.password": "ca_file",
    "ssl.certificate.location": "certificate_file",
    "ssl.certificate.pem": "certificate_file",
    "ssl.keystore.type": "certificate_file",
    "ssl.keystore.location": "certificate_file",
    "ssl.keystore.certificate.chain": "certificate_file",
    "ssl.keystore.password": "certificate_file",
    "ssl.key.location": "key_file",
    "ssl.key.pem": "key_file",
    "ssl.keystore.key": "key_file",
    "ssl.key.password": "key_password_file",
}
# Those that a mechanism without a key, such as GSSAPI, needs.
_OF_OTHER_MECHANISMS = ("sasl.mechanism", "sasl.mechanisms", "sasl.jaas.config")


def _address(value: Any, directory: Path) -> str:
    url = urlsplit(text := kinds.TEXT.read(value, directory))
    if url.scheme == "http" and url.hostname not in LOOPBACK:
        raise ValueError("the password would cross the network in the clear")
    if url.scheme not in {"http", "https"} or not url.hostname or url.username is not None:
        raise ValueError
    return str(text)


_ADDRESS = KeyKind('an address such as "https://host/token", or http on this machine', _address)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityConfig:
    """`[kafka.security]`: encryption and login, the same for all clients.

    Attributes:
        protocol: That of the brokers' listener.
        ca_file: Certificates of the authorities that sign those of the brokers, PEM; default: the
            authorities that Java and the system trust.
        certificate_file: The clients' certificate and its chain, PEM.
        key_file: Its private key, PEM.
        key_password: Password of an encrypted key; from the environment only.
        key_password_file: File with that password.
        mechanism: How the clients log in.
        username: User, or client id of OAUTHBEARER.
        password: Password, or client secret of OAUTHBEARER; from the environment only.
        password_file: File with the password.
        token_endpoint: Where OAUTHBEARER gets tokens.
        scope: Scope of the tokens.
    """

    protocol: str = key(kinds.one_of(*_PROTOCOLS), "PLAINTEXT")
    ca_file: PemFile | None = key(CERTIFICATES, None)
    certificate_file: PemFile | None = key(CERTIFICATES, None)
    key_file: PemFile | None = key(PRIVATE_KEY, None)
    key_password: Secret | None = key(SECRET, None)
    key_password_file: Secret | None = key(SECRET_FILE, None)
    mechanism: str | None = key(kinds.one_of(*MECHANISMS), None)
    username: str | None = key(LINE, None)
    password: Secret | None = key(SECRET, None)
    password_file: Secret | None = key(SECRET_FILE, None)
    token_endpoint: str | None = key(_ADDRESS, None)
    scope: str | None = key(LINE, None)

    @property
    def login_secret(self) -> Secret | None:
        """The password, or client secret; the environment wins over the file."""
        return self.password or self.password_file

    @property
    def key_secret(self) -> Secret | None:
        """The password of the private key; the environment wins over the file."""
        return self.key_password or self.key_password_file


def contradictions(
    security: SecurityConfig, options: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    """What cannot be meant, each with what to do.

    Args:
        security: The section.
        options: Configuration key -> options of clients.
    """
    other = _other_mechanism(options)
    yield from _said_twice(security, options, other)
    yield from _login(security, other)
    yield from _encryption(security)


def _other_mechanism(options: Mapping[str, Mapping[str, str]]) -> str | None:
    """A mechanism that the section does not know, chosen by an option."""
    for table in options.values():
        for name in ("sasl.mechanism", "sasl.mechanisms"):
            if table.get(name, "PLAIN") not in MECHANISMS:
                return table[name]
    return None


def _said_twice(
    security: SecurityConfig, options: Mapping[str, Mapping[str, str]], other: str | None
) -> Iterator[str]:
    for where, table in options.items():
        for name in table:
            instead = _KEYS_OF_OPTIONS.get(name)
            allowed = name in _OF_OTHER_MECHANISMS and other is not None
            if instead is not None and not (allowed and security.mechanism is None):
                yield (
                    f"{where}: found {name}, which is not an option here. Set "
                    f"kafka.security.{instead}, which holds for all clients, and remove it"
                )


def _login(security: SecurityConfig, other: str | None) -> Iterator[str]:
    sasl = security.protocol.startswith("SASL_")
    if security.mechanism is not None:
        yield from _mechanism(security, security.mechanism)
    elif sasl and other is None:
        yield (
            f"kafka.security.mechanism: missing for the protocol {security.protocol}, it must be "
            f"one of {', '.join(MECHANISMS)}"
        )
    if security.mechanism is None:
        yield from _unused(security, ("username", "password", "password_file"), "a mechanism")
    if security.mechanism != OAUTHBEARER:
        yield from _unused(security, ("token_endpoint", "scope"), f"the mechanism {OAUTHBEARER}")


def _mechanism(security: SecurityConfig, mechanism: str) -> Iterator[str]:
    """What a mechanism needs."""
    if not security.protocol.startswith("SASL_"):
        yield (
            f"kafka.security.mechanism: found {mechanism} with the protocol {security.protocol}, "
            "which has no login. Set kafka.security.protocol to SASL_SSL (or to SASL_PLAINTEXT, "
            "without encryption), or remove the mechanism"
        )
    if security.username is None:
        yield f"kafka.security.username: missing for the mechanism {mechanism}"
    if security.login_secret is None:
        yield (
            f"kafka.security.password_file: missing for the mechanism {mechanism}; or set the "
            "environment variable STREAMREASONER_KAFKA__SECURITY__PASSWORD"
        )
    if mechanism == OAUTHBEARER and security.token_endpoint is None:
        yield f"kafka.security.token_endpoint: missing for the mechanism {mechanism}"


def _unused(security: SecurityConfig, names: tuple[str, ...], user: str) -> Iterator[str]:
    for name in names:
        if getattr(security, name) is not None:
            yield (
                f"kafka.security.{name}: found without {user}, which alone uses it. Set "
                "kafka.security.mechanism, or remove it"
            )


def _encryption(security: SecurityConfig) -> Iterator[str]:
    if security.protocol not in {"SSL", "SASL_SSL"}:
        for name in ("ca_file", "certificate_file", "key_file"):
            if getattr(security, name) is not None:
                yield (
                    f"kafka.security.{name}: the protocol {security.protocol} does not encrypt. "
                    "Set kafka.security.protocol to SSL or SASL_SSL, or remove the file"
                )
    if security.ca_file is not None:
        yield from invalid_authorities("kafka.security.ca_file", security.ca_file)
    certificate, private = security.certificate_file, security.key_file
    if certificate is None and private is not None:
        yield "kafka.security.key_file: found without kafka.security.certificate_file. Set both"
    if certificate is not None and private is None:
        yield "kafka.security.certificate_file: found without kafka.security.key_file. Set both"
    if security.key_secret is not None and (private is None or not private.encrypted):
        yield (
            "kafka.security.key_password_file: found a password, but no encrypted key. Remove it, "
            "with the environment variable STREAMREASONER_KAFKA__SECURITY__KEY_PASSWORD"
        )
    if private is not None and private.encrypted and security.key_secret is None:
        yield (
            "kafka.security.key_password_file: missing, as kafka.security.key_file is encrypted; "
            "or set the environment variable STREAMREASONER_KAFKA__SECURITY__KEY_PASSWORD"
        )
    elif certificate is not None and private is not None:
        yield from _pair(certificate, private, security.key_secret)


def invalid_authorities(where: str, file: PemFile) -> Iterator[str]:
    """A file, named by a key, that has the marks of certificates, but not their content."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file.path)
    except (ssl.SSLError, OSError) as error:
        reason = getattr(error, "reason", None) or error.strerror
        yield (
            f"{where}: {file.path} has an invalid certificate ({reason}). Name a file of "
            "certificates in PEM format"
        )


def _pair(certificate: PemFile, private: PemFile, password: Secret | None) -> Iterator[str]:
    """A key that is of another certificate, or that the password does not open."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_cert_chain(
            certificate.path, private.path, None if password is None else password.reveal()
        )
    except (ssl.SSLError, OSError) as error:
        reason = getattr(error, "reason", None) or error.strerror
        yield (
            f"kafka.security.key_file: {private.path} does not fit {certificate.path} ({reason}): "
            "it is the key of another certificate, a file is damaged, or the password is wrong. "
            "Name a certificate and its own key"
        )
