"""`[schema_registry]`: where the schemas of messages in Avro and Protobuf are.

Invariant: a password is sent to an address with encryption only, or to this machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from streamreasoner.config import key_kinds as kinds
from streamreasoner.config.key_kinds import KeyKind, key
from streamreasoner.config.secrets import CERTIFICATES, LINE, SECRET, SECRET_FILE, PemFile, Secret
from streamreasoner.config.security import LOOPBACK, invalid_authorities

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def _urls(value: Any, directory: Path) -> str:
    text: str = kinds.TEXT.read(value, directory)
    addresses = [each.strip() for each in text.split(",")]
    for each in addresses:
        url = urlsplit(each)
        if "@" in url.netloc:
            raise ValueError("a user and a password belong to the other keys of this section")
        if url.scheme not in {"http", "https"} or not url.hostname or url.query or url.fragment:
            raise ValueError
    return ",".join(addresses)


URLS = KeyKind('an address such as "https://host:8081", or several, comma separated', _urls)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryConfig:
    """`[schema_registry]`: a registry with the API of Confluent's.

    Attributes:
        url: Its address, or those of several servers of it, comma-separated; needed by the formats
            of `format_names.REGISTRY_FORMATS`.
        username: User.
        password: Password; from the environment only.
        password_file: File with the password.
        ca_file: Certificates of the authorities that sign those of the servers, PEM; default: those
            that come with Python's package certifi.
    """

    url: str | None = key(URLS, None)
    username: str | None = key(LINE, None)
    password: Secret | None = key(SECRET, None)
    password_file: Secret | None = key(SECRET_FILE, None)
    ca_file: PemFile | None = key(CERTIFICATES, None)

    @property
    def secret(self) -> Secret | None:
        """The password; the environment wins over the file."""
        return self.password or self.password_file


def contradictions(registry: RegistryConfig) -> Iterator[str]:
    """What cannot be meant, each with what to do."""
    urls = [urlsplit(each) for each in (registry.url or "").split(",") if each]
    if registry.username is not None and registry.secret is None:
        yield (
            "schema_registry.password_file: missing for schema_registry.username; or set the "
            "environment variable STREAMREASONER_SCHEMA_REGISTRY__PASSWORD"
        )
    if registry.username is None and registry.secret is not None:
        yield "schema_registry.username: missing for the password"
    if registry.username is not None and ":" in registry.username:
        yield (
            "schema_registry.username: must not contain a colon, at which basic HTTP"
            " authentication ends the user name"
        )
    if registry.secret is not None and any(
        url.scheme == "http" and url.hostname not in LOOPBACK for url in urls
    ):
        yield (
            "schema_registry.url: the password would cross the network in the clear. Use https, or "
            "remove the password"
        )
    if registry.ca_file is not None and all(url.scheme == "http" for url in urls):
        yield "schema_registry.ca_file: found without an address that begins with https. Remove it"
    if registry.ca_file is not None:
        yield from invalid_authorities("schema_registry.ca_file", registry.ca_file)
