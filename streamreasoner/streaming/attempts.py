"""What is known about an epoch that failed, in a file of the state directory.

Invariant: a trial is on the disk before it begins, so that a process that it ends is noticed by the
next one; a verdict is on the disk before durable step 1, so that a replay leaves out the same
messages. An epoch that does not fail, in a process that was not restarted, costs no file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from streamreasoner.errors import StateError

if TYPE_CHECKING:
    from pathlib import Path


class LeftOut(msgspec.Struct, frozen=True):
    """A message that the epoch is evaluated without.

    Attributes:
        topic: Its topic.
        partition: Its partition.
        offset: Its offset.
        why: What happens with it.
    """

    topic: str
    partition: int
    offset: int
    why: str


class Verdict(msgspec.Struct, frozen=True):
    """Without what an epoch is evaluated.

    Attributes:
        left_out: Messages, in the order of the batch.
        program_refused: Why the change of the program is refused, None if it is not.
    """

    left_out: tuple[LeftOut, ...] = ()
    program_refused: str | None = None


class Attempts(msgspec.Struct, frozen=True):
    """The attempts at an epoch.

    Attributes:
        epoch: The epoch.
        offsets: Its input range.
        trials: What each evaluation came to: None if it passed, else why it failed. The first is
            that of the whole batch, the others are of parts.
        begun: How many processes have begun the evaluation after those.
        verdict: How the epoch is evaluated, once that is known.
    """

    epoch: int
    offsets: dict[str, dict[str, list[int]]]
    trials: tuple[str | None, ...] = ()
    begun: int = 0
    verdict: Verdict | None = None


class AttemptsFile:
    """The file.

    Args:
        path: Where it is.

    Raises:
        StateError: It cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._content: Attempts | None = None
        try:
            self._content = msgspec.json.decode(path.read_bytes(), type=Attempts)
        except FileNotFoundError:
            pass
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise StateError(
                f"{path} cannot be read: {error}. It says which messages an epoch is evaluated "
                "without. Restore it from a backup; if there is none, delete it: the messages are "
                "then looked for again."
            ) from None

    def about(self, epoch: int, offsets: dict[str, dict[str, list[int]]]) -> Attempts | None:
        """What is known about an epoch; anything about another one is forgotten."""
        found = self._content
        if found is not None and (found.epoch, found.offsets) != (epoch, offsets):
            self.forget()
        return self._content

    def write(self, attempts: Attempts) -> None:
        """Replace the content; it is on the disk when this returns.

        Raises:
            StateError: The disk refuses.
        """
        new = self._path.with_name(f"{self._path.name}.new")
        try:
            with new.open("wb") as file:
                file.write(msgspec.json.encode(attempts))
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)
            directory = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)
        except OSError as error:
            raise StateError(f"{self._path} cannot be written: {error.strerror}.") from None
        self._content = attempts

    def forget(self) -> None:
        """Delete the file, if there is one."""
        if self._content is not None:
            self._path.unlink(missing_ok=True)
            self._content = None
