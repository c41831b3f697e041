"""A proxy whose connections go half open: both ends believe in them, and nothing arrives."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from free_ports import free_port

_BYTES = 1 << 16


class Proxy:
    """Forwards connections to a port, as a context manager.

    Attributes:
        port: Where it listens.
        target: A free port, for the server that connections go to.
        dropped: How many connections went half open.
    """

    def __init__(self):
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self.target = free_port()
        self.dropped = 0
        self._silent, self._sockets = set(), []
        self._lock = threading.Lock()

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def drop(self):
        """Forward nothing more on the connections of now; none of them is closed."""
        with self._lock:
            open_ = {each for each in self._sockets if each.fileno() >= 0}
            self.dropped += len(open_ - self._silent) // 2
            self._silent |= open_

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                server = socket.create_connection(("127.0.0.1", self.target))
                with self._lock:
                    self._sockets += [client, server]
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self._forward, args=ends, daemon=True).start()

    def _forward(self, source, sink):
        with suppress(OSError):
            while data := source.recv(_BYTES):
                if source not in self._silent:
                    sink.sendall(data)
        # The end of a connection does not arrive either.
        if source not in self._silent:
            for each in (source, sink):
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
