"""The cells of a row image in the log, for each storage type.

MySQL source documentation, "class Table_map_event" and the `pack` methods of its fields; MariaDB stores the same, and
its compressed columns besides.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from uuid import UUID

from cdckit import DecodeError
from cdckit_mysql.binlog import column_types as types
from cdckit_mysql.rows.cell import Cell, Scope
from cdckit_mysql.rows.expressions import bytes_expression, decimal_cell, text_expression, vector_of
from cdckit_mysql.rows.log_temporal_cells import TEMPORAL_CELLS
from cdckit_mysql.rows.old_temporal_cells import OLD_TEMPORAL_CELLS
from cdckit_mysql.values.column import ColumnValue
from cdckit_mysql.values.decimals import DecimalLayout
from cdckit_mysql.values.geometry import geometry_of, point_of
from cdckit_mysql.values.json_binary import json_text, parse_json
from cdckit_mysql.values.kinds import Kind
from cdckit_mysql.values.numbers import SHORTEST_FLOATS
from cdckit_mysql.values.schemas import escaped_labels

_LENGTHS = {
    1: Cell("B", 1, length="{0}"),
    2: Cell("H", 2, length="{0}"),
    3: Cell("HB", 3, length="{0} + ({1} << 16)"),
    4: Cell("I", 4, length="{0}"),
}
_INTEGERS = {types.TINY: ("b", 1), types.SHORT: ("h", 2), types.LONG: ("i", 4), types.LONGLONG: ("q", 8)}
_BLOBS = frozenset({types.BLOB, types.TINY_BLOB, types.MEDIUM_BLOB, types.LONG_BLOB})
_STRINGS = frozenset({types.VARCHAR, types.VAR_STRING, types.STRING}) | _BLOBS
_COMPRESSED = frozenset({types.MARIADB_BLOB_COMPRESSED, types.MARIADB_VARCHAR_COMPRESSED})
_LENGTH_IN_METADATA = _BLOBS | {types.MARIADB_BLOB_COMPRESSED, types.JSON, types.GEOMETRY, types.VECTOR}

CellMaker = Callable[[int, int, ColumnValue, Scope], Cell]


def log_cell(column_type: int, metadata: int, value: ColumnValue, scope: Scope) -> Cell:
    """How a column is read from a row image.

    Args:
        column_type: its storage type.
        metadata: what TABLE_MAP says of it besides.
        value: what it is in the event.
        scope: takes the names that the value's expression uses.

    Raises:
        DecodeError: the storage type does not fit the column's definition.
    """
    makers = _MAKERS.get(value.kind, {})
    maker = makers.get(column_type) or OLD_TEMPORAL_CELLS.get(value.kind, {}).get(column_type)
    if maker is None:
        raise DecodeError(
            f"column {value.column.name} is {value.column.type_name} by its definition, but the log stores it as type "
            f"{column_type}: the schema history does not fit this position"
        )
    cell = maker(column_type, metadata, value, scope)
    return finished_cell(cell, value, scope)


def finished_cell(cell: Cell, value: ColumnValue, scope: Scope) -> Cell:
    """A cell with what is done to the column's values besides."""
    if value.key_dates is not None:
        cell = cell.wrapped(scope.name(value.key_dates.shown))
    if value.convert is not None:
        cell = cell.wrapped(scope.name(value.convert))
    return cell if value.guard is None else cell.guarded(scope.name(value.guard))


def skipped_cell(column_type: int, metadata: int) -> Cell:
    """How a column is passed over.

    Raises:
        DecodeError: the storage type is not known.
    """
    if column_type in _STRINGS or column_type in _COMPRESSED or column_type in _LENGTH_IN_METADATA:
        return _length(column_type, metadata)
    size = _fixed_size(column_type, metadata)
    return Cell(f"{size}x", size)


def _fixed_size(column_type: int, metadata: int) -> int:
    if column_type in _SIZES:
        return _SIZES[column_type]
    if column_type in {types.ENUM, types.SET}:
        return metadata & 0xFF
    if column_type == types.BIT:
        return (metadata + 7) // 8
    if column_type == types.NEWDECIMAL:
        return DecimalLayout(metadata >> 8, metadata & 0xFF).size
    if column_type in _FRACTIONAL:
        return _FRACTIONAL[column_type] + (metadata + 1) // 2
    raise DecodeError(f"the log stores a column as type {column_type}, which is not known")


