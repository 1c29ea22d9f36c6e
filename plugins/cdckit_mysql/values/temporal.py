"""Dates and times in the forms of `time.precision.mode`.

Tables turn what is on the wire into what an event holds; each is filled as values come and bounded.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache
from typing import Any, Literal

from cdckit import DecodeError

TemporalForm = Literal["days", "ms", "us", "ns", "iso"]

log = logging.getLogger("cdckit.mysql")

_EPOCH = date(1970, 1, 1)
_EPOCH_ORDINAL = _EPOCH.toordinal()
_TABLE_LIMIT = 1 << 14
US_PER_DAY = 86_400_000_000
HOUR_US = 3_600_000_000
UNITS = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
"""How many of a form's units make a second."""
_INT64 = range(-(1 << 63), 1 << 63)

Civil = tuple[int, int, int]
"""Year, month, day; all, or only the last two, may be 0."""


class DayTable(dict[int, Any]):
    """From a date as it is packed on the wire to what it is shown as.

    Args:
        unpack: takes the packed date apart.
        show: from days since 1970 to what is shown.
        zero: what is shown for a date that has a zero in it.
        adjust: `enable.time.adjuster`.
        invalid: what is shown for a date that does not exist (`ALLOW_INVALID_DATES`), and is logged; None: an error.
        check: is given the dates that have a zero in them, and may raise.
    """

    def __init__(
        self,
        unpack: Callable[[int], Civil],
        show: Callable[[int], Any],
        zero: Any,
        *,
        adjust: bool,
        invalid: Any = None,
        check: Callable[[Civil], None] | None = None,
    ) -> None:
        super().__init__()
        self.unpack = unpack
        self.show = show
        self.zero = zero
        self.adjust = adjust
        self.invalid = invalid
        self.check = check

    def __missing__(self, packed: int) -> Any:
        if len(self) >= _TABLE_LIMIT:
            self.clear()
        year, month, day = self.unpack(packed)
        if year and month and day:
            self[packed] = shown = self._shown(year, month, day)
        else:
            if self.check is not None:
                self.check((year, month, day))
            self[packed] = shown = self.zero
        return shown

    def _shown(self, year: int, month: int, day: int) -> Any:
        if self.adjust and year < 100:
            year += 2000 if year < 70 else 1900
        try:
            return self.show(date(year, month, day).toordinal() - _EPOCH_ORDINAL)
        except ValueError as error:
            told = f"{year:04}-{month:02}-{day:02} is no date; the server stored it under ALLOW_INVALID_DATES"
            if self.invalid is not None:
                log.warning("%s; it is shown as 1970-01-01", told)
                return self.invalid
            raise DecodeError(
                f"{told}. Correct the row, or set event.deserialization.failure.handling.mode=warn to show 1970-01-01, "
                "or event.converting.failure.handling.mode=skip to show null instead",
                number="CDC5108",
            ) from error


def unpack_log_date(packed: int) -> Civil:
    """DATE in a row image: 15 bits of year, 4 of month, 5 of day."""
    return packed >> 9, packed >> 5 & 15, packed & 31


def unpack_log_datetime_day(packed: int) -> Civil:
    """The day of DATETIME2 in a row image: a set bit, 17 bits of year * 13 + month, 5 of day."""
    year, month = divmod(packed >> 5 & 0x1FFFF, 13)
    return year, month, packed & 31


def unpack_result_date(packed: int) -> Civil:
    """A date in a binary result row, read as one little-endian number: two bytes of year, one of month, of day."""
    return packed & 0xFFFF, packed >> 16 & 0xFF, packed >> 24


def unpack_decimal_date(packed: int) -> Civil:
    """The day of the DATETIME of servers before 5.6: YYYYMMDD."""
    return packed // 10_000, packed // 100 % 100, packed % 100


