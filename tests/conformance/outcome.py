"""What became of a case. Invariant: a case passes, or its outcome names the cause."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from streamreasoner.errors import StreamReasonerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from streamreasoner.engine.session import Store

OURS = "streamreasoner"
CONTINUOUS = "streamreasoner, continuous"
MESSAGES = "streamreasoner, messages"
REPLAYED = "streamreasoner, replayed"
REPLAYED_ON_PARTS = "streamreasoner, replayed on parts"
OWN = (OURS, CONTINUOUS, MESSAGES, REPLAYED, REPLAYED_ON_PARTS)
"""What this package is called as a system."""
SECONDS = 60
_SHOWN = 160
_CODE = re.compile(r"\bSR\d{3}\b[^\n]*")


class Verdict(StrEnum):
    """How a case ended."""

    PASSED = "passed"
    WRONG = "wrong"
    REFUSED = "refused"
    FAILED = "failed"


class WrongError(Exception):
    """The system answered, and the suite has another answer."""


class NotRunError(Exception):
    """The system has no such operation, so the case is not counted for it."""


@dataclass(frozen=True, slots=True)
class Case:
    """A case of a suite.

    Attributes:
        suite: The suite, as the table calls it.
        name: Folder and name of the case, unique in its suite.
        checks: By the name of a system, what raises unless the system passes.
        test: The IRI of the case.
        replay: Replays its data, in stores of a backend; None: nothing is kept up to date.
    """

    suite: str
    name: str
    checks: Mapping[str, Callable[[], None]]
    test: str
    replay: Callable[[Callable[[], Store]], None] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a system made of a case.

    Attributes:
        verdict: How it ended.
        cause: Why it did not pass, in a line.
    """

    verdict: Verdict
    cause: str = ""


def outcome(check: Callable[[], None], seconds: int = SECONDS) -> Outcome | None:
    """Run a check; None if the system has no such operation.

    Args:
        check: Raises unless the system passes.
        seconds: How long it may take; 0: as long as it likes.
    """
    signal.signal(signal.SIGALRM, partial(_too_long, seconds))
    signal.alarm(seconds)
    try:
        check()
    except NotRunError:
        return None
    except WrongError as error:
        return Outcome(Verdict.WRONG, _line(str(error)))
    except StreamReasonerError as error:
        return Outcome(Verdict.REFUSED, _line(str(error)))
    except RecursionError:
        return Outcome(Verdict.FAILED, "RecursionError")
    except Exception as error:  # noqa: BLE001 - peers raise what they like
        return Outcome(Verdict.FAILED, _line(f"{type(error).__name__}: {error}"))
    finally:
        signal.alarm(0)
    return Outcome(Verdict.PASSED)


def refuses(
    check: Callable[[], object], own: type[Exception] | tuple[type[Exception], ...]
) -> None:
    """Check that something is refused with an error that is the system's own.

    Raises:
        WrongError: It is accepted.
    """
    try:
        check()
    except own:
        return
    raise WrongError("accepted, and should be refused")


def _too_long(seconds: int, number: int, frame: object) -> None:
    del number, frame
    raise TimeoutError(f"longer than {seconds} s")


def _line(text: str) -> str:
    """The line of a message that names the cause."""
    found = _CODE.search(text)
    line = found[0] if found else " ".join(text.split())
    return line[:_SHOWN]
