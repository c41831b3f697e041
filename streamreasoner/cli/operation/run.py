"""`streamreasoner run`: a pipeline from a configuration file, until SIGTERM or SIGINT."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer


def run(
    config: Annotated[Path, typer.Option(help="The configuration file (TOML).")],
) -> None:
    """Run a pipeline until SIGTERM or SIGINT; the current batch is finished first."""
    from streamreasoner import app
    from streamreasoner.cli.logs import configure_logging
    from streamreasoner.config import load

    loaded = load(config)
    configure_logging(loaded.log)
    app.run(loaded)
