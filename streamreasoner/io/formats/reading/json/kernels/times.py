"""Times in ISO 8601 as milliseconds.

Invariant: a time is read as `timestamps` reads it, or refused. Those that are read are days of the
proleptic Gregorian calendar, with seconds, up to six digits of their fraction and a time zone.
"""

# ruff: noqa: C901, PLR0911, PLR2004  (places and limits are those of the format)

from __future__ import annotations

import numpy as np

from streamreasoner.io.formats.reading.json.kernels.strings import ZERO, is_digit
from streamreasoner.native.addresses import load_byte
from streamreasoner.native.compile import kernel

NO_TIME = np.iinfo(np.int64).max
_HYPHEN, _COLON, _SPACE, _T, _Z = (ord(letter) for letter in "-: TZ")
_DOT, _PLUS = ord("."), ord("+")
_SHORTEST = len("0001-01-01T00:00:00Z")
_ZONE = len("+00:00")
_MOST_OF_FRACTION = 6
_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], dtype=np.int64)


@kernel
def read_time(start: int, length: int) -> int:
    """Milliseconds since 1970 of the text at an address, NO_TIME if it is not read."""
    if length < _SHORTEST or not has_separators(start):
        return NO_TIME
    century, year = two_digits(start), two_digits(start + 2)
    month, day = two_digits(start + 5), two_digits(start + 8)
    hour, minute, second = two_digits(start + 11), two_digits(start + 14), two_digits(start + 17)
    if min(century, year, month, day, hour, minute, second) < 0:
        return NO_TIME
    year += 100 * century
    if not 1 <= month <= 12 or not 1 <= day <= days_of(year, month):
        return NO_TIME
    if year == 0 or hour > 23 or minute > 59 or second > 59:
        return NO_TIME
    end = start + length
    position = start + 19
    thousandths = 0
    if load_byte(position) == _DOT:
        first = position + 1
        position = first
        # Digits beyond milliseconds are cut off, which rounds down before 1970 too.
        while position < end and is_digit(load_byte(position)):
            if position - first < 3:
                thousandths = 10 * thousandths + (load_byte(position) - ZERO)
            position += 1
        digits = position - first
        if not 1 <= digits <= _MOST_OF_FRACTION:
            return NO_TIME
        for _ in range(digits, 3):
            thousandths *= 10
    offset = zone(position, end)
    if offset == NO_TIME:
        return NO_TIME
    days = days_since_1970(year, month, day)
    seconds = 86_400 * days + 3_600 * hour + 60 * (minute - offset) + second
    return 1_000 * seconds + thousandths


@kernel
def has_separators(start: int) -> bool:
    """Whether a day, a `T` or a space, and a time begin at an address, but for their digits."""
    return (
        load_byte(start + 4) == _HYPHEN
        and load_byte(start + 7) == _HYPHEN
        and load_byte(start + 10) in (_T, _SPACE)
        and load_byte(start + 13) == _COLON
        and load_byte(start + 16) == _COLON
    )


@kernel
def zone(position: int, end: int) -> int:
    """Minutes ahead of UTC that a text ends with, `Z` or `+HH:MM`; NO_TIME for any other."""
    if end - position == 1 and load_byte(position) == _Z:
        return 0
    if end - position != _ZONE or load_byte(position + 3) != _COLON:
        return NO_TIME
    hours, minutes = two_digits(position + 1), two_digits(position + 4)
    if not 0 <= hours <= 23 or not 0 <= minutes <= 59:
        return NO_TIME
    sign = load_byte(position)
    if sign == _PLUS:
        return 60 * hours + minutes
    return -60 * hours - minutes if sign == _HYPHEN else NO_TIME


@kernel
def two_digits(position: int) -> int:
    """The number of two digits; -1 for anything else."""
    tens, ones = load_byte(position), load_byte(position + 1)
    return 10 * (tens - ZERO) + (ones - ZERO) if is_digit(tens) and is_digit(ones) else -1


@kernel
def days_of(year: int, month: int) -> int:
    """The days of a month."""
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return _DAYS[month - 1] + (month == 2 and is_leap)


@kernel
def days_since_1970(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01: `days_from_civil` of Howard Hinnant's chrono-compatible algorithms."""
    # Years begin in March, so that the leap day is their last.
    if month <= 2:
        year -= 1
    era = year // 400
    year_of_era = year - 400 * era
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = 365 * year_of_era + year_of_era // 4 - year_of_era // 100 + day_of_year
    return 146_097 * era + day_of_era - 719_468
