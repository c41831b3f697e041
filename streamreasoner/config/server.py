"""`[server]`: where the pipeline is asked, by whom, and what an answer may take.

Invariant: other machines read facts with a password only, unless the configuration says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamreasoner.config import key_kinds as kinds
from streamreasoner.config.key_kinds import KeyKind, key
from streamreasoner.config.secrets import LINE, SECRET, SECRET_FILE, Secret
from streamreasoner.config.security import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def _switch(value: Any, _: Path) -> bool:
    found = {"true": True, "false": False}.get(str(value).lower())
    if found is None:
        raise ValueError
    return found


SWITCH = KeyKind("true or false", _switch, ("true", "false"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """`[server]`: metrics and health, and facts if `facts` is true.

    Attributes:
        host: Address to listen on.
        port: Port to listen on; 0 means no server.
        facts: Whether facts, proofs, changes and rules can be asked for. A process of its own holds
            them in memory.
        user: Who may ask, by HTTP's basic login; default: everybody who reaches the port.
        password: Password; from the environment only.
        password_file: File with the password.
        certificate_file: Certificate of the server and its chain, PEM; default: no encryption.
        key_file: Its private key, PEM, without a password.
        anonymous: Whether other machines may ask for facts without a password.
        max_memory: Bytes that facts and answers may take, without terms; 0 for half of this
            machine's memory, or of the limit of the container.
        question_timeout: Seconds that an answer may take.
    """

    host: str = key(kinds.TEXT, "127.0.0.1")
    port: int = key(kinds.whole(0, 65_535), 9464)
    facts: bool = key(SWITCH, default=False)
    user: str | None = key(LINE, None)
    password: Secret | None = key(SECRET, None)
    password_file: Secret | None = key(SECRET_FILE, None)
    certificate_file: Path | None = key(kinds.PATH, None)
    key_file: Path | None = key(kinds.PATH, None)
    anonymous: bool = key(SWITCH, default=False)
    max_memory: int = key(kinds.whole(0, 1 << 50), 0)
    question_timeout: float = key(kinds.seconds(0.1, 3_600), 30.0)

    @property
    def secret(self) -> Secret | None:
        """The password; the environment wins over the file."""
        return self.password or self.password_file

    @property
    def loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return self.host in LOOPBACK


def contradictions(server: ServerConfig) -> Iterator[str]:
    """What cannot be meant, or would expose facts, each with what to do."""
    if server.user is not None and server.secret is None:
        yield (
            "server.password_file: missing for server.user; or set the environment variable "
            "STREAMREASONER_SERVER__PASSWORD"
        )
    if server.user is None and server.secret is not None:
        yield "server.user: missing for the password"
    if server.user is not None and ":" in server.user:
        yield (
            "server.user: must not contain a colon, at which basic HTTP authentication"
            " ends the user name"
        )
    if (server.certificate_file is None) != (server.key_file is None):
        missing = "certificate_file" if server.certificate_file is None else "key_file"
        yield f"server.{missing}: missing; a certificate and its key come together"
    if not server.facts:
        for name in ("user", "certificate_file"):
            if getattr(server, name) is not None:
                yield (
                    f"server.{name}: found without server.facts = true. The server of metrics and "
                    "health alone has neither login nor encryption. Set server.facts, or remove it"
                )
        return
    if server.port == 0:
        yield "server.port: found 0 together with server.facts = true, allowed: a port"
    if not server.loopback and server.user is None and not server.anonymous:
        yield (
            f'server.host: found "{server.host}" without a password, so that other machines could '
            "read all facts. Set server.user and server.password_file, or server.anonymous = true "
            "if a firewall or a container guards the port"
        )
