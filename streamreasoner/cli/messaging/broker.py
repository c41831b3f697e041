"""`streamreasoner broker`: Kafka on this machine, without Docker, until SIGTERM or SIGINT."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from streamreasoner.system.interrupts import interruptible

_PORT = 9092


def broker(
    directory: Annotated[
        Path, typer.Option(help="Where topics are kept; the next start reuses them.")
    ],
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port on 127.0.0.1.")] = _PORT,
) -> None:
    """Run a Kafka broker on this machine, without Docker, until SIGTERM or SIGINT.

    For trials only: one node, on 127.0.0.1, without replication or access control.
    """
    from streamreasoner.system.extras import require

    require("pipeline", "`streamreasoner broker`")

    from streamreasoner.cli.logs import configure_logging
    from streamreasoner.config.process import LogConfig
    from streamreasoner.io.kafka.broker import Broker

    configure_logging(LogConfig(level="info", format="text"))

    server = Broker(directory.absolute(), port=port)
    with interruptible(), suppress(KeyboardInterrupt), server as kafka:
        print(f"Kafka listens on {kafka.bootstrap_servers}. Stop it with Ctrl-C.", flush=True)
        kafka.wait()
