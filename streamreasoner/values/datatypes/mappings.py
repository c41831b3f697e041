"""Lexical forms to canonical ones, by primitive datatype. Invariant: equal values, equal results.

The canonical mappings are those of XSD 1.1 part 2, appendix E. Each takes a lexical form, and
returns the canonical form of its value, or None if it is not in the lexical space. Years of more
than 18 digits, and parts of durations that long, are not supported: XSD 1.1, section 5.4.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from streamreasoner.rdf.term_kind import TermKind
from streamreasoner.rdf.terms import Term, to_ntriples
from streamreasoner.rdf.vocabulary import XSD_DOUBLE, XSD_FLOAT
from streamreasoner.values import calendar
from streamreasoner.values.valuation import ValueKind, value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_CHARACTERS = re.compile("[\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")
_DECIMAL = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?")
_HEXADECIMAL = re.compile("(?:[0-9a-fA-F]{2})*")
_BASE64 = re.compile(
    "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/][AQgw]==)?"
)
_COLLAPSED = re.compile("(?:[^\t\n\r ]+(?: [^\t\n\r ]+)*)?")

_ZONE = "(Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)?"
_YEAR = "(-?(?:[1-9][0-9]{3,17}|0[0-9]{3}))"
_MONTH = "(0[1-9]|1[0-2])"
_DAY = "(0[1-9]|[12][0-9]|3[01])"
_CLOCK = r"(?:([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]+))?|(24):00:00(?:\.0+)?)"
_DATE_TIME = re.compile(f"{_YEAR}-{_MONTH}-{_DAY}T({_CLOCK}){_ZONE}")
_TIME = re.compile(f"({_CLOCK}){_ZONE}")
_DATE = re.compile(f"{_YEAR}-{_MONTH}-{_DAY}{_ZONE}")
_MONTH_DAY = re.compile(f"--{_MONTH}-{_DAY}{_ZONE}")
_OTHER_PARTS = {
    "gYear": re.compile(f"({_YEAR}){_ZONE}"),
    "gYearMonth": re.compile(f"({_YEAR}-{_MONTH}){_ZONE}"),
    "gMonth": re.compile(f"(--{_MONTH}){_ZONE}"),
    "gDay": re.compile(f"(---{_DAY}){_ZONE}"),
}
_LEAP_YEAR = 4
_UP_TO = "([0-9]{1,18})"
_DURATION = re.compile(
    f"(-?)P(?=.)(?:{_UP_TO}Y)?(?:{_UP_TO}M)?(?:{_UP_TO}D)?"
    rf"(?:T(?=.)(?:{_UP_TO}H)?(?:{_UP_TO}M)?(?:{_UP_TO}(?:\.([0-9]+))?S)?)?"
)


def term(text: str, datatype: str | None = None, language: str | None = None) -> str:
    """The canonical term of a literal."""
    return str(Term(TermKind.LITERAL, text, language, datatype))


def string(text: str) -> str | None:
    """A text of characters that XML has (XML 1.0, production Char)."""
    return text if _CHARACTERS.fullmatch(text) else None


def uri(text: str) -> str | None:
    """A text without white space at its ends and no two spaces together; any such is a URI."""
    return string(text) if _COLLAPSED.fullmatch(text) else None


def boolean(text: str) -> str | None:
    """`true` or `false`."""
    return {"true": "true", "1": "true", "false": "false", "0": "false"}.get(text)


def decimal(text: str) -> str | None:
    """All digits that count; no point without a fraction."""
    match = _DECIMAL.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        return None
    sign, whole, fraction = match[1], match[2].lstrip("0") or "0", (match[3] or "").rstrip("0")
    digits = f"{whole}.{fraction}" if fraction else whole
    return f"-{digits}" if sign == "-" and digits != "0" else digits


def double(text: str) -> str | None:
    """`1.0E0`, of the fewest digits that are read as the same double."""
    number = value(text, XSD_DOUBLE)
    return None if number.kind is ValueKind.NONE else _lexical(to_ntriples(number.double))


def single(text: str) -> str | None:
    """`1.0E0`, of the fewest digits that are read as the same single-precision number."""
    number = value(text, XSD_FLOAT)
    if number.kind is ValueKind.NONE:
        return None
    import numpy as np  # noqa: PLC0415 - programs are read without it

    shortest = np.format_float_scientific(np.float32(number.double), unique=True)
    return _lexical(to_ntriples(float(shortest)))


def hexadecimal(text: str) -> str | None:
    """Octets as digits in upper case."""
    return text.upper() if _HEXADECIMAL.fullmatch(text) else None


def base64(text: str) -> str | None:
    """Octets without spaces; single ones may stand between two characters."""
    packed = text.replace(" ", "")
    return packed if _COLLAPSED.fullmatch(text) and _BASE64.fullmatch(packed) else None


def xml(text: str) -> str | None:
    """Balanced content of an element, in Canonical XML (RDF 1.1 Concepts, section 5.3)."""
    try:
        document = ET.canonicalize(f"<x>{text}</x>", with_comments=True)
    except (ET.ParseError, ValueError):
        return None
    return document.removeprefix("<x>").removesuffix("</x>")


def date_time(text: str) -> str | None:
    """An instant with its timezone; 24:00:00 is the first of the next day."""
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    since = calendar.days(year, month, day)
    if since is None:
        return None
    if match[9]:
        year, month, day = calendar.date(since + 1)
    return f"{date_text(year, month, day)}T{_clock(*match.group(5, 6, 7, 8))}{_zone(match[10])}"


def date_text(year: int, month: int, day: int) -> str:
    """A date as XSD writes it."""
    return f"{'-' if year < 0 else ''}{abs(year):04}-{month:02}-{day:02}"


def _date(text: str) -> str | None:
    match = _DATE.fullmatch(text)
    if match is None or calendar.days(*(int(part) for part in match.group(1, 2, 3))) is None:
        return None
    return f"{_year(match[1])}-{match[2]}-{match[3]}{_zone(match[4])}"


def _time(text: str) -> str | None:
    match = _TIME.fullmatch(text)
    return None if match is None else _clock(*match.group(2, 3, 4, 5)) + _zone(match[7])


def _month_day(text: str) -> str | None:
    match = _MONTH_DAY.fullmatch(text)
    if match is None or int(match[2]) > calendar.month_days(_LEAP_YEAR, int(match[1])):
        return None
    return f"--{match[1]}-{match[2]}{_zone(match[3])}"


def _other(form: re.Pattern[str]) -> Callable[[str], str | None]:
    def mapping(text: str) -> str | None:
        match = form.fullmatch(text)
        return None if match is None else _year(match[1]) + _zone(match.groups()[-1])

    return mapping


PARTS_OF_DATES: Mapping[str, Callable[[str], str | None]] = {
    "date": _date,
    "time": _time,
    "gMonthDay": _month_day,
    **{name: _other(form) for name, form in _OTHER_PARTS.items()},
}
"""The mappings of datatypes of XSD that are parts of a dateTime."""


def duration(text: str) -> str | None:
    """Years and months, days and times, each as large as it can be; `PT0S` for none."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    parts = (int(part or 0) for part in match.group(2, 3, 4, 5, 6, 7))
    years, months, days, hours, minutes, seconds = parts
    units = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return duration_text(match[1], years * 12 + months, units, match[8] or "")


