"""How `SimpleDateFormat` reads texts: leniently, so that the 13th month is next year's first."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import zip_longest

from cdckit.java.calendar import DAY_MS, days_of
from cdckit.java.date_pattern import LITERAL, Piece

_NUMBER = re.compile(r"-?\d+")
_HOURS = r"(?P<sign>[+-])(?P<hours>[01]\d|2[0-3])"
_ZONE = re.compile(
    rf"(?P<gmt>GMT)?{_HOURS}(?(gmt):)(?P<minutes>[0-5]\d)|UTC|GMT|Coordinated Universal Time", re.IGNORECASE
)
_ISO_ZONES = {
    1: re.compile(rf"{_HOURS}(?P<minutes>)|Z"),
    2: re.compile(rf"{_HOURS}(?P<minutes>[0-5]\d)|Z"),
    3: re.compile(rf"{_HOURS}:(?P<minutes>[0-5]\d)|Z"),
}


class _Fields:
    """What has been read of a text so far; of fields that contradict each other the one read later holds."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}
        self.offset_ms = 0
        self.two_digits = False

    def put(self, name: str, value: int) -> None:
        """A field's value; the last field read stands last."""
        self.values.pop(name, None)
        self.values[name] = value

    def milliseconds(self) -> int:
        """The moment."""
        get = self.values.get
        seconds = (self._hour() * 60 + get("minute", 0)) * 60 + get("second", 0)
        return self._days() * DAY_MS + seconds * 1000 + get("millisecond", 0) - self.offset_ms

    def _days(self) -> int:
        """By the day of the year, or of the month; without either the first one that has the name of the day."""
        get = self.values.get
        year, month = get("year", 1970), get("month", 1)
        year = 1 - year if get("era") else year
        if self._after("day of year", "day"):
            return days_of(year, 1, 1) + get("day of year", 1) - 1
        first = days_of(year, month, 1)
        if "day" in self.values or "weekday" not in self.values:
            return days_of(year, month, get("day", 1))
        return first + (get("weekday", 1) - 4 - first) % 7

    def _hour(self) -> int:
        """By the clock, or by the half of the day where both that and its hour were read, and later."""
        get = self.values.get
        half = get("half hour", 0) + 12 * get("afternoon", 0)
        if "hour" not in self.values:
            return half
        both = "half hour" in self.values and "afternoon" in self.values
        later = self._after("half hour", "hour") or self._after("afternoon", "hour")
        return half if both and later else get("hour", 0)

    def _after(self, one: str, other: str) -> bool:
        order = list(self.values)
        return one in order and (other not in order or order.index(one) > order.index(other))


Take = Callable[[str, int, _Fields], int]
"""Reads the text from a place on into the fields; says where it goes on.

It raises ValueError where the text has nothing of the kind there.
"""


class DateReading:
    """Reads the moments that texts begin with.

    Args:
        pieces: of the pattern.
        now: years of two digits are in the century that begins 80 years before.
        months: their names, from January on.
        days: their names, from Monday on.
    """

    def __init__(self, pieces: Sequence[Piece], now: datetime, months: Sequence[str], days: Sequence[str]) -> None:
        self._century = now.year - 80
        self._century_ms = (
            days_of(self._century, now.month, now.day) * DAY_MS
            + ((now.hour * 60 + now.minute) * 60 + now.second) * 1000
        )
        self._months = _by_name(months)
        self._days = _by_name(days)
        self._unreadable = next((piece.letter for piece in pieces if piece.letter in tuple("YwWF")), None)
        readable = () if self._unreadable else pieces
        self._takes = [self._take(piece, after) for piece, after in zip_longest(readable, readable[1:])]

    def read(self, text: str) -> int:
        """The moment's milliseconds since 1970.

        Raises:
            ValueError: the text does not begin with what the pattern says.
        """
        if self._unreadable:
            raise ValueError(f"'{self._unreadable}' can be written, but not be read")
        fields, at = _Fields(), 0
        for take in self._takes:
            at = take(text, at, fields)
        if fields.two_digits and fields.values["year"] == self._century and fields.milliseconds() < self._century_ms:
            fields.values["year"] += 100
        return fields.milliseconds()

    def _take(self, piece: Piece, after: Piece | None) -> Take:
        letter, count, text = piece
        if letter == LITERAL:
            return _literal(text)
        if letter in "ML" and count > 2:
            return _named(self._months, "month")
        if letter in _WORDS:
            return _named(*_WORDS[letter])
        if letter == "E":
            return _named(self._days, "weekday")
        if letter in "zZX":
            return _zone(_ISO_ZONES[count] if letter == "X" else _ZONE)
        width = count if after is not None and _is_number(after) else None
        if letter == "y":
            return self._taking_year(count, width)
        return _number(_FIELDS[letter], width, _FROM_ONE.get(letter))

    def _taking_year(self, count: int, width: int | None) -> Take:
        century = self._century

        def take(text: str, at: int, fields: _Fields) -> int:
            start, end, value = _digits(text, at, width)
            if count <= 2 and end - start == 2 and text[start:end].isdecimal():
                fields.two_digits = True
                value += century // 100 * 100 + (100 if value < century % 100 else 0)
            else:
                fields.two_digits = False
            fields.put("year", value)
            return end

        return take


