"""What several checks of a start refuse. Invariant: no check hides the problems of another."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from streamreasoner.errors import StartError, StreamReasonerError

if TYPE_CHECKING:
    from collections.abc import Iterator


class Problems:
    """Errors of checks that do not depend on each other."""

    def __init__(self) -> None:
        self._errors: list[StreamReasonerError] = []

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the error of a check, and go on with the next one."""
        try:
            yield
        except StreamReasonerError as error:
            self._errors.append(error)

    def end_check(self) -> None:
        """End the start if a check has failed.

        Raises:
            StreamReasonerError: The only error, or a `StartError` with the texts of all.
        """
        match self._errors:
            case []:
                return
            case [error]:
                raise error
            case errors:
                raise StartError("\n".join(map(str, errors)))