@cache
def seconds_of_day(unit: int) -> array[int]:
    """For hour, minute and second packed as 5, 6 and 6 bits, the time since midnight in `unit`s of a second."""
    table = array("q")
    for minutes in range(24 * 64):
        start = (minutes // 64 * 60 + minutes % 64) * 60 * unit
        table.extend(range(start, start + 64 * unit, unit))
    return table


@cache
def date_text(days: int) -> str:
    """`YYYY-MM-DD` of a day since 1970."""
    return (_EPOCH + timedelta(days)).isoformat()


_HOURS_MINUTES = tuple(f"T{minutes // 60:02}:{minutes % 60:02}" for minutes in range(24 * 60))
_SECONDS = tuple(f":{second:02}" for second in range(60))


def second_text(epoch_second: int) -> str:
    """`YYYY-MM-DDTHH:MM:SS` of a second since 1970 in UTC."""
    days, second = divmod(epoch_second, 86_400)
    return date_text(days) + _HOURS_MINUTES[second // 60] + _SECONDS[second % 60]


class SecondTexts(dict[int, Any]):
    """`YYYY-MM-DDTHH:MM:SS` and a suffix for seconds since 1970 in UTC.

    Args:
        suffix: what ends each text.
        zero: what stands for 0; Ellipsis: the text of 1970-01-01.
    """

    def __init__(self, suffix: str = "", zero: Any = ...) -> None:
        super().__init__()
        self.suffix = suffix
        self.zero = zero

    def __missing__(self, epoch_second: int) -> Any:
        if len(self) >= _TABLE_LIMIT:
            self.clear()
        shown = epoch_second or self.zero is ...
        self[epoch_second] = text = second_text(epoch_second) + self.suffix if shown else self.zero
        return text


def fraction_text(microseconds: int) -> str:
    """`.5`, `.000001`: a fraction of a second without trailing zeros; nothing for 0."""
    return f".{microseconds:06}".rstrip("0") if microseconds else ""


def zoned_text(epoch_second: int, microseconds: int) -> str:
    """Debezium's ZonedTimestamp in UTC, its fraction without trailing zeros."""
    return f"{second_text(epoch_second)}{fraction_text(microseconds)}Z"


def show_days(form: TemporalForm) -> Callable[[int], Any]:
    """What a day is shown as: its number, the text of its ISO date, or its start in a unit."""
    if form == "days":
        return int
    if form == "iso":
        return lambda days: f"{date_text(days)}Z"
    per_day = 86_400 * UNITS[form]
    return lambda days: days * per_day


def show_datetime(form: TemporalForm, epoch_us: int) -> Any:
    """A date and time without zone, given in µs since 1970; None where the form has no room for it."""
    if form == "iso":
        return zoned_text(*divmod(epoch_us, 1_000_000))
    if form == "ms":
        return epoch_us // 1000
    if form == "us":
        return epoch_us
    return epoch_us * 1000 if epoch_us * 1000 in _INT64 else None


def show_time(form: TemporalForm, large: bool, us: int) -> Any:
    """A TIME, given in µs with its sign; None where the form has no room for it.

    Args:
        form: what it is shown as.
        large: whether negative times and those beyond 24 h can be shown.
        us: the time; a full day has a number of milliseconds, but is no time of a day's clock.
    """
    if not (large or 0 <= us < US_PER_DAY + (form == "ms")):
        return None
    if form == "iso":
        return f"{second_text(us // 1_000_000)[11:]}{fraction_text(us % 1_000_000)}Z"
    if form == "ms":
        return us // 1000 if us >= 0 else -(-us // 1000)
    return us if form == "us" else us * 1000


class TimeTable(dict[int, Any]):
    """From a TIME2 as it stands in a row image, read as one big-endian number, to what it is shown as.

    Args:
        fraction_bytes: how many bytes the fraction takes.
        show: from µs to what is shown.
    """

    def __init__(self, fraction_bytes: int, show: Callable[[int], Any]) -> None:
        super().__init__()
        self.bits = 8 * fraction_bytes
        self.middle = 0x800000 << self.bits
        self.us_per_unit = 1_000_000 // 100**fraction_bytes
        self.show = show

    def __missing__(self, packed: int) -> Any:
        if len(self) >= _TABLE_LIMIT:
            self.clear()
        size = abs(packed - self.middle)
        whole, fraction = size >> self.bits, size & (1 << self.bits) - 1
        seconds = ((whole >> 12) * 60 + (whole >> 6 & 63)) * 60 + (whole & 63)
        us = seconds * 1_000_000 + fraction * self.us_per_unit
        self[packed] = shown = self.show(us if packed >= self.middle else -us)
        return shown
