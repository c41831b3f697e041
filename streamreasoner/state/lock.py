"""The lock on a state directory. Invariant: at most one pipeline holds it.

The lock belongs to an open file description: the kernel releases it however its holders die, and a
child that inherits it holds it too, so a JVM that outlives its driver keeps the next driver out.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from typing import TYPE_CHECKING

from streamreasoner.errors import EnvironmentSetupError

if TYPE_CHECKING:
    from pathlib import Path

TIMEOUT_SECONDS = 10.0
# A path has a single slash where the address had two.
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:")


def holder(directory: Path) -> str | None:
    """The process that holds a state directory, which need not exist; None if none does."""
    path = directory / "lock"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EnvironmentSetupError(
            f"{path} (state.directory) cannot be read: {error.strerror}. Run the command as the "
            "user of the pipeline."
        ) from None
    try:
        # Shared, so that readers do not see each other, and nothing is written.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _written(path)
    else:
        return None
    finally:
        os.close(descriptor)


def check_local(directory: Path) -> None:
    """Refuse an address of an object store where a path is asked for.

    Raises:
        EnvironmentSetupError: It is one.
    """
    if _ADDRESS.fullmatch(directory.parts[0] if directory.parts else "") is not None:
        raise EnvironmentSetupError(
            f"{directory} is an address, not a directory of this machine. The state of a pipeline "
            "is kept in an object store with state.object_store in its configuration: name that "
            "with --config. Other states are in directories."
        )


class StateLock:
    """Exclusive use of a state directory, from construction or `take` to `close`.

    Args:
        directory: The state directory; created if absent, readable by its owner only.
        timeout: Seconds to wait for a holder that may be about to exit.
        key: The configuration key that names the directory; empty if none does.
        required: Whether it must be held; otherwise it is opened, and held if it is free.

    Attributes:
        held: Whether this process holds it.

    Raises:
        EnvironmentSetupError: Another process holds it, or the directory cannot be written.
    """

    def __init__(
        self,
        directory: Path,
        *,
        timeout: float = TIMEOUT_SECONDS,
        key: str = "state.directory",
        required: bool = True,
    ) -> None:
        check_local(directory)
        shown = f"{directory} ({key})" if key else f"{directory}"
        self._path = path = directory / "lock"
        self.held = False
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise EnvironmentSetupError(
                f"The directory {shown} cannot be used: {error.strerror}."
            ) from None
        deadline = time.monotonic() + timeout
        while not self.take() and required:
            if time.monotonic() >= deadline:
                os.close(self._descriptor)
                raise EnvironmentSetupError(
                    f"The directory {shown} is in use by process "
                    f"{_written(path)}. Stop it, or choose another directory."
                )
            time.sleep(0.1)

    def take(self) -> bool:
        """Take it unless another process holds it; returns whether it is held.

        Raises:
            EnvironmentSetupError: The directory cannot be written.
        """
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        try:
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, f"{os.getpid()}\n".encode())
        except OSError as error:
            os.close(self._descriptor)
            raise EnvironmentSetupError(
                f"{self._path} cannot be written: {error.strerror}. Fix the cause, then restart "
                "the process."
            ) from None
        self.held = True
        return True

    @property
    def holder(self) -> str:
        """The process id that the last holder has written."""
        return _written(self._path)

    @property
    def descriptor(self) -> int:
        """The open file; a child that inherits it holds the lock until it exits."""
        return self._descriptor

    def close(self) -> None:
        """Release the directory."""
        with contextlib.suppress(OSError):
            os.close(self._descriptor)


def _written(path: Path) -> str:
    """The process id that the holder has written."""
    return path.read_text(errors="replace").strip() or "unknown"
