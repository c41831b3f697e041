"""The place where the server listens. Invariant: what cannot work is refused at the start."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING

from streamreasoner.errors import ConfigError, EnvironmentSetupError

if TYPE_CHECKING:
    from streamreasoner.config.server import ServerConfig


def listen(server: ServerConfig) -> socket.socket:
    """A socket that listens; connections wait until they are accepted.

    Raises:
        EnvironmentSetupError: The port is in use, or the address is not local.
        ConfigError: The certificate or its key cannot be used.
    """
    check_certificate(server)
    # With the protocol named, asyncio sends small answers at once (TCP_NODELAY).
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    place = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind((server.host, server.port))
        place.listen(128)
    except OSError as error:
        place.close()
        raise EnvironmentSetupError(
            f"The server cannot listen on {server.host}:{server.port} ({error.strerror}). Choose "
            "another server.host or server.port, or set server.port to 0 for no server."
        ) from None
    return place


def check_certificate(server: ServerConfig) -> None:
    """Check that the server can prove who it is, if it has to.

    Raises:
        ConfigError: The certificate or its key cannot be used.
    """
    if server.certificate_file is not None and server.key_file is not None:
        try:
            # A key with a password would be asked for on the terminal.
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
                server.certificate_file, server.key_file, password=lambda: b""
            )
        except (ssl.SSLError, OSError, ValueError) as error:
            raise ConfigError(
                f"{server.certificate_file} and {server.key_file} cannot be used "
                f"(server.certificate_file, server.key_file): {error}. Name a certificate and its "
                "private key in PEM, without a password."
            ) from None


def address(server: ServerConfig, place: socket.socket) -> str:
    """The URL of a server that listens."""
    host, port = place.getsockname()[:2]
    scheme = "http" if server.certificate_file is None else "https"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
