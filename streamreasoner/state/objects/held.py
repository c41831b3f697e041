"""Opens the state of a configuration. Invariant: no copy of an object store is taken for new."""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from streamreasoner.errors import StateError
from streamreasoner.state.lock import TIMEOUT_SECONDS, StateLock, check_local, holder
from streamreasoner.state.objects.mirror import (
    Mirror,
    NoUpload,
    Upload,
    check_directory,
    store_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from streamreasoner.config.process import StateConfig


def upload_of(state: StateConfig) -> Upload:
    """The upload of a state directory.

    Raises:
        EnvironmentSetupError: The store does not answer, or refuses; or the directory is the copy
            of a store, and the configuration names none.
    """
    if state.object_store is None:
        check_directory(state.directory)
        return NoUpload()
    return Mirror(state.directory, state.object_store)


@contextmanager
def held(
    state: StateConfig, timeout: float = TIMEOUT_SECONDS, *, is_ended: bool = False
) -> Iterator[Upload]:
    """The state of a stopped pipeline, for a command that changes it and then ends the upload.

    Args:
        state: Where it is.
        timeout: Seconds to wait for a holder that may be about to exit.
        is_ended: Whether it is known otherwise that no pipeline is running.

    Raises:
        StateError: A pipeline may be running elsewhere, or the state in the store is damaged.
        EnvironmentSetupError: A process holds the directory; or see `upload_of`.
    """
    with closing(StateLock(state.directory, timeout=timeout)):
        upload = upload_of(state)
        upload.fill()
        if not is_ended:
            upload.check_ended()
        upload.claim(ended=True)
        yield upload


def refresh(state: StateConfig) -> None:
    """Let the directory have what the store has, for readers, unless a pipeline works in it.

    Raises:
        StateError: The state in the store is damaged, or another one than in the directory.
        EnvironmentSetupError: See `upload_of`.
    """
    if state.object_store is not None and holder(state.directory) is None:
        with closing(StateLock(state.directory)):
            upload_of(state).fill()


def check_copy(directory: Path) -> None:
    """Refuse to read a copy that may be old.

    Raises:
        EnvironmentSetupError: It is an address, not a directory.
        StateError: It is the copy of a store, and no pipeline works in it.
    """
    check_local(directory)
    url = store_of(directory)
    if url is not None and holder(directory) is None:
        raise StateError(
            f"{directory} is a copy of the state in {url}, in which no pipeline is working, so it "
            "may be old. Name the configuration in place of the directory: the command then reads "
            "the store. `serve` needs a running pipeline there."
        )
