"""Rows of tables as texts that equal rows share and others do not: what `cdc diff` compares."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from cdckit.tables.document_order import FIRST, identifier_first
from cdckit.tables.floats import six_digits
from cdckit.tables.json_texts import in_one_form

_NULL, _BETWEEN = "\x1d", "\x1f"
"""What stands for no value, and between the columns of a row."""
_ESCAPES = {"\x1e": "\x1e0", "\x1d": "\x1e1", "\x1f": "\x1e2"}
"""What stands for these in values; the first one, which the others begin with, comes first."""


def joined(columns: Sequence[pa.Array]) -> list[bytes]:
    """Rows, of the texts of their columns."""
    rows: list[bytes] = pc.binary_join_element_wise(*columns, _BETWEEN).cast(pa.binary()).to_pylist()
    return rows


def split(row: bytes) -> list[str]:
    """The texts of a row's columns."""
    return row.decode().split(_BETWEEN)


def put_together(texts: Iterable[str]) -> bytes:
    """A row, of the texts that `split` gave."""
    return _BETWEEN.join(texts).encode()


def texts(column: pa.Array, *, document: bool, short: bool = False, identified: bool = False) -> pa.Array:
    """A column's values as texts, none of which holds what stands between columns, or is that of no value.

    Args:
        column: the values.
        document: whether they are JSON as text.
        short: whether they are numbers of four bytes, of which six digits count.
        identified: whether they are documents of MongoDB as JSON, whose `_id` counts as their first field.
    """
    kind = column.type
    if document:
        column = pa.array([v if v is None else in_one_form(v) for v in column.to_pylist()], pa.string())
    elif identified and is_text(kind):
        column = _identified(column.cast(pa.string()))
    elif short and pa.types.is_floating(kind):
        column = pa.array([v if v is None else six_digits(v) for v in column.to_pylist()], pa.string())
    elif pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
    elif pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        column = pa.array([v if v is None else repr(v) for v in column.to_pylist()], pa.string())
    found = column.cast(pa.string())
    if pa.types.is_string(column.type) and _has_marks(found):
        for mark, escaped in _ESCAPES.items():
            found = pc.replace_substring(found, mark, escaped)
    return pc.fill_null(found, _NULL)


def is_text(kind: pa.DataType) -> bool:
    """Whether it is one of Arrow's types of text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _identified(column: pa.StringArray) -> pa.StringArray:
    """Documents with `_id` first, as most of them have it."""
    if pc.all(pc.starts_with(column, FIRST)).as_py() is not False:
        return column
    return pa.array([v if v is None else identifier_first(v) for v in column.to_pylist()], pa.string())


def _has_marks(column: pa.StringArray) -> bool:
    """Whether what stands between columns, or for others, is in any of the texts, which lie one behind the other."""
    _, places, data = column.buffers()
    if data is None or not len(column):
        return False
    ends = memoryview(places).cast("i")
    first, last = ends[column.offset], ends[column.offset + len(column)]
    text = data.slice(first, last - first).to_pybytes()
    return any(mark.encode() in text for mark in _ESCAPES)


def unescaped(text: str) -> str | None:
    """The value that a text stands for."""
    if text == _NULL:
        return None
    for mark, escaped in reversed(_ESCAPES.items()):
        text = text.replace(escaped, mark)
    return text


def keys(columns: Mapping[str, pa.Array]) -> Iterable[bytes]:
    """The keys as JSON objects."""
    if all(pa.types.is_integer(column.type) and not column.null_count for column in columns.values()):
        parts: list[Any] = []
        for name, column in columns.items():
            parts += [f"{',' if parts else '{'}{orjson.dumps(name).decode()}:", column.cast(pa.string())]
        found: list[bytes] = pc.binary_join_element_wise(*parts, "}", "").cast(pa.binary()).to_pylist()
        return found
    names, dumps = list(columns), orjson.dumps
    values = zip(*map(_values, columns.values()), strict=True)
    return (dumps(dict(zip(names, row, strict=True))) for row in values)


def _values(column: pa.Array) -> list[Any]:
    """A column's values as JSON takes them, each kind of value in one form alone."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        values: list[Any] = column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64()).to_pylist()
    elif pa.types.is_date32(kind):
        values = column.cast(pa.int32()).to_pylist()
    elif pa.types.is_decimal(kind):
        values = column.cast(pa.string()).to_pylist()
    elif pa.types.is_floating(kind):
        values = [_number(value) for value in column.to_pylist()]
    elif pa.types.is_nested(kind):
        values = [None if value is None else repr(value) for value in column.to_pylist()]
    elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        values = [None if value is None else value.hex() for value in column.to_pylist()]
    else:
        values = column.to_pylist()
    return values


def _number(value: float | None) -> float | str | None:
    """JSON knows no infinity and no NaN."""
    return value if value is None or math.isfinite(value) else repr(value)
