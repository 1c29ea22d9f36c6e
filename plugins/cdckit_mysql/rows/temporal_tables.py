"""Functions and tables that make dates and times, shared by all columns that are shown alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Self, cast

from cdckit_mysql.values.column import ColumnValue
from cdckit_mysql.values.key_dates import KeyDates
from cdckit_mysql.values.schemas import temporal_form
from cdckit_mysql.values.temporal import (
    Civil,
    DayTable,
    SecondTexts,
    TemporalForm,
    TimeTable,
    show_datetime,
    show_days,
    show_time,
)


@dataclass(frozen=True, slots=True)
class Shown:
    """How a DATE, TIME, DATETIME or TIMESTAMP column is shown.

    Attributes:
        form: what its values are.
        null: what stands for NULL and for what cannot be shown.
        large_times: whether negative times and those beyond 24 h can be shown.
        adjust: `enable.time.adjuster`.
        lenient: whether a date that does not exist is shown as 1970-01-01 instead of being an error.
        drops_signs: whether a snapshot shows negative times of less than an hour as positive.
        key: looks at the dates of a key's column; None: it has none.
    """

    form: TemporalForm
    null: Any
    large_times: bool
    adjust: bool
    lenient: bool
    drops_signs: bool
    key: KeyDates | None

    @classmethod
    def of(cls, value: ColumnValue) -> Self:
        """How a column is shown."""
        options = value.options
        form = temporal_form(value.column, value.kind, options.time_mode)
        lenient = options.invalid_dates == "epoch"
        adjust, drops_signs = options.time_adjuster, options.drops_signs
        return cls(form, value.native_null, options.large_times, adjust, lenient, drops_signs, value.key_dates)

    def check(self, day: Civil) -> None:
        """Takes a date with zeros in it."""
        if self.key is not None:
            self.key.check(day)

    def time(self, us: int) -> Any:
        """A TIME, given in µs with its sign."""
        shown = show_time(self.form, self.large_times, us)
        return self.null if shown is None else shown

    def datetime(self, epoch_us: int) -> Any:
        """A DATETIME, given in µs since 1970."""
        shown = show_datetime(self.form, epoch_us)
        return self.null if shown is None else shown


@cache
def date_table(shown: Shown, unpack: Callable[[int], Civil]) -> DayTable:
    """From packed days to what a DATE is shown as."""
    return _day_table(shown, unpack, shown.form, shown.null)


@cache
def start_table(shown: Shown, unpack: Callable[[int], Civil], unit: TemporalForm) -> DayTable:
    """From packed days to their start since 1970 in a unit, None for days with a zero in them."""
    return _day_table(shown, unpack, unit, None)


def _day_table(shown: Shown, unpack: Callable[[int], Civil], form: TemporalForm, zero: Any) -> DayTable:
    show = show_days(form)
    invalid = show(0) if shown.lenient else None
    return DayTable(unpack, show, zero, adjust=shown.adjust, invalid=invalid, check=shown.check)


@cache
def time_table(shown: Shown, fraction_bytes: int) -> TimeTable:
    """From TIME2 as it stands in a row image to what it is shown as."""
    return TimeTable(fraction_bytes, shown.time)


@cache
def second_texts(suffix: str, zero: Any) -> SecondTexts:
    """From seconds since 1970 to their text."""
    return SecondTexts(suffix, zero)


_BYTES_KEPT = 1 << 14


class BytesTable(dict[bytes, Any]):
    """From a value's bytes to what it is shown as."""

    def __init__(self, show: Callable[[bytes], Any]) -> None:
        super().__init__()
        self.show = show

    def __missing__(self, data: bytes) -> Any:
        if len(self) >= _BYTES_KEPT:
            self.clear()
        self[data] = shown = self.show(data)
        return shown


@cache
def bytes_table(reader: Callable[[Shown, bytes], Any], shown: Shown) -> BytesTable:
    """From a value's bytes to what `reader` makes of them."""
    return BytesTable(cast("Callable[[bytes], Any]", partial(reader, shown)))
