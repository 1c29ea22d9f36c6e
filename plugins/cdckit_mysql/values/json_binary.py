"""MySQL's binary JSON, read into plain values and written as text.

The format: MySQL source documentation, "JSON binary format" (`sql-common/json_binary.h`). The text is that of
Debezium's events: no spaces, numbers without an exponent.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from json.encoder import encode_basestring
from struct import Struct
from typing import Any

from cdckit import DecodeError
from cdckit_mysql.binlog import column_types
from cdckit_mysql.values.decimals import DecimalLayout
from cdckit_mysql.values.numbers import base64_text, decimal_text
from cdckit_mysql.values.temporal import fraction_text

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None


class JsonLiteral(str):
    """A value's finished text: of decimals, dates and opaque bytes, which JSON has no type for."""

    __slots__ = ()


_U16 = Struct("<H").unpack_from
_U32 = Struct("<I").unpack_from
_SMALL_OBJECT, _LARGE_OBJECT, _SMALL_ARRAY, _LARGE_ARRAY, _LITERAL = range(5)
_INT16, _UINT16, _INT32, _UINT32 = 5, 6, 7, 8
_STRING, _OPAQUE = 12, 15
_NUMBERS: dict[int, Callable[..., tuple[Any, ...]]] = {
    _INT16: Struct("<h").unpack_from,
    _UINT16: _U16,
    _INT32: Struct("<i").unpack_from,
    _UINT32: _U32,
    9: Struct("<q").unpack_from,
    10: Struct("<Q").unpack_from,
    11: Struct("<d").unpack_from,
}
_LITERALS: tuple[Json, ...] = (None, True, False)
_INLINE = frozenset({_LITERAL, _INT16, _UINT16})
_INLINE_IN_LARGE = _INLINE | {_INT32, _UINT32}
_PACKED_TIME = Struct("<q").unpack_from
_TIMES = frozenset({column_types.TIME, column_types.TIME2})
_DATETIMES = frozenset({column_types.DATETIME, column_types.DATETIME2, column_types.TIMESTAMP, column_types.TIMESTAMP2})
_DECIMALS = frozenset({column_types.DECIMAL, column_types.NEWDECIMAL})


def parse_json(data: bytes) -> Json:
    """Read a document.

    Raises:
        DecodeError: the bytes are no document.
    """
    try:
        return _value(data, data[0], 1)
    except (IndexError, ValueError, struct.error) as error:
        raise DecodeError(f"a JSON document is damaged: {error}") from error


def _value(data: bytes, kind: int, at: int) -> Json:
    """The value of type `kind` at `at`."""
    read = _NUMBERS.get(kind)
    if read is not None:
        number: int | float = read(data, at)[0]
        return number
    if kind == _STRING:
        size, at = _variable_length(data, at)
        return data[at : at + size].decode("utf-8", "replace")
    if kind == _LITERAL:
        return _LITERALS[data[at]]
    if kind <= _LARGE_ARRAY:
        return _container(data, kind, at)
    if kind == _OPAQUE:
        return _opaque(data, at)
    raise ValueError(f"type {kind} is not known")


def _container(data: bytes, kind: int, at: int) -> Json:
    """An object or array: count, size, an object's keys by place and length, then types each with value or place."""
    large = kind in {_LARGE_OBJECT, _LARGE_ARRAY}
    integer, width = (_U32, 4) if large else (_U16, 2)
    inline = _INLINE_IN_LARGE if large else _INLINE
    count: int = integer(data, at)[0]
    entry = at + 2 * width
    keys: list[str] | None = None
    if kind in {_SMALL_OBJECT, _LARGE_OBJECT}:
        keys = []
        for place in range(entry, entry + count * (width + 2), width + 2):
            start = at + integer(data, place)[0]
            keys.append(data[start : start + _U16(data, place + width)[0]].decode("utf-8", "replace"))
        entry += count * (width + 2)
    values: list[Json] = []
    for place in range(entry, entry + count * (width + 1), width + 1):
        item = data[place]
        # Small values stand in the entry itself. What fits there depends on the container: a large one has four bytes.
        where = place + 1 if item in inline else at + integer(data, place + 1)[0]
        values.append(_value(data, item, where))
    return values if keys is None else dict(zip(keys, values, strict=True))


