"""What a check has found. Invariant: what is not ok says what to do."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from streamreasoner.errors import StreamReasonerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `doctor`.

    Attributes:
        check: What was checked.
        level: How bad it is; a start fails on an error.
        message: What was found, and what to do unless all is well.
    """

    check: str
    level: Level
    message: str


class Warned(Exception):  # noqa: N818 - not an error
    """What a check warns of; the check has no other result."""


def examine(check: str, look: Callable[[], str]) -> Iterator[Finding]:
    """What a check finds: a result, or the error it raises, and the warnings that it logs."""
    kept = _Kept()
    log = logging.getLogger("streamreasoner")
    log.addHandler(kept)
    try:
        found = Finding(check, Level.OK, look())
    except Warned as warning:
        found = Finding(check, Level.WARNING, str(warning))
    except StreamReasonerError as error:
        found = Finding(check, Level.ERROR, str(error))
    finally:
        log.removeHandler(kept)
    yield found
    yield from (Finding(check, Level.WARNING, message) for message in kept.messages)


def has_error(findings: Iterable[Finding]) -> bool:
    """Whether a start would fail."""
    return any(each.level is Level.ERROR for each in findings)


class _Kept(logging.Handler):
    """Keeps the warnings of a check, which a start would log."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name != "streamreasoner.kafka":
            self.messages.append(record.getMessage())
