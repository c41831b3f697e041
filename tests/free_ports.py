"""Ports for servers of tests."""

from __future__ import annotations

import socket
from contextlib import suppress
from random import sample

# Below those of embedded brokers, and of outgoing connections, which would take a port before the
# server of a test does.
_PORTS = iter(sample(range(12_000, 20_000), 8_000))


def free_port():
    """A free loopback port that this process has not used."""
    for port in _PORTS:
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("All ports from 12,000 to 19,999 were used.")
