"""The cells of binary result rows, for each type of a column definition.

MySQL source documentation, "Binary Protocol Value". What the server sends as text there (decimals, labels, JSON) is in
the connection's character set, utf8mb4.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any

from cdckit.errors import DecodeError
from cdckit_mysql.binlog import column_types as types
from cdckit_mysql.binlog.compression import packed_integer
from cdckit_mysql.rows.cell import Cell
from cdckit_mysql.rows.log_temporal_cells import datetime_shower, day_table, time_shower
from cdckit_mysql.rows.scope import Scope
from cdckit_mysql.rows.value_expressions import bytes_expression, vector_of
from cdckit_mysql.values.column import ColumnValue
from cdckit_mysql.values.geometry import geometry_of, point_of
from cdckit_mysql.values.numbers import decimal_bytes, decimal_double, decimal_text, six_digits
from cdckit_mysql.values.schemas import Kind, temporal_form
from cdckit_mysql.values.temporal import DayTable, fraction_text, second_text, unpack_result_date

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
_TABLE_LIMIT = 1 << 16


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
    elif column_type in _INTEGERS or column_type in {types.FLOAT, types.DOUBLE}:
        raise _misfit(column_type, value)
    else:
        cell = _MAKERS[value.kind](value, scope)
    return cell if value.converter is None else cell.wrapped(scope.name(value.converter.convert))


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
    return Cell("f", 4, value=f"{scope.name(six_digits)}({{0}})" if value.kind == "float32" else "{0}")


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


class BytesTable(dict[bytes, Any]):
    """From a value's bytes to what it is shown as."""

    def __init__(self, show: Callable[[bytes], Any]) -> None:
        super().__init__()
        self.show = show

    def __missing__(self, data: bytes) -> Any:
        if len(self) >= _TABLE_LIMIT:
            self.clear()
        self[data] = shown = self.show(data)
        return shown


def _tabled(make: Callable[[ColumnValue], Callable[[bytes], Any]]) -> CellMaker:
    """Values that a function makes of their bytes, kept for the next time."""

    def cell(value: ColumnValue, scope: Scope) -> Cell:
        return Cell("B", 1, value=f"{scope.name(BytesTable(make(value)))}[{{data}}]", length="{0}")

    return cell


def _date(value: ColumnValue) -> Callable[[bytes], Any]:
    form = temporal_form(value.column, "date", value.options.time_mode)
    days = day_table(value, unpack_result_date, form, value.null)
    return lambda data: days[_DAY(data)[0]] if data else value.null


def _datetime_cell(value: ColumnValue, scope: Scope) -> Cell:
    """With fractions of a second hardly a value comes twice."""
    if value.column.length:
        return Cell("B", 1, value=f"{scope.name(_datetime(value))}({{data}})", length="{0}")
    return _tabled(_datetime)(value, scope)


def _datetime(value: ColumnValue) -> Callable[[bytes], Any]:
    form = temporal_form(value.column, "datetime", value.options.time_mode)
    if form == "ms":
        return _moment_reader(value, 1_000, lambda moment, us: moment + us // 1_000)
    if form == "us":
        return _moment_reader(value, 1_000_000, int.__add__)
    show = datetime_shower(value)
    return _moment_reader(value, 1_000_000, lambda moment, us: show(moment + us))


def _timestamp(value: ColumnValue) -> Callable[[bytes], Any]:
    """The session is in UTC, so the server's civil time is shown as it comes."""
    return _moment_reader(value, 1, lambda moment, us: f"{second_text(moment)}{fraction_text(us)}Z")


def _moment_reader(value: ColumnValue, unit: int, show: Callable[[int, int], Any]) -> Callable[[bytes], Any]:
    """The function from a moment's bytes: none for the zero date, 4 for a day, 7 with a time, 11 with microseconds.

    Args:
        value: the column.
        unit: of what `show` takes, so many a second.
        show: from the time since 1970 in units and from microseconds to what is shown.
    """
    options, null, per_day = value.options, value.null, 86_400 * unit
    invalid = 0 if options.invalid_dates == "epoch" else None
    days = DayTable(unpack_result_date, lambda day: day * per_day, None, adjust=options.time_adjuster, invalid=invalid)

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


def _time(value: ColumnValue) -> Callable[[bytes], Any]:
    """No bytes for zero, else sign, days, hours, minutes, seconds, and with 12 bytes microseconds."""
    show, null = time_shower(value), value.null

    def convert(data: bytes) -> Any:
        us = 0
        if data:
            negative, days, hours, minutes, seconds, *fraction = _TIME_US(data) if len(data) == 12 else _TIME(data)
            us = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000 + sum(fraction)
            us = -us if negative else us
        shown = show(us)
        return null if shown is None else shown

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
    "datetime": _datetime_cell,
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
