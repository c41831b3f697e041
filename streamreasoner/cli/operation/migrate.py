"""`streamreasoner migrate`: convert a state of an earlier format."""

from __future__ import annotations

from contextlib import closing

from streamreasoner.cli.options import CONFIG_FILE, ConfigFile


def migrate(config: ConfigFile = CONFIG_FILE) -> None:
    """Convert the state of a stopped pipeline to the format of this release."""
    from streamreasoner.config import load
    from streamreasoner.state import migrate as migrate_tables
    from streamreasoner.state.lock import StateLock
    from streamreasoner.state.version import FORMAT

    state = load(config).state
    with closing(StateLock(state.directory)):
        before = migrate_tables(state.tables)
    if before == FORMAT:
        print(f"{state.tables} already has format {FORMAT}.")
    else:
        print(f"Migrated {state.tables} from format {before} to {FORMAT}.")
