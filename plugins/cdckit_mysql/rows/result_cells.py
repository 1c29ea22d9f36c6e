"""The cells of binary result rows, for each type of a column definition.

MySQL source documentation, "Binary Protocol Value". What the server sends as text there (decimals, labels, JSON) is in
the connection's character set, utf8mb4.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from struct import Struct
from typing import Any

from cdckit import DecodeError
from cdckit_mysql.binlog import column_types as types
from cdckit_mysql.binlog.compression import packed_integer
from cdckit_mysql.rows.cell import Cell, Scope
from cdckit_mysql.rows.expressions import bytes_expression, vector_of
from cdckit_mysql.rows.log_cells import finished_cell, float32_cell
from cdckit_mysql.rows.temporal_tables import Shown, bytes_table, date_table
from cdckit_mysql.values.column import ColumnValue
from cdckit_mysql.values.geometry import geometry_of, point_of
from cdckit_mysql.values.kinds import Kind
from cdckit_mysql.values.numbers import decimal_bytes, decimal_double, decimal_text, six_digits, six_digits_wide
from cdckit_mysql.values.temporal import HOUR_US, DayTable, fraction_text, second_text, unpack_result_date

CellMaker = Callable[[ColumnValue, Scope], Cell]

_INTEGERS = {
    types.TINY: ("b", 1),
    types.SHORT: ("h", 2),
    types.INT24: ("i", 4),
    types.LONG: ("i", 4),
    types.LONGLONG: ("q", 8),
}
_DAY = Struct("<I").unpack_from
_MOMENT = Struct("<IBBB").unpack_from
_MOMENT_US = Struct("<IBBBI").unpack
_TIME = Struct("<BIBBB").unpack_from
_TIME_US = Struct("<BIBBBI").unpack


def result_cell(column_type: int, value: ColumnValue, scope: Scope) -> Cell:
    """How a column is read from a result row.

    Args:
        column_type: the type by the column's definition in the result set.
        value: what it is in the event.
        scope: takes the names that the value's expression uses.

    Raises:
        DecodeError: the result's type does not fit the column's definition.
    """
    if value.kind in {"integer", "bigint"}:
        cell = _integer(column_type, value)
    elif value.kind in {"float32", "float64"}:
        cell = _float(column_type, value, scope)
    elif value.kind == "boolean" and column_type == types.TINY:
        cell = Cell("b", 1, value="{0} != 0")
    elif column_type in _INTEGERS or column_type in {types.FLOAT, types.DOUBLE}:
        raise _misfit(column_type, value)
    else:
        cell = _MAKERS[value.kind](value, scope)
    return finished_cell(cell, value, scope)


def _misfit(column_type: int, value: ColumnValue) -> DecodeError:
    return DecodeError(
        f"column {value.column.name} is {value.column.type_name} by its definition, but the result set has type "
        f"{column_type}: the table was changed since its definition was read"
    )


def _integer(column_type: int, value: ColumnValue) -> Cell:
    if column_type not in _INTEGERS:
        raise _misfit(column_type, value)
    letter, size = _INTEGERS[column_type]
    if value.native.type == "bytes":
        return Cell("Q", 8, value='{0}.to_bytes(({0}.bit_length() >> 3) + 1, "big")')
    unsigned = value.column.unsigned and value.kind != "bigint"
    return Cell(letter.upper() if unsigned else letter, size, value="{0}")


def _float(column_type: int, value: ColumnValue, scope: Scope) -> Cell:
    if column_type == types.DOUBLE:
        return Cell("d", 8, value="{0}")
    if column_type != types.FLOAT:
        raise _misfit(column_type, value)
    if value.kind != "float32":
        return Cell("f", 4, value="{0}")
    if value.in_key:  # the log has all digits, and has to name the same row
        return float32_cell(value, scope)
    show = six_digits_wide if value.options.wide_floats else six_digits
    return Cell("f", 4, value=f"{scope.name(show)}({{0}})")


def _encoded(value: str, scope: Scope) -> Cell:
    """A value behind a length-encoded integer."""
    return Cell("B", 1, value=value, length="{0}", long_length=scope.name(packed_integer))


def _text(_value: ColumnValue, scope: Scope) -> Cell:
    return _encoded('{data}.decode("utf-8", "replace")', scope)


def _bytes(value: ColumnValue, scope: Scope) -> Cell:
    return _encoded(bytes_expression("{data}", value.options.binary_mode, scope), scope)


def _converted(make: Callable[[ColumnValue], Callable[[bytes], Any]]) -> CellMaker:
    """Values that a function makes of their bytes."""
    return lambda value, scope: _encoded(f"{scope.name(make(value))}({{data}})", scope)


def _decimal(value: ColumnValue, scope: Scope) -> Cell:
    """A decimal is sent as text with all digits behind the point, zeros before the first only under ZEROFILL."""
    unscaled = 'int({data}.replace(b".", b""))'
    if value.options.decimal_mode != "precise":
        show = decimal_text if value.options.decimal_mode == "string" else decimal_double
        return _encoded(f"{scope.name(show)}({unscaled}, {value.column.scale or 0})", scope)
    negative = f"{scope.name(decimal_bytes)}(v) if (v := {unscaled}) < 0"
    return _encoded(f'{negative} else v.to_bytes((v.bit_length() >> 3) + 1, "big")', scope)


def _boolean(_value: ColumnValue) -> Callable[[bytes], bool]:
    return any


def _bits(_value: ColumnValue, scope: Scope) -> Cell:
    return _encoded("{data}[::-1]", scope)


def _year(_value: ColumnValue, _scope: Scope) -> Cell:
    """0000 is shown as in the log's events."""
    return Cell("H", 2, value="{0} or 1900")


