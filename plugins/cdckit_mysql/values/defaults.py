"""A column's DEFAULT as its schema shows it, and what stands for a null, or a missing DEFAULT, where neither may be.

Debezium's manual for MySQL, "Default values"; for what the manual leaves open, its behaviour on real servers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import InvalidOperation
from typing import Any

from cdckit import DecodeError, Schema
from cdckit_mysql.table import Column
from cdckit_mysql.values.geometry import empty_geometry
from cdckit_mysql.values.kinds import Kind
from cdckit_mysql.values.numbers import (
    BINARY_FORMS,
    SHORTEST_FLOATS,
    decimal_bytes,
    decimal_double,
    decimal_text,
    rounded_integer,
    unscaled,
)
from cdckit_mysql.values.options import ValueOptions
from cdckit_mysql.values.schemas import temporal_form
from cdckit_mysql.values.temporal import (
    HOUR_US,
    DayTable,
    show_datetime,
    show_days,
    show_time,
    unpack_decimal_date,
    zoned_text,
)

EPOCH_TEXT = "1970-01-01T00:00:00Z"
_CURRENT_TIMESTAMP = re.compile(r"\(*\s*(current_timestamp|now|localtime|localtimestamp)\b", re.IGNORECASE)
_DATE_TIME = re.compile(r"(\d+)-(\d+)-(\d+)(?:[ T](\d+):(\d+)(?::(\d+)(?:\.(\d{1,6}))?)?)?")
_TIME = re.compile(r"(-?)(\d{1,9}):(\d{1,9})(?::(\d{1,9})(?:\.(\d{1,6}))?)?")
_LITERAL_ESCAPES = {"\\": "\\\\", "\0": "\\0", "\n": "\\n", "\r": "\\r", "'": "''"}

Moment = tuple[int, int]
"""Seconds since 1970 and microseconds."""
_NUMBERS = ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE", "BIT")
_TEXTS = (
    "CHAR", "VARCHAR", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "SET",
    "BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB",
)  # fmt: skip
_IMPLICIT = {
    **dict.fromkeys(_NUMBERS, "0"),
    **dict.fromkeys(_TEXTS, ""),
    **dict.fromkeys(("DATE", "DATETIME", "TIMESTAMP"), "0000-00-00 00:00:00"),
    "TIME": "00:00:00",
    "YEAR": "1900",
    "JSON": "null",
}
"""What a column holds that allows no NULL, has no DEFAULT and was given no value; YEAR 0 is 1900 in events.

https://dev.mysql.com/doc/refman/en/data-type-defaults.html
"""


def schema_default(column: Column, kind: Kind, schema: Schema, options: ValueOptions) -> Any:
    """The DEFAULT as a value of `schema`, or None where there is none that a schema can show.

    Raises:
        DecodeError: the text is no value of the column's type.
    """
    if not column.has_default or column.default is None:
        return None
    reader = _READERS.get(kind)
    if column.default_is_expression:
        return _moment_default(column, kind, options)
    if reader is None:
        return None
    try:
        return reader(column, column.default, options)
    except (ValueError, InvalidOperation, OverflowError) as error:
        raise DecodeError(f"the default {column.default!r} of column {column.name} is no {column.type_name}") from error


def value_for_null(kind: Kind, schema: Schema) -> Any:
    """What a null is shown as in a column that may hold none: the default, else the type's zero."""
    if schema.optional:
        return None
    if schema.default is not None:
        return schema.default
    if kind in {"geometry", "point"}:
        return empty_geometry(schema)
    if kind == "json":
        return "{}"
    if kind == "timestamp":
        return EPOCH_TEXT
    if kind in {"date", "datetime", "time"} and schema.type == "string":
        return {"date": EPOCH_TEXT[:10] + "Z", "time": EPOCH_TEXT[11:], "datetime": EPOCH_TEXT}[kind]
    if kind == "decimal" or (kind == "bigint" and schema.type == "bytes"):
        return _ZERO_DECIMALS.get(schema.type, 0.0)
    return _ZEROS[schema.type]


_ZEROS: dict[str, Any] = {
    "int16": 0, "int32": 0, "int64": 0, "float32": 0.0, "float64": 0.0, "boolean": False, "string": "", "bytes": b"",
    "array": [],
}  # fmt: skip
_ZERO_DECIMALS: dict[str, Any] = {"bytes": b"\0", "string": "0"}


def _integer(column: Column, text: str, _options: ValueOptions) -> int:
    return rounded_integer(text)


def _bigint(column: Column, text: str, options: ValueOptions) -> Any:
    if column.unsigned and options.bigint_unsigned_mode == "precise":
        return decimal_bytes(unscaled(text, 0))
    return rounded_integer(text)


def _decimal(column: Column, text: str, options: ValueOptions) -> Any:
    scale = column.scale or 0
    number = unscaled(text, scale)
    if options.decimal_mode == "precise":
        return decimal_bytes(number)
    return decimal_text(number, scale) if options.decimal_mode == "string" else decimal_double(number, scale)


