"""Durations as texts. Invariant: a duration is a whole number of milliseconds.

The texts are those of ISO 8601: `PT10M`, `P1DT12H`, `PT0.5S`. Years and months are not among them:
their length depends on the date.
"""

from __future__ import annotations

import re
from decimal import Decimal

ALLOWED = "a duration such as PT30S, PT10M, P1DT12H or P4W, up to 1,000 years"

_SHAPE = re.compile(
    r"P(?=.)(?:(\d+)W)?(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{1,3})?)S)?)?",
    re.ASCII,
)
_SECONDS = (604_800, 86_400, 3_600, 60, 1)
_MOST = 1_000 * 365 * 86_400 * 1_000
_MOST_CHARACTERS = 40


def milliseconds(text: str) -> int:
    """A duration in milliseconds.

    Raises:
        ValueError: The text is not `ALLOWED`.
    """
    match = _SHAPE.fullmatch(text) if len(text) <= _MOST_CHARACTERS else None
    if match is None:
        raise ValueError
    seconds = sum(
        Decimal(number or 0) * unit for number, unit in zip(match.groups(), _SECONDS, strict=True)
    )
    duration = int(seconds * 1000)
    if duration > _MOST:
        raise ValueError
    return duration


def text(duration: int) -> str:
    """The shortest text of a duration in milliseconds."""
    parts = []
    for unit, letter in ((86_400_000, "D"), (3_600_000, "H"), (60_000, "M")):
        count, duration = divmod(duration, unit)
        parts.append(f"{count}{letter}" if count else "")
    seconds, thousandths = divmod(duration, 1000)
    fraction = f".{thousandths:03}".rstrip("0") if thousandths else ""
    parts.append(f"{seconds}{fraction}S" if duration else "")
    time = "".join(parts[1:])
    if time:
        return f"P{parts[0]}T{time}"
    return f"P{parts[0]}" if parts[0] else "PT0S"