def duration_text(sign: str, months: int, seconds: int, fraction: str) -> str:
    """A duration of a number of months and of seconds with a decimal fraction, none negative."""
    fraction = fraction.rstrip("0")
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    years, months = divmod(months, 12)
    before = "".join(f"{n}{unit}" for n, unit in ((years, "Y"), (months, "M"), (days, "D")) if n)
    after = "".join(f"{n}{unit}" for n, unit in ((hours, "H"), (minutes, "M")) if n)
    if rest or fraction:
        after += f"{rest}{f'.{fraction}' if fraction else ''}S"
    if not before and not after:
        return "PT0S"
    return f"{sign}P{before}{'T' if after else ''}{after}"


def _clock(hour: str | None, minute: str, second: str, fraction: str | None) -> str:
    """The time of a day, without zeros at the end of its fraction; 00:00:00 if there is no hour."""
    if hour is None:
        return "00:00:00"
    digits = (fraction or "").rstrip("0")
    return f"{hour}:{minute}:{second}{f'.{digits}' if digits else ''}"


def _year(text: str) -> str:
    """What begins with a year; the year 0 has no sign."""
    return text.removeprefix("-") if text.startswith("-0000") else text


def _zone(zone: str | None) -> str:
    """A timezone, `Z` for UTC."""
    return "Z" if zone in ("+00:00", "-00:00") else zone or ""


def _lexical(number: str) -> str:
    """The lexical form of a canonical number."""
    return number[1 : number.rindex('"')]
