"""Moments as texts, by the patterns of Java's `SimpleDateFormat`, in UTC; days and months have English names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from cdckit.java.calendar import DAY_MS, Day, day_of, days_of
from cdckit.java.date_pattern import LITERAL, Piece, pieces_of
from cdckit.java.date_reading import DateReading

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_UNITS = {"S": 1, "s": 1000, "m": 60_000, **dict.fromkeys("HkKha", 3_600_000)}


class DateFormat:
    """Writes moments by a pattern, and reads them.

    Attributes:
        unit: the milliseconds, from 1970 on counted, within which each moment has the same text.

    Raises:
        DatePatternError: it is no pattern.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        pieces = pieces_of(pattern)
        self._writers = [_writer(piece) for piece in pieces]
        self._of_time = [at for at, piece in enumerate(pieces) if piece.letter in _UNITS]
        self._in_day = _in_day([pieces[at] for at in self._of_time])
        self._last_days, self._last_texts = 0, self._day(0)
        self._reading = DateReading(pieces, datetime.now(UTC), MONTHS, DAYS)
        self.unit = min([DAY_MS, *(_UNITS.get(piece.letter, DAY_MS) for piece in pieces)])

    def format(self, milliseconds: int) -> str:
        """The text of a moment, given in milliseconds since 1970-01-01T00:00:00Z."""
        days = milliseconds // DAY_MS
        if days != self._last_days:
            self._last_days, self._last_texts = days, self._day(days)
        return self._in_day(self._last_texts, milliseconds - days * DAY_MS)

    def _day(self, days: int) -> str:
        """The text of a day's moments, with a place for each part that tells of their time."""
        midnight = _Moment(day_of(days), days, 0)
        texts = [write(midnight).replace("%", "%%") for write in self._writers]
        for at in self._of_time:
            texts[at] = "%s"
        return "".join(texts)

    def parse(self, text: str) -> int:
        """The moment, in milliseconds since 1970-01-01T00:00:00Z, that a text begins with.

        Raises:
            ValueError: it does not begin with one.
        """
        return self._reading.read(text)


class _Moment(NamedTuple):
    """A moment: its day by the calendar, that in days since 1970, and the milliseconds past midnight."""

    day: Day
    days: int
    of_day: int


Write = Callable[[_Moment], str]


def _writer(piece: Piece) -> Write:
    letter, count, text = piece
    if letter == LITERAL:
        return lambda _: text
    if letter in _NUMBERS and not (letter in "ML" and count > 2):
        number = _NUMBERS[letter]
        if letter in "yY" and count == 2:
            return lambda moment: f"{number(moment) % 100:02d}"
        return lambda moment: _padded(number(moment), count)
    name = _NAMES[letter]
    return lambda moment: name(moment, count >= 4)


_TIMES: dict[str, str] = {
    "H": "of_day // 3600000",
    "k": "(of_day // 3600000 or 24)",
    "K": "of_day // 3600000 % 12",
    "h": "(of_day // 3600000 % 12 or 12)",
    "m": "of_day // 60000 % 60",
    "s": "of_day // 1000 % 60",
    "S": "of_day % 1000",
    "a": "(of_day >= 43200000)",
}
"""What each letter tells of the milliseconds past midnight, as Python."""
_HALVES = ("AM", "PM")
_SHORT = tuple(f"{number:02d}" for number in range(60))
_LONG = tuple(f"{number:03d}" for number in range(1000))


def _in_day(pieces: Sequence[Piece]) -> Callable[[str, int], str]:
    """The function that puts the texts of such pieces into a day's, given the milliseconds past midnight."""
    parts = []
    for letter, count, _ in pieces:
        number = _TIMES[letter]
        if letter == "a":
            parts.append(f"_HALVES[{number}]")
        elif count == 2 and letter != "S":
            parts.append(f"_SHORT[{number}]")
        elif count == 3:
            parts.append(f"_LONG[{number}]")
        else:
            parts.append(f'"%0{count}d" % ({number})')
    scope = {"_HALVES": _HALVES, "_SHORT": _SHORT, "_LONG": _LONG}
    made: Callable[[str, int], str] = eval(f"lambda day, of_day: day % ({', '.join([*parts, ''])})", scope)  # noqa: S307 - of the lines above
    return made


def _padded(number: int, digits: int) -> str:
    return f"{number:0{digits + (number < 0)}d}"


def _year(moment: _Moment) -> int:
    year = moment.day.year
    return year if year > 0 else 1 - year


def _of_year(moment: _Moment) -> int:
    """The day of the year, from 0."""
    return moment.days - days_of(moment.day.year, 1, 1)


def _from_sunday(days: int) -> int:
    """The day of the week, Sunday being 0."""
    return (days + 4) % 7


def _week_year(moment: _Moment) -> int:
    """The year that a moment's week is of: of the first of January, where it has that day."""
    year = moment.day.year
    first = days_of(year + 1, 1, 1)
    later = moment.days >= first - _from_sunday(first)
    return year + later


def _week_of_year(moment: _Moment) -> int:
    first = days_of(_week_year(moment), 1, 1)
    return (moment.days - (first - _from_sunday(first))) // 7 + 1


def _week_of_month(moment: _Moment) -> int:
    first = moment.days - moment.day.day + 1
    return (moment.day.day - 1 + _from_sunday(first)) // 7 + 1


_NUMBERS: dict[str, Callable[[_Moment], int]] = {
    "y": _year,
    "Y": _week_year,
    "M": lambda moment: moment.day.month,
    "L": lambda moment: moment.day.month,
    "w": _week_of_year,
    "W": _week_of_month,
    "D": lambda moment: _of_year(moment) + 1,
    "d": lambda moment: moment.day.day,
    "F": lambda moment: (moment.day.day - 1) // 7 + 1,
    "u": lambda moment: (moment.days + 3) % 7 + 1,
    "H": lambda moment: moment.of_day // 3_600_000,
    "k": lambda moment: moment.of_day // 3_600_000 or 24,
    "K": lambda moment: moment.of_day // 3_600_000 % 12,
    "h": lambda moment: moment.of_day // 3_600_000 % 12 or 12,
    "m": lambda moment: moment.of_day // 60_000 % 60,
    "s": lambda moment: moment.of_day // 1000 % 60,
    "S": lambda moment: moment.of_day % 1000,
}
_NAMES: dict[str, Callable[[_Moment, bool], str]] = {
    "G": lambda moment, _: "AD" if moment.day.year > 0 else "BC",
    "M": lambda moment, full: MONTHS[moment.day.month - 1][: None if full else 3],
    "L": lambda moment, full: MONTHS[moment.day.month - 1][: None if full else 3],
    "E": lambda moment, full: DAYS[(moment.days + 3) % 7][: None if full else 3],
    "a": lambda moment, _: "AM" if moment.of_day < DAY_MS // 2 else "PM",
    "z": lambda _, full: "Coordinated Universal Time" if full else "UTC",
    "Z": lambda *_: "+0000",
    "X": lambda *_: "Z",
}
