"""Epochs as a user names them: by number or time. Invariant: a time never names a later epoch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from streamreasoner.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

    from streamreasoner.history.epochs import Past
    from streamreasoner.history.past_facts import PastFacts


class Lines(Enum):
    """What is printed."""

    TEXT = "text"
    JSON = "json"


Format = Annotated[
    Lines, typer.Option("--format", help="Lines in the rule language, or JSON lines.")
]
MOMENT_HELP = "an epoch, or a time such as 2026-01-31T12:00:00Z: the last epoch that was not later"


def tables_of(config: Path, state: Path | None) -> Path:
    """The directory of the tables of a state.

    Args:
        config: The configuration file of its pipeline.
        state: Its directory, in place of a configuration.
    """
    from streamreasoner.config import load
    from streamreasoner.state.objects.held import refresh

    if state is not None:
        return state / "tables"
    loaded = load(config).state
    refresh(loaded)
    return loaded.tables


def open_past(config: Path, state: Path | None) -> PastFacts:
    """The facts of a state, which another process may be writing; see `tables_of`.

    Raises:
        StateError: There is no state, or it is damaged.
    """
    from streamreasoner.history.epochs import Past
    from streamreasoner.history.past_facts import PastFacts

    return PastFacts(Past(tables_of(config, state)))


def epoch_of(past: Past, moment: str | None) -> int:
    """The epoch that a text names, the last one by default.

    Raises:
        DataError: The text is neither a number nor a time.
        StateError: The epoch cannot be asked for.
    """
    if moment is None:
        return past.last
    if moment.isascii() and moment.isdigit():
        epoch = int(moment)
    else:
        time = time_of(moment)
        if time is None:
            raise DataError(
                f"'{moment}' is neither an epoch nor a time; write a time as 2026-01-31T12:00:00Z."
            )
        epoch = past.epoch_at(time)
    past.check(epoch)
    return epoch


def time_of(text: str) -> datetime | None:
    """The time that a text is, None if it is not one."""
    import numpy as np

    from streamreasoner.io.formats.reading import timestamps

    times = timestamps.EventTimes.of([text])
    [milliseconds] = times.milliseconds(np.zeros(1, np.int64)).tolist()
    return None if milliseconds == timestamps.INVALID else timestamps.instant(milliseconds)


def iso(time: datetime | None) -> str | None:
    """A time as messages of the output topic have it."""
    from streamreasoner.io.formats.reading import timestamps

    if time is None:
        return None
    milliseconds = (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    return timestamps.iso(milliseconds)
