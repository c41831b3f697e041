"""A state that is deleted. Invariant: only what a pipeline has written is, and the lock last.

A reset takes these steps. After a crash between two of them, a start is refused until it is
repeated: the topics name epochs that the state does not hold.

1. Delete the state: tables, checkpoint, records, copies.
2. Create the topics of output and violations again.
3. Delete the records of the application from the progress topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamreasoner.errors import StateError
from streamreasoner.system import disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from streamreasoner.config import Config

# What a run leaves in the state directory, in addition to the paths that the configuration names.
_FILES = ("attempts.json", "backend", "bootstrap.json", "spark.log", "tmp")


def places(config: Config) -> Iterator[Path]:
    """The files and folders of a state; they need not exist.

    The tables come first: without them a start is refused, whatever else is left.
    """
    state = config.state
    yield state.tables
    yield state.checkpoint_directory
    yield state.pieces
    yield state.standby
    yield from (state.directory / name for name in _FILES)
    yield from (state.unusable_schemas, state.topics, state.app_id)
    yield from state.former_copies
    yield state.restoring


def delete_state(config: Config) -> list[Path]:
    """Step 1: delete the state, whose lock this process holds; returns what there was.

    Raises:
        StateError: It cannot be deleted.
    """
    state = config.state
    try:
        found = disk.delete(places(config))
        disk.sync(state.directory)
    except OSError as error:
        raise StateError(
            f"{error.filename or state.directory} cannot be deleted: {error.strerror}. Fix the "
            "cause, and repeat the command: until then a start is refused."
        ) from None
    return found
