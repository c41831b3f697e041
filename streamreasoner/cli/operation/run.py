"""`streamreasoner run`: a pipeline from a configuration file, until SIGTERM or SIGINT."""

from __future__ import annotations

from typing import Annotated

import typer

from streamreasoner.cli.options import CONFIG_FILE, ConfigFile


def run(
    config: ConfigFile = CONFIG_FILE,
    *,
    standby: Annotated[
        bool,
        typer.Option(
            "--standby",
            help="While another process has the state, follow it, and take over when it ends.",
        ),
    ] = False,
) -> None:
    """Run a pipeline until SIGTERM or SIGINT; the current batch is finished first."""
    from streamreasoner.system.memory import keep_freed_memory

    keep_freed_memory()

    from streamreasoner.system.extras import require

    require("pipeline", "`streamreasoner run`")

    from streamreasoner.cli.logs import configure_logging
    from streamreasoner.config import load
    from streamreasoner.service import supervise
    from streamreasoner.system.stopping import on_signals

    loaded = load(config)
    if loaded.server.facts:
        require("server", "server.facts = true")
    configure_logging(loaded.log)
    with on_signals() as stop:
        supervise.run(loaded, stop, standby=standby)
