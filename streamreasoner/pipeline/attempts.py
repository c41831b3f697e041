"""A record of a failed epoch, in a file of the state directory.

Invariant: a trial is on the disk before it begins, so the next process knows if it ended this one;
a verdict is on the disk before durable step 1, so a replay leaves out the same messages.
An epoch that does not fail, in a process that was not restarted, writes no file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from streamreasoner.errors import StateError
from streamreasoner.system import disk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class LeftOut(msgspec.Struct, frozen=True):
    """A message that the epoch is evaluated without.

    Attributes:
        topic: Its topic.
        partition: Its partition.
        offset: Its offset.
        why: How the epoch fails with it.
    """

    topic: str
    partition: int
    offset: int
    why: str


class Verdict(msgspec.Struct, frozen=True):
    """What an epoch is evaluated without.

    Attributes:
        left_out: Messages, in the order of the batch.
        program_refused: Why the change of the program is rejected, None if it is not.
    """

    left_out: tuple[LeftOut, ...] = ()
    program_refused: str | None = None


class Attempts(msgspec.Struct, frozen=True):
    """The attempts at an epoch.

    Attributes:
        epoch: The epoch.
        offsets: Its input range.
        trials: The result of each evaluation: None if it passed, else why it failed. The first
            is of the whole batch, the others are of parts.
        begun: How many processes have begun the evaluation after these.
        verdict: What to leave out, once that is known.
    """

    epoch: int
    offsets: dict[str, dict[str, list[int]]]
    trials: tuple[str | None, ...] = ()
    begun: int = 0
    verdict: Verdict | None = None


_decode = msgspec.json.Decoder(Attempts).decode


class AttemptsFile:
    """The file that holds the attempts.

    Args:
        path: Path of the file.
        upload: Makes the state directory durable elsewhere.

    Raises:
        StateError: It cannot be read.
    """

    def __init__(self, path: Path, upload: Callable[[], None] = lambda: None) -> None:
        self._path = path
        self._upload = upload
        self._content: Attempts | None = None
        try:
            self._content = _decode(path.read_bytes())
        except FileNotFoundError:
            pass
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise StateError(
                f"{path} cannot be read: {error}. It records which messages an epoch leaves out. "
                "Restore it from a backup. Without a backup, delete it: the search for these "
                "messages then runs again."
            ) from None

    def about(self, epoch: int, offsets: dict[str, dict[str, list[int]]]) -> Attempts | None:
        """The attempts at an epoch; forgets those at any other."""
        content = self._content
        if content is not None and (content.epoch, content.offsets) != (epoch, offsets):
            self.forget()
        return self._content

    def write(self, attempts: Attempts) -> None:
        """Replace the content; it is durable on return.

        Raises:
            StateError: The file cannot be written.
            EnvironmentSetupError: It cannot be uploaded.
        """
        try:
            disk.write(self._path, msgspec.json.encode(attempts))
            disk.sync(self._path.parent)
        except OSError as error:
            raise StateError(f"{self._path} cannot be written: {error.strerror}.") from None
        self._content = attempts
        self._upload()

    def forget(self) -> None:
        """Delete the file, if there is one."""
        if self._content is not None:
            self._path.unlink(missing_ok=True)
            self._content = None