def _by_name(names: Sequence[str]) -> dict[str, int]:
    """The numbers, from 1, by the full names and the short ones."""
    return {name[:length].lower(): number for number, name in enumerate(names, 1) for length in (3, len(name))}


def _is_number(piece: Piece) -> bool:
    """Whether digits that stand before it must be counted, since there is nothing between."""
    return piece.letter in tuple("yYwWDdFuHkKhmsS") or (piece.letter in ("M", "L") and piece.times <= 2)


def _digits(text: str, at: int, width: int | None) -> tuple[int, int, int]:
    """Where a number stands behind blanks, where it ends, and what it is; within `width` places of `at`."""
    end = len(text)
    start = at
    while start < end and text[start] in " \t":
        start += 1
    if width is not None:
        if at + width > end:
            raise ValueError("it is too short")
        end = at + width
    found = _NUMBER.match(text, start, end)
    if not found:
        raise ValueError(f"there is no number at place {start + 1}")
    return start, found.end(), int(found[0])


def _literal(wanted: str) -> Take:
    def take(text: str, at: int, _: _Fields) -> int:
        if not text.startswith(wanted, at):
            raise ValueError(f"there is no '{wanted}' at place {at + 1}")
        return at + len(wanted)

    return take


def _number(name: str, width: int | None, for_zero: int | None) -> Take:
    """Takes a number; `for_zero` is the one that stands for 0."""

    def take(text: str, at: int, fields: _Fields) -> int:
        _, end, value = _digits(text, at, width)
        fields.put(name, 0 if value == for_zero else value)
        return end

    return take


def _named(names: dict[str, int], field: str) -> Take:
    longest_first = sorted(names, key=len, reverse=True)

    def take(text: str, at: int, fields: _Fields) -> int:
        lower = text[at : at + 32].lower()
        name = next((name for name in longest_first if lower.startswith(name)), None)
        if name is None:
            raise ValueError(f"there is no name at place {at + 1}")
        fields.put(field, names[name])
        return at + len(name)

    return take


def _zone(pattern: re.Pattern[str]) -> Take:
    def take(text: str, at: int, fields: _Fields) -> int:
        while at < len(text) and text[at] in " \t":
            at += 1
        found = pattern.match(text, at)
        if not found:
            raise ValueError(f"there is no zone at place {at + 1}")
        if found["sign"]:
            minutes = int(found["hours"]) * 60 + int(found["minutes"] or 0)
            fields.offset_ms = (-minutes if found["sign"] == "-" else minutes) * 60_000
        return found.end()

    return take


_WORDS = {"G": ({"ad": 0, "bc": 1}, "era"), "a": ({"am": 0, "pm": 1}, "afternoon")}
_FIELDS = {
    "M": "month", "L": "month", "d": "day", "D": "day of year", "u": "weekday",
    "H": "hour", "k": "hour", "K": "half hour", "h": "half hour", "m": "minute", "s": "second", "S": "millisecond",
}  # fmt: skip
_FROM_ONE = {"k": 24, "h": 12}
"""Hours that are counted from one, and what they have in the place of 0."""
