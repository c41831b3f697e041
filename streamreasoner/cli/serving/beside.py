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
    from streamreasoner.system.stopping import on_signals

    order = read_order(sys.stdin.buffer)
    configure_logging(order.log)
    served = Served(order.tables, None, order.upstream)
    with on_signals() as stop, socket.socket(fileno=order.descriptor) as place:

        def stop_at_the_end() -> None:
            sys.stdin.buffer.read()
            stop.request()

        threading.Thread(target=stop_at_the_end, daemon=True).start()
        Server(order.server, served, stop).run([place])


if __name__ == "__main__":
    main()
