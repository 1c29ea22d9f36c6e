"""Days of the calendar that Java's `GregorianCalendar` keeps: the Julian one before 15 October 1582."""

from __future__ import annotations

from typing import NamedTuple

DAY_MS = 86_400_000
_GREGORIAN_FROM = -141_427
"""15 October 1582 in days since 1970-01-01."""


class Day(NamedTuple):
    """A day: the year (0 is 1 BC, -1 is 2 BC), the month from 1, the day of the month from 1."""

    year: int
    month: int
    day: int


def day_of(days: int) -> Day:
    """The day that is so many days after 1970-01-01."""
    return _civil(days, gregorian=days >= _GREGORIAN_FROM)


def days_of(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01; months and days beyond their ends go on into the next ones, as in Java."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    days = _days(year, month, gregorian=True) + day - 1
    return days if days >= _GREGORIAN_FROM else _days(year, month, gregorian=False) + day - 1


def _days(year: int, month: int, *, gregorian: bool) -> int:
    """The month's first day; years begin in March, so that the day of a leap year comes last."""
    year, month = (year - 1, month + 9) if month < 3 else (year, month - 3)
    days = year * 365 + year // 4 + (153 * month + 2) // 5
    return days - 719_468 + year // 400 - year // 100 if gregorian else days - 719_470


def _civil(days: int, *, gregorian: bool) -> Day:
    if gregorian:
        era, rest = divmod(days + 719_468, 146_097)
        in_era = (rest - rest // 1460 + rest // 36_524 - rest // 146_096) // 365
        of_year = rest - (365 * in_era + in_era // 4 - in_era // 100)
        year = era * 400 + in_era
    else:
        era, rest = divmod(days + 719_470, 1461)
        in_era = min(rest // 365, 3)
        of_year = rest - 365 * in_era
        year = era * 4 + in_era
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    return Day(year + 1, month - 9, day) if month >= 10 else Day(year, month + 3, day)