_SIZES = {
    types.TINY: 1, types.SHORT: 2, types.INT24: 3, types.LONG: 4, types.LONGLONG: 8, types.FLOAT: 4, types.DOUBLE: 8,
    types.YEAR: 1, types.DATE: 3, types.NEWDATE: 3, types.TIME: 3, types.DATETIME: 8, types.TIMESTAMP: 4, types.NULL: 0,
}  # fmt: skip
_FRACTIONAL = {types.TIME2: 3, types.DATETIME2: 5, types.TIMESTAMP2: 4}


def _length(column_type: int, metadata: int) -> Cell:
    """The length before a value of variable length."""
    if column_type in _LENGTH_IN_METADATA:
        return _LENGTHS[metadata]
    return _LENGTHS[2 if metadata > 255 else 1]


def _behind(length: Cell, value: str) -> Cell:
    return Cell(length.format, length.size, length.order, value, length.length)


def _integer(column_type: int, _metadata: int, value: ColumnValue, _scope: Scope) -> Cell:
    unsigned = value.column.unsigned and value.kind != "bigint"
    if column_type == types.INT24:
        return Cell("HB" if unsigned else "Hb", 3, value="{0} | {1} << 16")
    letter, size = _INTEGERS[column_type]
    return Cell(letter.upper() if unsigned else letter, size, value="{0}")


def _bigint(column_type: int, metadata: int, value: ColumnValue, scope: Scope) -> Cell:
    """One that is unsigned wraps to negative numbers where it is shown as INT64."""
    if value.native.type == "int64":
        return _integer(column_type, metadata, value, scope)
    # A byte more than the number needs, where its highest bit is set: Connect's Decimal is a signed number.
    return Cell("Q", 8, value='{0}.to_bytes(({0}.bit_length() >> 3) + 1, "big")')


def float32_cell(value: ColumnValue, scope: Scope) -> Cell:
    """A float of 32 bits, with all digits that tell it from others."""
    if value.options.wide_floats:
        return Cell("f", 4, value="{0}")
    return Cell("f", 4, value=f"{scope.name(SHORTEST_FLOATS)}[{{0}}] or {{0}}")  # the table has one zero, the log two


def _float64(column_type: int, _metadata: int, _value: ColumnValue, _scope: Scope) -> Cell:
    return Cell("f", 4, value="{0}") if column_type == types.FLOAT else Cell("d", 8, value="{0}")


def _decimal(_type: int, metadata: int, value: ColumnValue, scope: Scope) -> Cell:
    return decimal_cell(DecimalLayout(metadata >> 8, metadata & 0xFF), value.options.decimal_mode, scope)


def _boolean(_type: int, _metadata: int, _value: ColumnValue, _scope: Scope) -> Cell:
    return Cell("B", 1, value="{0} != 0")


def _bits(_type: int, metadata: int, _value: ColumnValue, _scope: Scope) -> Cell:
    size = (metadata + 7) // 8
    return Cell(f"{size}s", size, value="{0}[::-1]")


def _text(column_type: int, metadata: int, value: ColumnValue, scope: Scope) -> Cell:
    return _behind(
        _length(column_type, metadata), text_expression(_raw(column_type, scope), value.column.charset, scope)
    )


def _bytes(column_type: int, metadata: int, value: ColumnValue, scope: Scope) -> Cell:
    data = _raw(column_type, scope)
    if value.column.base_type == "BINARY":
        # The log leaves out what BINARY is padded with; the server's SELECT shows it.
        data = f'{data}.ljust({value.column.length or 1}, b"\\0")'
    return _behind(_length(column_type, metadata), bytes_expression(data, value.options.binary_mode, scope))


def _raw(column_type: int, scope: Scope) -> str:
    return f"{scope.name(decompress_column)}({{data}})" if column_type in _COMPRESSED else "{data}"


def decompress_column(data: bytes) -> bytes:
    """The value of one of MariaDB's COMPRESSED columns.

    Nothing for an empty one; else a byte before it: 0 for bytes as they are, else the method in bits 4 to 7 (8: zlib),
    in bit 3 whether zlib's frame is left out, in bits 0 to 2 how many bytes tell the size.

    Raises:
        DecodeError: the method is not known, or the data is damaged.
    """
    if not data or data[0] == 0:
        return data[1:]
    if data[0] >> 4 != 8:
        raise DecodeError(f"a COMPRESSED column uses method {data[0] >> 4}, which is not known")
    start = 1 + (data[0] & 7)
    size = int.from_bytes(data[1:start], "big")
    # Negative bits: a stream without zlib's frame.
    reader = zlib.decompressobj(-zlib.MAX_WBITS if data[0] & 8 else zlib.MAX_WBITS)
    try:
        plain = reader.decompress(memoryview(data)[start:], size + 1)
    except zlib.error as error:
        raise DecodeError(f"the value of a COMPRESSED column is damaged: {error}") from error
    if len(plain) != size:
        raise DecodeError(f"the value of a COMPRESSED column is damaged: it is not {size} bytes long, as it says")
    return plain


