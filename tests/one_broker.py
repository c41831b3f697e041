"""One broker for all workers. Invariant: it runs as long as any of them may use it.

A broker takes processor time when it starts, and while it idles. The worker that needs one first
starts it, and stops it when no other worker uses it any more.
"""

from __future__ import annotations

import fcntl
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

from recording import left_to_others

from streamreasoner.io.kafka.broker import Broker


@contextmanager
def one_broker(directory):
    """The broker of all processes that pass this directory: its `bootstrap_servers`."""
    address = directory / "broker-address"
    with (directory / "broker-users").open("w") as users, ExitStack() as stack:
        with _starting(directory):
            if address.exists():
                fcntl.flock(users, fcntl.LOCK_SH)
            else:
                with left_to_others():
                    broker = stack.enter_context(Broker())
                address.write_text(broker.bootstrap_servers)
                # Waits for the other users, just before the broker stops.
                stack.callback(fcntl.flock, users, fcntl.LOCK_EX)
                stack.callback(_forget, directory, address)
            servers = address.read_text()
        yield SimpleNamespace(bootstrap_servers=servers)


@contextmanager
def _starting(directory):
    with (directory / "broker-starts").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _forget(directory, address):
    with _starting(directory):
        address.unlink()
