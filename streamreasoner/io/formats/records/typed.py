"""Values that JSON has no type for: dates, times, decimals, bytes.

Invariant: equal values have equal texts, those of XSD 1.1 part 2, so that equal columns are equal
terms; a decimal has the digits of its scale. A value outside the years 1 to 9999 is rejected.
"""

from __future__ import annotations

import base64
from datetime import date
from typing import NamedTuple, TypeAlias

import numpy as np

from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.rdf.vocabulary import (
    XSD_BASE64_BINARY,
    XSD_DATE,
    XSD_DATE_TIME,
    XSD_DECIMAL,
    XSD_TIME,
)

_EPOCH = date(1970, 1, 1).toordinal()
_DAY = 86_400
_NANOS = 1_000_000_000
_MOST_DIGITS = 4_000
"""Fewer than the digits up to which Python writes an integer; terms have a limit of their own."""


class Typed(NamedTuple):
    """A value as the text and the datatype of its literal."""

    text: str
    datatype: str


Value: TypeAlias = str | int | float | bool | Typed | None
"""The value of a column; None is NULL."""


def date_of(days: int) -> Typed:
    """The date that is some days after 1970-01-01."""
    return Typed(_date(days), XSD_DATE)


def time_of_day(nanos: int) -> Typed:
    """The time that is some nanoseconds after midnight."""
    if not 0 <= nanos < _DAY * _NANOS:
        raise _out_of_range(f"A time that is {nanos} ns after midnight")
    return Typed(_time(*divmod(nanos, _NANOS)), XSD_TIME)


def instant(nanos: int, zone: str = "Z") -> Typed:
    """The point in time that is some nanoseconds after 1970.

    Args:
        nanos: Nanoseconds since 1970-01-01T00:00:00.
        zone: `Z` for UTC; empty for a time without a zone.
    """
    seconds, fraction = divmod(nanos, _NANOS)
    days, second = divmod(seconds, _DAY)
    return Typed(f"{_date(days)}T{_time(second, fraction)}{zone}", XSD_DATE_TIME)


def decimal(unscaled: int, scale: int) -> Typed:
    """The number unscaled * 10 ** -scale, with as many digits after the point as its scale."""
    if abs(scale) > _MOST_DIGITS or abs(unscaled) >= 10**_MOST_DIGITS:
        raise _out_of_range(f"A decimal of more than {_MOST_DIGITS} digits")
    digits = str(abs(unscaled)) + "0" * max(-scale if unscaled else 0, 0)
    if scale > 0:
        digits = digits.rjust(scale + 1, "0")
        digits = f"{digits[:-scale]}.{digits[-scale:]}"
    return Typed(f"-{digits}" if unscaled < 0 else digits, XSD_DECIMAL)


def binary(value: bytes) -> Typed:
    """Bytes in Base64."""
    return Typed(base64.b64encode(value).decode(), XSD_BASE64_BINARY)


def shortest(value: float) -> float:
    """A number of 32 bits with the fewest digits that tell it from others, as JSON has it."""
    return float(str(np.float32(value)))


def _date(days: int) -> str:
    try:
        return date.fromordinal(_EPOCH + days).isoformat()
    except (ValueError, OverflowError):
        raise _out_of_range(f"A date that is {days} days after 1970-01-01") from None


def _time(second: int, nanos: int) -> str:
    fraction = f".{nanos:09}".rstrip("0") if nanos else ""
    return f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}{fraction}"


def _out_of_range(what: str) -> RejectedError:
    return RejectedError(Reason.NUMBER_OUT_OF_RANGE, f"{what} is out of range.")
