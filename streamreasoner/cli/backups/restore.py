"""`streamreasoner restore`: the state of a pipeline from a backup."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from streamreasoner.cli.options import CONFIG_FILE, ConfigFile
from streamreasoner.counts import counted


def restore(
    directory: Annotated[Path, typer.Argument(help="A directory that `backup` has written.")],
    config: ConfigFile = CONFIG_FILE,
) -> None:
    """Restore a backup into an empty state, and catch up with what was published after it.

    Epochs that the backup lacks are evaluated again from the input topics, and not published again.
    """
    from streamreasoner.system.extras import require

    require("pipeline", "`streamreasoner restore`")

    from streamreasoner.cli.logs import configure_logging
    from streamreasoner.config import load
    from streamreasoner.service import restoring

    loaded = load(config)
    configure_logging(loaded.log)
    restored, evaluated = restoring.restore(loaded, directory)
    print(
        f"Restored the state of {restored.app_id} at the end of epoch {restored.epoch}, and "
        f"evaluated again {counted(evaluated, 'epoch')} that had been published after it. Go on "
        f"with: streamreasoner run --config {config}"
    )
