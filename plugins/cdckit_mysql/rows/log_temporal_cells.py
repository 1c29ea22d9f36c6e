"""The cells of dates and times in row images.

MySQL source documentation, "Date and Time Data Type Representation"; the fraction of a second takes a byte for each two
digits. Numbers are stored big end first, but for DATE.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from cdckit_mysql.binlog import column_types as types
from cdckit_mysql.rows.cell import Cell
from cdckit_mysql.rows.scope import Scope
from cdckit_mysql.values.column import ColumnValue
from cdckit_mysql.values.schemas import Kind, temporal_form
from cdckit_mysql.values.temporal import (
    UNITS,
    DayTable,
    SecondTexts,
    TemporalForm,
    TimeTable,
    seconds_of_day,
    show_datetime,
    show_days,
    show_time,
    unpack_log_date,
    unpack_log_datetime_day,
)

CellMaker = Callable[[int, int, ColumnValue, Scope], Cell]

_TIME_FORMATS = (("BH", "{0} << 16 | {1}"), ("I", "{0}"), ("BI", "{0} << 32 | {1}"), ("HI", "{0} << 32 | {1}"))
_DATETIME_FORMATS = (
    ("BI", "(v := {0} << 32 | {1})"), ("HI", "(v := {0} << 32 | {1})"), ("BHI", "(v := {0} << 48 | {1} << 32 | {2})"),
    ("Q", "(v := {0})"),
)  # fmt: skip
"""For each count of bytes of the fraction the letters of `struct` and the number's expression."""


def day_table(
    value: ColumnValue, unpack: Callable[[int], tuple[int, int, int]], form: TemporalForm, zero: Any
) -> DayTable:
    """The table of a column's days."""
    options = value.options
    show = show_days(form)
    invalid = show(0) if options.invalid_dates == "epoch" else None
    return DayTable(unpack, show, zero, adjust=options.time_adjuster, invalid=invalid)


def _date(_type: int, _metadata: int, value: ColumnValue, scope: Scope) -> Cell:
    form = temporal_form(value.column, "date", value.options.time_mode)
    days = scope.name(day_table(value, unpack_log_date, form, value.null))
    return Cell("HB", 3, value=f"{days}[{{0}} | {{1}} << 16]")


def _time(_type: int, digits: int, value: ColumnValue, scope: Scope) -> Cell:
    size = (digits + 1) // 2
    letters, number = _TIME_FORMATS[size]
    table = TimeTable(size, time_shower(value), value.null)
    return Cell(letters, 3 + size, ">", f"{scope.name(table)}[{number}]")


def time_shower(value: ColumnValue) -> Callable[[int], Any]:
    """The function from a TIME in µs to what it is shown as, None for what cannot be shown."""
    form = temporal_form(value.column, "time", value.options.time_mode)
    return partial(show_time, form, value.options.large_times)


def _datetime(_type: int, digits: int, value: ColumnValue, scope: Scope) -> Cell:
    form = temporal_form(value.column, "datetime", value.options.time_mode)
    size = (digits + 1) // 2
    letters, number = _DATETIME_FORMATS[size]
    unit = form if form == "ms" else "us"
    days = scope.name(day_table(value, unpack_log_datetime_day, unit, None))
    seconds = scope.name(seconds_of_day(UNITS[unit]))
    bits = 8 * size
    moment = f"d + {seconds}[v >> {bits} & 131071]{_fraction(size, UNITS[unit])}"
    if form not in UNITS or form == "ns":
        moment = f"{scope.name(datetime_shower(value))}({moment})"
    null = scope.name(value.null)
    return Cell(letters, 5 + size, ">", f"{null} if (d := {days}[{number} >> {bits + 17}]) is None else {moment}")


def _fraction(size: int, unit: int) -> str:
    """What the fraction in the last bytes of `v` adds, in `unit`s of a second."""
    if not size:
        return ""
    stored, parts = f"(v & {(1 << 8 * size) - 1})", 100**size
    if unit == parts:
        return f" + {stored}"
    return f" + {stored} * {unit // parts}" if unit > parts else f" + {stored} // {parts // unit}"


def datetime_shower(value: ColumnValue) -> Callable[[int], Any]:
    """The function from a DATETIME in µs since 1970 to what it is shown as."""
    form = temporal_form(value.column, "datetime", value.options.time_mode)
    null = value.null

    def show(epoch_us: int) -> Any:
        shown = show_datetime(form, epoch_us)
        return null if shown is None else shown

    return show


def timestamp_cell(_type: int, digits: int, value: ColumnValue, scope: Scope) -> Cell:
    """Its text has as many digits of the second as the column; 0 is MySQL's zero date, MariaDB's is shown as 1970."""
    zero_is_null = value.options.flavor == "mysql"
    if not digits:
        texts = SecondTexts("Z", value.null if zero_is_null else ...)
        return Cell("I", 4, ">", f"{scope.name(texts)}[{{0}}]")
    size = (digits + 1) // 2
    letters, fraction = (("IB", "{1}"), ("IH", "{1}"), ("IHB", "({1} << 8 | {2})"))[size - 1]
    shown = fraction if digits % 2 == 0 else f"{fraction} // 10"
    text = f'f"{{{{{scope.name(SecondTexts())}[{{0}}]}}}}.{{{{{shown}:0{digits}}}}}Z"'
    if zero_is_null:
        text = f"{text} if {{0}} or {fraction} else {scope.name(value.null)}"
    return Cell(letters, 4 + size, ">", text)


def _year(_type: int, _metadata: int, _value: ColumnValue, _scope: Scope) -> Cell:
    """0 is 1900, as in Debezium's events, though the server prints 0000."""
    return Cell("B", 1, value="{0} + 1900")


TEMPORAL_CELLS: dict[Kind, dict[int, CellMaker]] = {
    "date": {types.DATE: _date, types.NEWDATE: _date},
    "time": {types.TIME2: _time},
    "datetime": {types.DATETIME2: _datetime},
    "timestamp": {types.TIMESTAMP2: timestamp_cell},
    "year": {types.YEAR: _year},
}
