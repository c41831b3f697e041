"""`streamreasoner backup`: a copy of the state of a pipeline, which may be running."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from streamreasoner.cli.options import CONFIG_FILE, ConfigFile
from streamreasoner.counts import counted

_MIB = 1 << 20


def backup(
    directory: Annotated[Path, typer.Argument(help="A new directory.")],
    config: ConfigFile = CONFIG_FILE,
) -> None:
    """Copy the state of a pipeline into a directory, and verify the copy.

    The pipeline may be running, and is not disturbed. `restore` goes on from the copy.
    """
    from streamreasoner.config import load
    from streamreasoner.state.objects.held import refresh
    from streamreasoner.upkeep.backup import back_up

    loaded = load(config)
    refresh(loaded.state)
    made = back_up(loaded, directory)
    print(
        f"Wrote {directory}: the state of {made.app_id} at the end of epoch {made.epoch}, "
        f"{counted(len(made.files), 'file')} with {made.size / _MIB:,.1f} MiB, verified."
    )
