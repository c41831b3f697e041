"""`streamreasoner migrate`: a state of an earlier format becomes one of this release."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from streamreasoner import storage
from streamreasoner.config import load
from streamreasoner.state_version import FORMAT
from streamreasoner.streaming.lock import StateLock


def migrate(
    config: Annotated[Path, typer.Option(help="The configuration file (TOML).")],
) -> None:
    """Bring the state of a stopped pipeline to the version of this release; content stays."""
    state = load(config).state
    with closing(StateLock(state.directory)):
        before = storage.migrate(state.tables)
    if before == FORMAT:
        print(f"{state.tables} has format {FORMAT} already.")
    else:
        print(f"Migrated {state.tables} from format {before} to {FORMAT}.")