def _tabled(reader: Callable[[Shown, bytes], Any]) -> CellMaker:
    """Values that a function makes of their bytes, kept for the next time."""

    def cell(value: ColumnValue, scope: Scope) -> Cell:
        table = scope.name(bytes_table(reader, Shown.of(value)))
        return Cell("B", 1, value=f"{table}[{{data}}]", length="{0}")

    return cell


def _date(shown: Shown, data: bytes) -> Any:
    return date_table(shown, unpack_result_date)[_DAY(data)[0]] if data else shown.null


def _time(shown: Shown, data: bytes) -> Any:
    """No bytes for zero, else sign, days, hours, minutes, seconds, and with 12 bytes microseconds."""
    if not data:
        return shown.time(0)
    negative, days, hours, minutes, seconds, *fraction = _TIME_US(data) if len(data) == 12 else _TIME(data)
    us = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000 + sum(fraction)
    signed = negative and not (shown.drops_signs and us < HOUR_US)
    return shown.time(-us if signed else us)


def _datetime(value: ColumnValue, scope: Scope) -> Cell:
    """With fractions of a second hardly a value comes twice."""
    if not value.column.length:
        return _tabled(_whole_datetime)(value, scope)
    return Cell("B", 1, value=f"{scope.name(_datetime_reader(Shown.of(value)))}({{data}})", length="{0}")


def _whole_datetime(shown: Shown, data: bytes) -> Any:
    return _datetime_reader(shown)(data)


def _timestamp(shown: Shown, data: bytes) -> Any:
    """The session is in UTC, so the server's civil time is shown as it comes."""
    return _timestamp_reader(shown)(data)


@cache
def _timestamp_reader(shown: Shown) -> Callable[[bytes], Any]:
    return _moment_reader(shown, 1, lambda moment, us: f"{second_text(moment)}{fraction_text(us)}Z")


@cache
def _datetime_reader(shown: Shown) -> Callable[[bytes], Any]:
    if shown.form == "ms":
        return _moment_reader(shown, 1_000, lambda moment, us: moment + us // 1_000)
    if shown.form == "us":
        return _moment_reader(shown, 1_000_000, int.__add__)
    return _moment_reader(shown, 1_000_000, lambda moment, us: shown.datetime(moment + us))


def _moment_reader(shown: Shown, unit: int, show: Callable[[int, int], Any]) -> Callable[[bytes], Any]:
    """The function from a moment's bytes: none for the zero date, 4 for a day, 7 with a time, 11 with microseconds.

    Args:
        shown: how the column is shown.
        unit: of what `show` takes, so many a second.
        show: from the time since 1970 in units and from microseconds to what is shown.
    """
    per_day, null, invalid = 86_400 * unit, shown.null, 0 if shown.lenient else None
    days = DayTable(
        unpack_result_date, lambda day: day * per_day, None, adjust=shown.adjust, invalid=invalid, check=shown.check
    )

    def convert(data: bytes) -> Any:
        hours = minutes = seconds = us = 0
        if len(data) == 11:
            day, hours, minutes, seconds, us = _MOMENT_US(data)
        elif len(data) == 7:
            day, hours, minutes, seconds = _MOMENT(data)
        else:
            day = _DAY(data)[0] if data else 0
        start = days[day]
        return null if start is None else show(start + ((hours * 60 + minutes) * 60 + seconds) * unit, us)

    return convert


_MAKERS: dict[Kind, CellMaker] = {
    "decimal": _decimal,
    "boolean": _converted(_boolean),
    "bits": _bits,
    "text": _text,
    "bytes": _bytes,
    "enum": _text,
    "set": _text,
    "date": _tabled(_date),
    "time": _tabled(_time),
    "datetime": _datetime,
    "timestamp": _tabled(_timestamp),
    "year": _year,
    "json": _text,
    "geometry": _converted(lambda value: geometry_of(value.native)),
    "point": _converted(lambda value: point_of(value.native)),
    "vector": _converted(lambda _value: vector_of),
    "uuid": _text,
    "inet4": _text,
    "inet6": _text,
}
