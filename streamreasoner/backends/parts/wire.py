"""Connections between processes that hold parts. Invariant: a message comes whole or not at all.

Both ends prove that they know a key, which comes from what starts the processes. What they send
is not encrypted. Listeners are open until all have joined, and no longer.
"""

from __future__ import annotations

import socket
import traceback
from contextlib import suppress
from multiprocessing.connection import Client, Listener
from typing import TYPE_CHECKING, cast

from streamreasoner.engine.ports import BudgetSpentError
from streamreasoner.errors import StreamReasonerError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Address = tuple[str, int]
"""Host and port."""

LOST = (EOFError, OSError)
"""What a connection raises whose other end is gone."""


def listen(host: str, key: bytes, backlog: int) -> Listener:
    """Wait for connections at a free port.

    Args:
        host: The address of this machine that others use.
        key: What others have to know.
        backlog: How many may connect at once.
    """
    return Listener((host, 0), backlog=backlog, authkey=key)


def port(listener: Listener) -> int:
    """Where it listens."""
    _, number = cast("Address", listener.address)
    return number


def accept(listener: Listener) -> Connection:
    """The next connection of a process that knows the key."""
    return _at_once(listener.accept())


def connect(address: Address, key: bytes) -> Connection:
    """A connection to a process that knows the key."""
    return _at_once(Client(address, authkey=key))


def _at_once(connection: Connection) -> Connection:
    """The same, sending small messages without waiting for more."""
    with socket.socket(fileno=connection.fileno()) as same:
        same.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        same.detach()
    return connection


def described(error: Exception) -> tuple[type[Exception], str]:
    """An error as it is sent: some could not be made again from what they are pickled as."""
    if isinstance(error, (StreamReasonerError, BudgetSpentError)):
        return type(error), str(error)
    return RuntimeError, "".join(traceback.format_exception(error))


def again(described: tuple[type[Exception], str]) -> Exception:
    """The error."""
    kind, message = described
    error = kind.__new__(kind)
    error.args = (message,)
    return error


def close(connection: Connection) -> None:
    """Close a connection, whatever has become of it."""
    with suppress(OSError):
        connection.close()
