"""Moments as texts, by the patterns of Java's `SimpleDateFormat`, in UTC; days and months have English names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple

from cdckit.java.calendar import DAY_MS, Day, day_of, days_of
from cdckit.java.date_pattern import LITERAL, Piece, pieces_of
from cdckit.java.date_reading import DateReading

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_UNITS = {"S": 1, "s": 1000, "m": 60_000, **dict.fromkeys("HkKha", 3_600_000)}


_OF_DAY, _OF_MINUTE, _OF_SECOND = "past // 60000", "past // 1000 % 60", "past % 1000"
_PLACES = {**dict.fromkeys("HkKham", _OF_DAY), "s": _OF_MINUTE, "S": _OF_SECOND}
"""Which text is that of a letter, of those that there are: an expression of the milliseconds past midnight."""
_MOMENTS = {_OF_DAY: range(0, DAY_MS, 60_000), _OF_MINUTE: range(0, 60_000, 1000), _OF_SECOND: range(1000)}
"""Of which milliseconds past midnight those texts are."""
_DAYS = 4096
"""Of so many days the texts are kept."""


class DateFormat:
    """Writes moments by a pattern, and reads them.

    Attributes:
        unit: the milliseconds, from 1970 on counted, within which each moment has the same text.

    Raises:
        DatePatternError: it is no pattern.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._pieces = pieces_of(pattern)
        self._reading = DateReading(self._pieces, datetime.now(UTC), MONTHS, DAYS)
        self.unit = min([DAY_MS, *(_UNITS.get(piece.letter, DAY_MS) for piece in self._pieces)])

    def format(self, milliseconds: int) -> str:
        """The text of a moment, given in milliseconds since 1970-01-01T00:00:00Z."""
        return self._write(milliseconds)

    def writing(self, fractions: int) -> Callable[[int], str]:
        """The function that writes moments given in so many parts of a millisecond; what is finer is cut off."""
        return self._write if fractions == 1 else self._compiled(fractions)

    @cached_property
    def _write(self) -> Callable[[int], str]:
        return self._compiled(1)

    def _compiled(self, fractions: int) -> Callable[[int], str]:
        """Puts a text together of those of the day, of its minute, and so on, which are looked up."""
        parts, of_days = [], list[Sequence[Write]]()
        scope: dict[str, Any] = {}
        for number, (place, writers) in enumerate(self._parts):
            if place:
                scope[f"texts{number}"] = [_joined(writers, _Moment(day_of(0), 0, past)) for past in _MOMENTS[place]]
                parts.append(f"{{texts{number}[{place}]}}")
            else:
                parts.append(f"{{day[{len(of_days)}]}}")
                of_days.append(writers)
        scope |= {"days": _Days(of_days), "format": self.format}
        # Towards 1970, as Java divides.
        negative = f"    if moment < 0: return format(-(-moment // {fractions}))\n" if fractions > 1 else ""
        source = (
            f"def write(moment):\n{negative}"
            f"    day = days[moment // {DAY_MS * fractions}]\n"
            f"    past = moment % {DAY_MS * fractions} // {fractions}\n"
            f"    return f'{''.join(parts)}'\n"
        )
        exec(source, scope)  # noqa: S102 - generated from the pattern's letters alone
        write: Callable[[int], str] = scope["write"]
        return write

    @property
    def _parts(self) -> list[tuple[str, list[Write]]]:
        """What follows each other and is found in one place: "" for the day's, where literal texts are at home."""
        found: list[tuple[str, list[Write]]] = []
        for piece in self._pieces:
            place = _PLACES.get(piece.letter, "")
            if found and (piece.letter == LITERAL or place == found[-1][0]):
                found[-1][1].append(_writer(piece))
            else:
                found.append((place, [_writer(piece)]))
        return found

    def parse(self, text: str) -> int:
        """The moment, in milliseconds since 1970-01-01T00:00:00Z, that a text begins with.

        Raises:
            ValueError: it does not begin with one.
        """
        return self._reading.read(text)


class _Days(dict[int, tuple[str, ...]]):
    """Of days since 1970 the texts that are the same all day.

    Args:
        writers: of each text those of its pieces.
    """

    def __init__(self, writers: Sequence[Sequence[Write]]) -> None:
        super().__init__()
        self._writers = writers

    def __missing__(self, days: int) -> tuple[str, ...]:
        if len(self) >= _DAYS:
            self.clear()
        midnight = _Moment(day_of(days), days, 0)
        made = self[days] = tuple(_joined(each, midnight) for each in self._writers)
        return made


def _joined(writers: Sequence[Write], moment: _Moment) -> str:
    return "".join([write(moment) for write in writers])


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
