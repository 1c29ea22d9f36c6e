"""The cells of dates and times in row images.

MySQL source documentation, "Date and Time Data Type Representation"; the fraction of a second takes a byte for each two
digits. Numbers are stored big end first, but for DATE.
"""

from __future__ import annotations

from collections.abc import Callable

from cdckit_mysql.binlog import column_types as types
from cdckit_mysql.rows.cell import Cell, Scope
from cdckit_mysql.rows.temporal_tables import Shown, date_table, second_texts, start_table, time_table
from cdckit_mysql.values.column import ColumnValue
from cdckit_mysql.values.kinds import Kind
from cdckit_mysql.values.temporal import (
    UNITS,
    TemporalForm,
    fraction_text,
    seconds_of_day,
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


def _date(_type: int, _metadata: int, value: ColumnValue, scope: Scope) -> Cell:
    days = scope.name(date_table(Shown.of(value), unpack_log_date))
    return Cell("HB", 3, value=f"{days}[{{0}} | {{1}} << 16]")


def _time(_type: int, digits: int, value: ColumnValue, scope: Scope) -> Cell:
    size = (digits + 1) // 2
    letters, number = _TIME_FORMATS[size]
    return Cell(letters, 3 + size, ">", f"{scope.name(time_table(Shown.of(value), size))}[{number}]")


def _datetime(_type: int, digits: int, value: ColumnValue, scope: Scope) -> Cell:
    shown = Shown.of(value)
    size = (digits + 1) // 2
    letters, number = _DATETIME_FORMATS[size]
    unit: TemporalForm = "ms" if shown.form == "ms" else "us"
    days = scope.name(start_table(shown, unpack_log_datetime_day, unit))
    seconds = scope.name(seconds_of_day(UNITS[unit]))
    bits = 8 * size
    moment = f"d + {seconds}[v >> {bits} & 131071]{_fraction(size, UNITS[unit])}"
    if shown.form != unit:
        moment = f"{scope.name(shown.datetime)}({moment})"
    null = scope.name(value.native_null)
    # Day and clock are looked up apart: days repeat from row to row, seconds of a day are few, and neither has to be
    # computed twice. 17 bits of clock stand behind the day's, the fraction's bytes behind these.
    return Cell(letters, 5 + size, ">", f"{null} if (d := {days}[{number} >> {bits + 17}]) is None else {moment}")


def _fraction(size: int, unit: int) -> str:
    """What the fraction in the last bytes of `v` adds, in `unit`s of a second."""
    if not size:
        return ""
    stored, parts = f"(v & {(1 << 8 * size) - 1})", 100**size
    if unit == parts:
        return f" + {stored}"
    return f" + {stored} * {unit // parts}" if unit > parts else f" + {stored} // {parts // unit}"


def timestamp_cell(_type: int, digits: int, value: ColumnValue, scope: Scope) -> Cell:
    """0 is the zero date."""
    zero_is_null = not value.options.zero_timestamps
    if not digits:
        texts = second_texts("Z", value.native_null if zero_is_null else ...)
        return Cell("I", 4, ">", f"{scope.name(texts)}[{{0}}]")
    size = (digits + 1) // 2
    letters, fraction = (("IB", "{1}"), ("IH", "{1}"), ("IHB", "({1} << 8 | {2})"))[size - 1]
    text = _timestamp_text(f"{scope.name(second_texts('', ...))}[{{0}}]", fraction, digits, value, scope)
    if zero_is_null:
        text = f"{text} if {{0}} or {fraction} else {scope.name(value.native_null)}"
    return Cell(letters, 4 + size, ">", text)


def _timestamp_text(second: str, fraction: str, digits: int, value: ColumnValue, scope: Scope) -> str:
    """A text with as many digits of the second as the column has, or in old formats as it needs."""
    if value.options.shortens_timestamps:
        us = f"{fraction} * {1_000_000 // 100 ** ((digits + 1) // 2)}"
        return f'{second} + {scope.name(fraction_text)}({us}) + "Z"'
    shown = fraction if digits % 2 == 0 else f"{fraction} // 10"
    return f'f"{{{{{second}}}}}.{{{{{shown}:0{digits}}}}}Z"'


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
