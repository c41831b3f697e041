"""The proleptic Gregorian calendar. Invariant: `date(days(*d)) == d` for every valid date d.

The year 0 is a leap year, as in XSD 1.1. Source: Howard Hinnant, chrono-Compatible Low-Level Date
Algorithms, days_from_civil and civil_from_days.
"""

from __future__ import annotations

_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_FEBRUARY = 2
_OCTOBER = 10  # of a year that begins in March
_SHIFT = 719468
"""Days from 0000-03-01 to 1970-01-01."""


def month_days(year: int, month: int) -> int:
    """Number of days of a month, counted from 1."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return _MONTH_DAYS[month - 1] + (leap and month == _FEBRUARY)


def days(year: int, month: int, day: int) -> int | None:
    """Days since 1970-01-01; None for an invalid date."""
    if day > month_days(year, month):
        return None
    shifted = year - (month <= _FEBRUARY)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - _SHIFT


def date(since: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970-01-01."""
    era, of_era = divmod(since + _SHIFT, 146097)
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < _OCTOBER else -9
    return year + era * 400 + (month <= _FEBRUARY), month, day