def _variable_length(data: bytes, at: int) -> tuple[int, int]:
    """A length in groups of seven bits, lowest first, and where it ends."""
    size = 0
    for shift in range(0, 35, 7):
        octet = data[at]
        at += 1
        size |= (octet & 0x7F) << shift
        if octet < 0x80:
            return size, at
    raise ValueError("a length has no end")


def _opaque(data: bytes, at: int) -> JsonLiteral:
    """A value of one of the server's own types."""
    kind = data[at]
    size, at = _variable_length(data, at + 1)
    body = data[at : at + size]
    if kind in _DECIMALS:
        layout = DecimalLayout(body[0], body[1])
        return JsonLiteral(decimal_text(layout.unpack(body[2:]), layout.scale))
    if kind == column_types.DATE:
        return JsonLiteral(f'"{_datetime_text(body)[:10]}"')
    if kind in _DATETIMES:
        return JsonLiteral(f'"{_datetime_text(body)}"')
    if kind in _TIMES:
        return JsonLiteral(f'"{_time_text(body)}"')
    return JsonLiteral(f'"{base64_text(body)}"')


def _datetime_text(body: bytes) -> str:
    """`YYYY-MM-DD HH:MM:SS[.f]`, packed as 17, 5, 5, 6, 6 bits and 24 of microseconds."""
    packed: int = _PACKED_TIME(body)[0]
    day, time = packed >> 41, packed >> 24 & 0x1FFFF
    # Year and month are one number, year * 13 + month: months begin at 0, as zero dates have one.
    year, month = divmod(day >> 5, 13)
    return f"{year:04}-{month:02}-{day & 31:02} {_clock_text(time)}{fraction_text(packed & 0xFFFFFF)}"


def _time_text(body: bytes) -> str:
    packed: int = _PACKED_TIME(body)[0]
    sign, packed = ("-", -packed) if packed < 0 else ("", packed)
    return f"{sign}{_clock_text(packed >> 24)}{fraction_text(packed & 0xFFFFFF)}"


def _clock_text(packed: int) -> str:
    return f"{packed >> 12:02}:{packed >> 6 & 63:02}:{packed & 63:02}"


def json_text(value: Json) -> str:
    """A document's text."""
    parts: list[str] = []
    _write(value, parts.append)
    return "".join(parts)


def _write(value: Json, put: Callable[[str], None]) -> None:
    if isinstance(value, dict):
        _write_object(value, put)
    elif isinstance(value, list):
        _write_array(value, put)
    else:
        put(_scalar_text(value))


def _write_object(members: dict[str, Json], put: Callable[[str], None]) -> None:
    separator = "{"
    for key, value in members.items():
        put(separator)
        put(_string_text(key))
        put(":")
        _write(value, put)
        separator = ","
    put("}" if members else "{}")


def _write_array(items: list[Json], put: Callable[[str], None]) -> None:
    separator = "["
    for value in items:
        put(separator)
        _write(value, put)
        separator = ","
    put("]" if items else "[]")


def _scalar_text(value: str | float | bool | None) -> str:
    if isinstance(value, JsonLiteral):
        return value
    if isinstance(value, str):
        return _string_text(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _double_text(value) if isinstance(value, float) else str(value)


def _string_text(text: str) -> str:
    """The string in quotes; the hexadecimal digits of an escape are capitals."""
    quoted = encode_basestring(text)
    # The standard library writes escapes in small letters, Debezium's writer in capitals.
    if "\\u00" not in quoted:
        return quoted
    return '"' + "".join(_ESCAPES.get(ord(c), c) for c in text) + '"'


_ESCAPES = {code: f"\\u{code:04X}" for code in range(0x20)} | {
    0x08: "\\b", 0x09: "\\t", 0x0A: "\\n", 0x0C: "\\f", 0x0D: "\\r", 0x22: '\\"', 0x5C: "\\\\",
}  # fmt: skip


def _double_text(number: float) -> str:
    """As Java prints it where that needs no exponent, else all digits of the double's exact value."""
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number)
    return f"{Decimal(number):f}"