def _enum(_type: int, metadata: int, value: ColumnValue, scope: Scope) -> Cell:
    labels = scope.name(("", *escaped_labels(value.column)))
    size = metadata & 0xFF
    return Cell("B" if size == 1 else "H", size, value=f"{labels}[{{0}}]")


class SetTable(dict[int, str]):
    """From the bits of a SET's members to their labels, joined by commas."""

    def __init__(self, labels: tuple[str, ...]) -> None:
        super().__init__()
        self.labels = labels

    def __missing__(self, bits: int) -> str:
        if len(self) >= 4096:
            self.clear()
        if bits >> len(self.labels):
            raise DecodeError(f"a SET has members {bits:#b}, which are more than its {len(self.labels)} labels")
        self[bits] = text = ",".join(label for place, label in enumerate(self.labels) if bits >> place & 1)
        return text


def _set(_type: int, metadata: int, value: ColumnValue, scope: Scope) -> Cell:
    table = scope.name(SetTable(escaped_labels(value.column)))
    size = metadata & 0xFF
    letters = {1: "B", 2: "H", 3: "HB", 4: "I", 8: "Q"}[size]
    bits = "{0} | {1} << 16" if size == 3 else "{0}"
    return Cell(letters, size, value=f"{table}[{bits}]")


def _json(column_type: int, metadata: int, value: ColumnValue, scope: Scope) -> Cell:
    if column_type != types.JSON:
        return _text(column_type, metadata, value, scope)
    null = value.native_null

    def convert(data: bytes) -> Any:
        # No bytes at all are what the server keeps for a NOT NULL document that was given no value.
        return json_text(parse_json(data)) if data else null

    return _behind(_length(column_type, metadata), f"{scope.name(convert)}({{data}})")


def _converted(make: Callable[[ColumnValue], Callable[[bytes], Any]]) -> CellMaker:
    """Values that a function makes of their bytes."""

    def cell(column_type: int, metadata: int, value: ColumnValue, scope: Scope) -> Cell:
        return _behind(_length(column_type, metadata), f"{scope.name(make(value))}({{data}})")

    return cell


def json_bytes_cell(metadata: int) -> Cell:
    """A JSON column as the server's own bytes."""
    return _behind(_length(types.JSON, metadata), "{data}")


def uuid_text(data: bytes) -> str:
    """A UUID as it stands in a row image; trailing zero bytes may be missing."""
    return str(UUID(bytes=data.ljust(16, b"\0")))


def ip4_text(data: bytes) -> str:
    """An INET4; trailing zero bytes may be missing."""
    return str(IPv4Address(data.ljust(4, b"\0")))


def ip6_text(data: bytes) -> str:
    """An INET6, IPv4 addresses inside it in dots; trailing zero bytes may be missing."""
    address = IPv6Address(data.ljust(16, b"\0"))
    mapped = address.ipv4_mapped
    return str(address) if mapped is None else f"::ffff:{mapped}"


_MAKERS: dict[Kind, dict[int, CellMaker]] = {
    "integer": dict.fromkeys((*_INTEGERS, types.INT24), _integer),
    "bigint": dict.fromkeys((*_INTEGERS, types.INT24), _bigint),
    "float32": {types.FLOAT: lambda _type, _metadata, value, scope: float32_cell(value, scope)},
    "float64": {types.FLOAT: _float64, types.DOUBLE: _float64},
    "decimal": {types.NEWDECIMAL: _decimal},
    "boolean": {types.BIT: _boolean, types.TINY: _boolean},
    "bits": {types.BIT: _bits},
    "text": dict.fromkeys(_STRINGS | _COMPRESSED, _text),
    "bytes": dict.fromkeys(_STRINGS | _COMPRESSED, _bytes),
    "enum": {types.ENUM: _enum},
    "set": {types.SET: _set},
    "json": {types.JSON: _json, **dict.fromkeys(_BLOBS, _json)},
    "geometry": {types.GEOMETRY: _converted(lambda value: geometry_of(value.native))},
    "point": {types.GEOMETRY: _converted(lambda value: point_of(value.native))},
    "vector": {types.VECTOR: _converted(lambda _value: vector_of)},
    "uuid": {types.STRING: _converted(lambda _value: uuid_text)},
    "inet4": {types.STRING: _converted(lambda _value: ip4_text)},
    "inet6": {types.STRING: _converted(lambda _value: ip6_text)},
    **TEMPORAL_CELLS,
}
