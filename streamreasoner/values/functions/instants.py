"""Parts of dates and times, and arithmetic with durations. Invariant: the text of a zone is kept.

Parts are those of SPARQL 1.1, section 17.4.5, as local to the timezone of the literal. Arithmetic
is that of XPath 3.1 functions, section 9.7, and adds years and months as XSD 1.1 part 2 does
(E.3.3): in a month without that day the last one is taken. A duration is an xsd:duration,
dayTimeDuration or yearMonthDuration. An instant without a timezone is in UTC, as in `valuation`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from streamreasoner.rdf.vocabulary import XSD, XSD_DATE, XSD_DATE_TIME
from streamreasoner.values import calendar
from streamreasoner.values.comparison import compare
from streamreasoner.values.datatypes.mappings import date_text, duration_text, term
from streamreasoner.values.datatypes.spaces import canonical as canonical_term
from streamreasoner.values.literal import canonical, literal
from streamreasoner.values.numbers import Type, exact, number
from streamreasoner.values.valuation import FRACTION_DIGITS, UNITS, ValueKind

_INSTANT = re.compile(
    r"(-?[0-9]{4,})-([0-9]{2})-([0-9]{2})"
    r"(?:T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?)?(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_DURATION = re.compile(
    r"(-?)P(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)D)?"
    r"(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:\.([0-9]+))?S)?)?"
)
_ZONE = re.compile(r"(?:Z|[+-][0-9]{2}:[0-9]{2})\Z")
_DAY_SECONDS = 86_400
_ZONES = 14 * 3600
"""How far, in seconds, a time without a zone may be from the same time in UTC."""
_MAX_YEAR = 999_999_999
_DAY_TIME = XSD + "dayTimeDuration"


class _Instant(NamedTuple):
    """A date or a dateTime as it is written; a date has no seconds, a part of `units` below one."""

    is_date: bool
    year: int
    month: int
    day: int
    seconds: int
    fraction: int
    zone: str

    @property
    def units(self) -> int:
        """Its distance from 1970-01-01T00:00:00 on its own clock, in units of 1e-18 seconds."""
        since = calendar.days(self.year, self.month, self.day)
        assert since is not None  # noqa: S101 - literals have valid dates
        return (since * _DAY_SECONDS + self.seconds) * UNITS + self.fraction


class _Duration(NamedTuple):
    """Months, and units of 1e-18 seconds."""

    months: int
    units: int


def year(instant: str) -> str | None:
    """The year of a dateTime or date, an xsd:integer."""
    parts = _instant(instant)
    return None if parts is None else _integer(parts.year)


def month(instant: str) -> str | None:
    """The month of a dateTime or date, from 1 to 12."""
    parts = _instant(instant)
    return None if parts is None else _integer(parts.month)


def day(instant: str) -> str | None:
    """The day of the month of a dateTime or date, from 1 to 31."""
    parts = _instant(instant)
    return None if parts is None else _integer(parts.day)


def hours(instant: str) -> str | None:
    """The hours of a dateTime, from 0 to 23."""
    parts = _instant(instant)
    return None if parts is None or parts.is_date else _integer(parts.seconds // 3600)


def minutes(instant: str) -> str | None:
    """The minutes of a dateTime, from 0 to 59."""
    parts = _instant(instant)
    return None if parts is None or parts.is_date else _integer(parts.seconds // 60 % 60)


def seconds(instant: str) -> str | None:
    """The seconds of a dateTime with their fraction, an xsd:decimal."""
    parts = _instant(instant)
    if parts is None or parts.is_date:
        return None
    return exact(Type.DECIMAL, parts.seconds % 60 * UNITS + parts.fraction)


def timezone(instant: str) -> str | None:
    """The timezone as an xsd:dayTimeDuration; no value without one."""
    parts = _instant(instant)
    if parts is None or not parts.zone:
        return None
    offset = _offset(parts.zone)
    return term(duration_text("-" if offset < 0 else "", 0, abs(offset), ""), _DAY_TIME)


def zone(instant: str) -> str | None:
    """The timezone as it is written, a string; empty without one."""
    parsed = literal(instant)
    if parsed is None or parsed.value.kind is not ValueKind.INSTANT:
        return None
    match = _INSTANT.fullmatch(parsed.lexical)
    return canonical((match and match[8]) or "")


def add_duration(instant: str, duration: str) -> str | None:
    """The dateTime or date after a duration; a date counts from its first instant."""
    return _moved(instant, duration, 1)


def subtract_duration(instant: str, duration: str) -> str | None:
    """The dateTime or date before a duration."""
    return _moved(instant, duration, -1)


def comparable(one: str, other: str) -> bool | None:
    """Whether it is decided which of two dateTimes or dates is earlier, or that they are equal."""
    if any(_instant(each) is None for each in (one, other)):
        return None
    return order(one, other) is not None


def same_time(one: str, other: str) -> bool | None:
    """Whether two dateTimes or two dates are equal; a date and a dateTime are not."""
    if _is_date(one) != _is_date(other):
        return False
    found = order(one, other)
    return None if found is None else found == 0


def order(one: str, other: str) -> int | None:
    """The order of two dateTimes or two dates; None if it depends on a zone that one lacks.

    Source: XML Schema 1.1, part 2, section 3.3.7 on the order of xsd:dateTime.
    """
    a, b = literal(one), literal(other)
    assert a is not None  # noqa: S101 - both are instants
    assert b is not None  # noqa: S101
    if _is_date(one) != _is_date(other):
        return None
    is_local = [_ZONE.search(each.lexical) is None for each in (a, b)]
    if is_local[0] != is_local[1] and abs(a.value.whole - b.value.whole) <= _ZONES:
        return None
    return compare(one, other)


def duration_between(start: str, end: str) -> str | None:
    """The xsd:dayTimeDuration from one instant to another; negative if it is earlier."""
    a, b = literal(start), literal(end)
    if a is None or b is None or {a.value.kind, b.value.kind} != {ValueKind.INSTANT}:
        return None
    units = (b.value.whole - a.value.whole) * UNITS + b.value.fraction - a.value.fraction
    return _day_time(units)


def to_seconds(duration: str) -> str | None:
    """The length of a duration without years and months in seconds, an xsd:decimal."""
    parts = _duration(duration)
    return None if parts is None or parts.months else exact(Type.DECIMAL, parts.units)


def to_duration(length: str) -> str | None:
    """The xsd:dayTimeDuration of a number of seconds, an integer or a decimal."""
    parsed = number(length)
    return None if parsed is None or parsed.type is Type.DOUBLE else _day_time(parsed.units)


def _moved(instant: str, duration: str, sign: int) -> str | None:
    start, step = _instant(instant), _duration(duration)
    if start is None or step is None:
        return None
    later, from_zero = divmod(start.year * 12 + start.month - 1 + sign * step.months, 12)
    last = calendar.month_days(later, from_zero + 1)
    moved = start._replace(year=later, month=from_zero + 1, day=min(start.day, last))
    whole, fraction = divmod(moved.units + sign * step.units, UNITS)
    since, second = divmod(whole, _DAY_SECONDS)
    date = calendar.date(since)
    if abs(date[0]) > _MAX_YEAR:
        return None
    if start.is_date:
        return term(date_text(*date) + start.zone, XSD_DATE)
    digits = f".{fraction:0{FRACTION_DIGITS}}".rstrip("0").rstrip(".")
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}{digits}"
    return term(f"{date_text(*date)}T{clock}{start.zone}", XSD_DATE_TIME)


def _instant(text: str) -> _Instant | None:
    """The parts of the canonical form of an instant."""
    parsed = literal(text)
    if parsed is None or parsed.value.kind is not ValueKind.INSTANT:
        return None
    plain = literal(canonical_term(text))
    match = None if plain is None else _INSTANT.fullmatch(plain.lexical)
    if match is None:
        return None
    hour, minute, second = (int(part or 0) for part in match.group(4, 5, 6))
    return _Instant(
        is_date=match[4] is None,
        year=int(match[1]),
        month=int(match[2]),
        day=int(match[3]),
        seconds=(hour * 60 + minute) * 60 + second,
        fraction=int((match[7] or "").ljust(FRACTION_DIGITS, "0")),
        zone=match[8] or "",
    )


def _duration(text: str) -> _Duration | None:
    """The value of a duration; None if it has more than 18 fraction digits."""
    parsed = literal(canonical_term(text))
    if parsed is None or parsed.datatype != XSD + "duration":
        return None
    match = _DURATION.fullmatch(parsed.lexical)
    if match is None or len(match[8] or "") > FRACTION_DIGITS:
        return None
    years, months, whole_days, *clock = (int(part or 0) for part in match.group(2, 3, 4, 5, 6, 7))
    whole = whole_days * _DAY_SECONDS + clock[0] * 3600 + clock[1] * 60 + clock[2]
    units = whole * UNITS + int((match[8] or "").ljust(FRACTION_DIGITS, "0"))
    sign = -1 if match[1] else 1
    return _Duration(sign * (years * 12 + months), sign * units)


def _day_time(units: int) -> str:
    whole, fraction = divmod(abs(units), UNITS)
    text = duration_text("-" if units < 0 else "", 0, whole, f"{fraction:0{FRACTION_DIGITS}}")
    return term(text, _DAY_TIME)


def _offset(text: str) -> int:
    """Seconds by which a canonical timezone is ahead of UTC."""
    if text == "Z":
        return 0
    offset = int(text[1:3]) * 3600 + int(text[4:6]) * 60
    return -offset if text[0] == "-" else offset


def _integer(whole: int) -> str:
    return exact(Type.INTEGER, whole * UNITS)


def _is_date(instant: str) -> bool:
    parsed = literal(instant)
    return parsed is not None and parsed.datatype == XSD_DATE
