"""The cells of dates and times in the formats of before MySQL 5.6 and MariaDB 10.1.

Tables keep them until they are rebuilt; MariaDB makes new ones under `mysql56_temporal_format=OFF`, then with fractions
of a second in a format of its own, of which TABLE_MAP does not tell the size: the definition does. MariaDB's server
source, `Field_timestamp_hires`, `Field_datetime_hires`, `Field_time_hires`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cdckit_mysql.binlog import column_types as types
from cdckit_mysql.rows.cell import Cell, Scope
from cdckit_mysql.rows.log_temporal_cells import CellMaker, timestamp_cell
from cdckit_mysql.rows.temporal_tables import Shown, start_table
from cdckit_mysql.values.column import ColumnValue
from cdckit_mysql.values.kinds import Kind
from cdckit_mysql.values.temporal import UNITS, second_text, unpack_decimal_date, zoned_text

_FRACTION_SIZES = (0, 1, 1, 2, 2, 3, 3)
_DATETIME_SIZES = (8, 6, 6, 7, 7, 7, 8)
_TIME_SIZES = (3, 4, 4, 5, 5, 5, 6)
"""How many bytes a value takes, by its digits of the second's fraction."""
_TIME_OFFSET_SECONDS = (838 * 60 + 59) * 60 + 59 + 1
_US = UNITS["us"]


def _timestamp(_type: int, _metadata: int, value: ColumnValue, scope: Scope) -> Cell:
    digits = value.column.length or 0
    if not digits:
        cell = timestamp_cell(types.TIMESTAMP2, 0, value, scope)
        return Cell(cell.format, cell.size, "<", cell.value)
    size, shortens = 4 + _FRACTION_SIZES[digits], value.options.shortens_timestamps
    zero = ... if value.options.zero_timestamps else value.native_null

    def convert(data: bytes) -> Any:
        seconds, fraction = int.from_bytes(data[:4], "big"), int.from_bytes(data[4:], "big")
        if not (seconds or fraction or zero is ...):
            return zero
        if shortens:
            return zoned_text(seconds, fraction * 10 ** (6 - digits))
        return f"{second_text(seconds)}.{fraction:0{digits}}Z"

    return _bytes_cell(size, convert, scope)


def _datetime(_type: int, _metadata: int, value: ColumnValue, scope: Scope) -> Cell:
    digits = value.column.length or 0
    shown = Shown.of(value)
    days = start_table(shown, unpack_decimal_date, "us")

    def moment(day: int, us: int) -> Any:
        start = days[day]
        return shown.null if start is None else shown.datetime(start + us)

    def from_decimal(data: bytes) -> Any:
        day, time = divmod(int.from_bytes(data, "little"), 1_000_000)
        return moment(day, _decimal_time_us(time))

    def from_packed(data: bytes) -> Any:
        rest, fraction = divmod(int.from_bytes(data, "big"), 10**digits)
        # Mixed radix, from the smallest part up: fraction, second of the day, day (32), month (13), year.
        rest, second = divmod(rest, 86_400)
        rest, day = divmod(rest, 32)
        year, month = divmod(rest, 13)
        return moment((year * 100 + month) * 100 + day, second * _US + fraction * 10 ** (6 - digits))

    return _bytes_cell(_DATETIME_SIZES[digits], from_packed if digits else from_decimal, scope)


def _time(_type: int, _metadata: int, value: ColumnValue, scope: Scope) -> Cell:
    digits = value.column.length or 0
    show = Shown.of(value).time

    def from_decimal(data: bytes) -> Any:
        number = int.from_bytes(data, "little", signed=True)
        us = _decimal_time_us(abs(number))
        return show(us if number >= 0 else -us)

    def from_packed(data: bytes) -> Any:
        units = int.from_bytes(data, "big") - _TIME_OFFSET_SECONDS * 10**digits
        return show(units * 10 ** (6 - digits))

    return _bytes_cell(_TIME_SIZES[digits], from_packed if digits else from_decimal, scope)


def _decimal_time_us(number: int) -> int:
    """The µs of a time that is written HHMMSS."""
    return ((number // 10_000 * 60 + number // 100 % 100) * 60 + number % 100) * _US


def _bytes_cell(size: int, convert: Callable[[bytes], Any], scope: Scope) -> Cell:
    return Cell(f"{size}s", size, value=f"{scope.name(convert)}({{0}})")


OLD_TEMPORAL_CELLS: dict[Kind, dict[int, CellMaker]] = {
    "timestamp": {types.TIMESTAMP: _timestamp},
    "datetime": {types.DATETIME: _datetime},
    "time": {types.TIME: _time},
}