def _float32(_column: Column, text: str, options: ValueOptions) -> float:
    return float(text) if options.wide_floats else SHORTEST_FLOATS[float(text)]


def _float64(_column: Column, text: str, _options: ValueOptions) -> float:
    return float(text)


def _boolean(_column: Column, text: str, _options: ValueOptions) -> bool:
    return text.strip("0") != ""


def _bits(column: Column, text: str, _options: ValueOptions) -> bytes:
    return int(text, 2).to_bytes(((column.length or 1) + 7) // 8, "little")


def _text(_column: Column, text: str, _options: ValueOptions) -> str:
    """The literal's inside, escapes and all, as SHOW CREATE TABLE writes it: that is what Debezium shows."""
    return "".join(_LITERAL_ESCAPES.get(character, character) for character in text)


def _label(_column: Column, text: str, _options: ValueOptions) -> str:
    return text


def _bytes(column: Column, text: str, options: ValueOptions) -> Any:
    data = text.encode("latin-1")
    if column.base_type == "BINARY":
        data = data.ljust(column.length or 1, b"\0")
    return BINARY_FORMS[options.binary_mode](data)


def _year(_column: Column, text: str, options: ValueOptions) -> int:
    year = int(text)
    return year + (2000 if year < 70 else 1900) if options.time_adjuster and year < 100 else year


def _date(column: Column, text: str, options: ValueOptions) -> Any:
    day = _parse_moment(column, text, options)
    return None if day is None else show_days(temporal_form(column, "date", options.time_mode))(day[0] // 86_400)


def _datetime(column: Column, text: str, options: ValueOptions) -> Any:
    moment = _parse_moment(column, text, options)
    if moment is None:
        return None
    return show_datetime(temporal_form(column, "datetime", options.time_mode), moment[0] * 1_000_000 + moment[1])


def _timestamp(column: Column, text: str, options: ValueOptions) -> str | None:
    moment = _parse_moment(column, text, options)
    if moment is None or (moment == (0, 0) and column.optional):
        return None
    if moment == (0, 0) or not column.length or options.shortens_timestamps:
        return zoned_text(*moment)
    return f"{zoned_text(moment[0], 0)[:-1]}.{moment[1]:06}"[: 20 + column.length] + "Z"


def _time(column: Column, text: str, options: ValueOptions) -> Any:
    found = _TIME.search(text)
    if found is None:
        raise ValueError(text)
    sign, hours, minutes, seconds, fraction = found.groups()
    us = ((int(hours) * 60 + int(minutes)) * 60 + int(seconds or 0)) * 1_000_000 + _microseconds(fraction)
    form = temporal_form(column, "time", options.time_mode)
    signed = sign and not (options.drops_signs and us < HOUR_US)
    return show_time(form, options.large_times, -us if signed else us)


def _microseconds(fraction: str | None) -> int:
    return int((fraction or "0").ljust(6, "0"))


def _parse_moment(column: Column, text: str, options: ValueOptions) -> Moment | None:
    """A date or a date and time; one with zeros is 1970-01-01 where null may not be, else None."""
    found = _DATE_TIME.fullmatch(text.strip())
    if found is None and text.strip("0"):
        raise ValueError(text)
    year, month, day = (int(part) for part in found.groups()[:3]) if found else (0, 0, 0)
    if not (found and year and month and day):
        return None if column.optional else (0, 0)
    days = DayTable(unpack_decimal_date, int, None, adjust=options.time_adjuster)[(year * 100 + month) * 100 + day]
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[3:6])
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds, _microseconds(found.group(7))


def _moment_default(column: Column, kind: Kind, options: ValueOptions) -> Any:
    """CURRENT_TIMESTAMP is 1970-01-01; no other expression has a value that a schema could show."""
    if not _CURRENT_TIMESTAMP.match(column.default or ""):
        return None
    if kind == "datetime":
        return show_datetime(temporal_form(column, kind, options.time_mode), 0)
    return EPOCH_TEXT if kind == "timestamp" and not column.optional else None


_READERS: dict[Kind, Callable[[Column, str, ValueOptions], Any]] = {
    "integer": _integer,
    "bigint": _bigint,
    "decimal": _decimal,
    "float32": _float32,
    "float64": _float64,
    "boolean": _boolean,
    "bits": _bits,
    "text": _text,
    "enum": _label,
    "set": _label,
    "uuid": _label,
    "inet4": _label,
    "inet6": _label,
    "bytes": _bytes,
    "year": _year,
    "date": _date,
    "datetime": _datetime,
    "timestamp": _timestamp,
    "time": _time,
}


def implicit_default(column: Column) -> str | None:
    """The text, in the form of a column's `default`, or None for a type that has no such value."""
    return column.enum_values[0] if column.base_type == "ENUM" else _IMPLICIT.get(column.base_type)
