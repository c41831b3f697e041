"""`streamreasoner migrate`: convert a state of an earlier format."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from streamreasoner.cli.options import CONFIG_FILE, ConfigFile, readable


def migrate(
    config: ConfigFile = CONFIG_FILE,
    *,
    state_directory: Annotated[
        Path | None,
        typer.Option(
            "--state",
            help="The directory of a state of Reasoner.open, in place of a configuration.",
            callback=readable,
        ),
    ] = None,
) -> None:
    """Convert the state of a stopped pipeline or closed reasoner to the format of this release."""
    from streamreasoner.api.durable.opening import check_owner
    from streamreasoner.config import load
    from streamreasoner.state import migrate as migrate_tables
    from streamreasoner.state.lock import StateLock
    from streamreasoner.state.objects.held import held
    from streamreasoner.state.version import FORMAT

    if state_directory is None:
        state = load(config).state
        tables = state.tables
        with held(state) as upload:
            before = migrate_tables(tables)
            upload.end()
    else:
        check_owner(state_directory)
        tables = state_directory / "tables"
        with closing(StateLock(state_directory, key="")):
            before = migrate_tables(tables)
    if before == FORMAT:
        print(f"{tables} already has format {FORMAT}.")
    else:
        print(f"Migrated {tables} from format {before} to {FORMAT}.")
