"""About how many bytes a record takes in a JVM, as Debezium estimates it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cdckit import Datum, Record, Schema, Struct

Size = Callable[[Any], int]

_STRUCT, _TEXT, _BYTES, _LIST, _MAP, _PRIMITIVE, _REFERENCE = 56, 56, 24, 64, 88, 24, 8
_HEADER, _TIMESTAMP = 100, 8
_KEY = "transforms.size"


def record_size(record: Record) -> int:
    """The size of key, value, topic, timestamp and headers."""
    parts = _size(record.key) + _size(record.value)
    return parts + len(record.headers) * _HEADER + _TIMESTAMP + text_size(record.topic)


def text_size(text: str) -> int:
    """A text's bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _size(datum: Datum | None) -> int:
    if datum is None or datum.schema is None:
        return 0
    return _sizing(datum.schema)(datum if isinstance(datum, Struct) else datum.value)


def _sizing(schema: Schema) -> Size:
    """What tells the size of values of a schema, null among them."""
    made: Size | None = schema.derived.get(_KEY)
    if made is None:
        made = schema.derived[_KEY] = _make(schema)
    return made


def _make(schema: Schema) -> Size:
    if schema.type == "string":
        return lambda text: 0 if text is None else _TEXT + text_size(text)
    if schema.type == "bytes":
        return lambda data: 0 if data is None else _BYTES + len(data)
    if schema.type == "struct":
        return _of_struct(schema)
    if schema.items is None:
        return lambda _: _PRIMITIVE
    item = _sizing(schema.items)
    if schema.keys is None:
        return lambda items: 0 if items is None else _LIST + sum(_REFERENCE + item(one) for one in items)
    key = _sizing(schema.keys)
    return lambda members: (
        0 if members is None else _MAP + sum(2 * _REFERENCE + key(k) + item(v) for k, v in members.items())
    )


def _of_struct(schema: Schema) -> Size:
    fixed = _STRUCT + _REFERENCE * len(schema.fields)
    measured: list[tuple[int, Size]] = []
    for field in schema.fields:
        if field.schema.type in ("string", "bytes", "struct", "array", "map"):
            measured.append((field.index, _sizing(field.schema)))
        else:
            fixed += _PRIMITIVE

    def size(struct: Struct | None) -> int:
        if struct is None:
            return 0
        values = struct.values
        return fixed + sum([sizing(values[at]) for at, sizing in measured])

    return size
