"""`python -m streamreasoner.cli.serving.beside`: the server's process, which a pipeline starts."""

from __future__ import annotations

import os
import sys
import threading

NICENESS = 19
"""Batches come first where processors are few."""


def main() -> None:
    """Serve what standard input says, until it ends."""
    os.nice(NICENESS)  # before libraries start threads, which take it over

    import socket

    from streamreasoner.cli.logs import configure_logging
    from streamreasoner.server.supervisor import read_order
    from streamreasoner.server.web.serve import Served, Server

    order = read_order(sys.stdin.buffer)
    configure_logging(order.log)
    server = Server(order.server, Served(order.tables, None, order.upstream))

    def stop_at_the_end() -> None:
        sys.stdin.buffer.read()
        server.should_exit = True

    threading.Thread(target=stop_at_the_end, daemon=True).start()
    with socket.socket(fileno=order.descriptor) as place:
        server.run([place])


if __name__ == "__main__":
    main()
