"""Literals of dates and times in the loose forms that the servers take, brought to the one that they print.

https://dev.mysql.com/doc/refman/en/date-and-time-literals.html
"""

from __future__ import annotations

import re

from cdckit_mysql.ddl.session import Flavor

_CANONICAL = {
    "DATE": re.compile(r"\d{4}-\d\d-\d\d"),
    "TIME": re.compile(r"-?\d{2,3}:\d\d:\d\d(?:\.\d+)?"),
    "DATETIME": re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?"),
}
_CANONICAL["TIMESTAMP"] = _CANONICAL["DATETIME"]
TIME_TYPES = frozenset(_CANONICAL)
_TIME = re.compile(r"(-?)(?:(\d+)[ ]+)?(\d+)(?::(\d+)(?::(\d+))?)?(?:\.(\d*))?")
_DATE = r"\d+[^\w\s]\d+[^\w\s]\d+"
_HOURS = r"\d+(?:[^\w\s]\d+){0,2}(?:\.\d*)?"
_IN_DIGITS = r"(?:\d\d)?\d{6}T?\d{6}(?:\.\d*)?"
_MOMENT = {
    Flavor.MYSQL: re.compile(rf"(?=.{{12}}){_DATE}\s+{_HOURS}|{_IN_DIGITS}"),
    Flavor.MARIADB: re.compile(rf"{_DATE}(?:T|\s+){_HOURS}|{_IN_DIGITS}"),
}
"""A date and a time, of which a TIME takes the time; to MySQL a shorter one, or one with a `T` between, is a number."""
_DIGITS = re.compile(r"(\d+(?:T\d+)?)(?:\.(\d+))?")
_PIVOT = 70
"""Years of two digits from here on are of the last century."""
_DIGITS_OF_DATE = 8
_DIGITS_OF_DATETIME = 14
_DATE_AND_BLANK = 11
"""So many characters stand before the time of a moment."""


def canonical_time(text: str, type_name: str, flavor: Flavor) -> str:
    """Return a literal as the server prints it: `2018-02-03`, `-01:02:03.4`, `2018-02-03 04:05:06`.

    Args:
        text: of a string or number literal; what is no date or time is returned as it is.
        type_name: `DATE`, `TIME`, `DATETIME` or `TIMESTAMP`.
        flavor: the server's kind.
    """
    text = text.strip()
    if _CANONICAL[type_name].fullmatch(text) or not any(character.isdigit() for character in text):
        return text
    if type_name != "TIME":
        return _date(text, with_time=type_name != "DATE")
    return _date(text, with_time=True)[_DATE_AND_BLANK:] if _MOMENT[flavor].fullmatch(text) else _time(text)


def _date(text: str, *, with_time: bool) -> str:
    digits = _DIGITS.fullmatch(text)
    numbers, fraction = (_cut(digits[1].replace("T", "")), digits[2]) if digits else (re.findall(r"\d+", text), None)
    year, month, day, hour, minute, second = (int(number) for number in [*numbers[:6], *"000000"][:6])
    if len(numbers[0]) <= 2 and (year or month or day):
        year += 1900 if year >= _PIVOT else 2000
    date = f"{year:04}-{month:02}-{day:02}"
    if not with_time:
        return date
    return f"{date} {hour:02}:{minute:02}:{second:02}" + _fraction(fraction or "".join(numbers[6:]))


def _fraction(digits: str) -> str:
    return f".{digits}" if digits else ""


def _cut(digits: str) -> list[str]:
    """Cut digits without separators: YYMMDD, YYYYMMDD, YYMMDDhhmmss or YYYYMMDDhhmmss, with zeros left out in front."""
    size = next(size for size in (6, _DIGITS_OF_DATE, 12, _DIGITS_OF_DATETIME, len(digits)) if len(digits) <= size)
    digits = digits.rjust(size, "0")
    year = 4 if len(digits) in (_DIGITS_OF_DATE, _DIGITS_OF_DATETIME) else 2
    return [digits[:year], *re.findall("..", digits[year:])]


def _time(text: str) -> str:
    found = _TIME.match(text)
    if found is None:
        return "00:00:00"
    sign, days, hours, minutes, seconds, fraction = found.groups()
    if minutes is None and days is None:
        digits = hours.rjust(6, "0")
        hours, minutes, seconds = digits[:-4], digits[-4:-2], digits[-2:]
    total = 24 * int(days or 0) + int(hours)
    return f"{sign}{total:02}:{int(minutes or 0):02}:{int(seconds or 0):02}{_fraction(fraction or '')}"
