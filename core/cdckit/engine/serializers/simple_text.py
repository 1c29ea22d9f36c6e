"""Values as Kafka Connect's SimpleHeaderConverter writes them (`Values.convertToString` of its API).

What stands alone is plain: a text is itself, bytes are base64. What stands in a struct, a map or a list is much like
JSON: texts and bytes are quoted there, but control characters, dates and times stand as they are.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

from cdckit import logical
from cdckit.api.schema import Schema
from cdckit.api.struct import Struct
from cdckit.connector.connect_json.decimals import number_of
from cdckit.engine.serializers.connect_moments import DAY_MS, connect_milliseconds, date_and_year
from cdckit.java.text import java_double


def simple_text(schema: Schema | None, value: Any) -> str:
    """The text of a value that stands alone and is not null.

    Args:
        schema: the value's; None where it has none.
        value: in the schema's primitive type.
    """
    return value if isinstance(value, str) else _text(schema, value, "")


def _text(schema: Schema | None, value: Any, quote: str) -> str:
    """The text of a value, quoted where it must be."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _integer(schema, value)
    if isinstance(value, float):
        return java_double(value, "E")
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes(schema, bytes(value), quote)
    return _composite(schema, value)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _integer(schema: Schema | None, value: int) -> str:
    milliseconds = connect_milliseconds(schema, value)
    return str(value) if milliseconds is None else _moment(milliseconds)


def _moment(milliseconds: int) -> str:
    """Milliseconds since 1970 as Connect shows them: whatever is before the second day as a time of the day alone."""
    days, of_day = divmod(milliseconds, DAY_MS)
    date, year = date_and_year(milliseconds)
    time = date.isoformat(timespec="milliseconds")[11:23] + "Z"
    if days < 1:
        return time
    text = f"{year:04d}-{date.month:02d}-{date.day:02d}"
    return f"{text}T{time}" if of_day else text


def _bytes(schema: Schema | None, value: bytes, quote: str) -> str:
    if schema is None or schema.name != logical.DECIMAL_NAME:
        return f"{quote}{base64.b64encode(value).decode('ascii')}{quote}"
    return str(number_of(value, int((schema.parameters or {}).get("scale", 0))))


def _composite(schema: Schema | None, value: Any) -> str:
    if isinstance(value, Struct):
        members = zip(value.schema.fields, value.values, strict=True)
        return _object((_quoted(field.name), _field(field.schema, member)) for field, member in members)
    if isinstance(value, Mapping):
        keys, items = (None, None) if schema is None else (schema.keys, schema.items)
        return _object((_member(keys, key), _member(items, item)) for key, item in value.items())
    if isinstance(value, Sequence):
        items = None if schema is None else schema.items
        return f"[{','.join(map(_member, repeat(items), value))}]"
    return str(value)


def _object(pairs: Iterable[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{key}:{item}" for key, item in pairs) + "}"


def _field(schema: Schema, value: Any) -> str:
    """The text of a struct's field; a null is its default, as Connect's structs have it."""
    return _member(schema, schema.default if value is None else value)


def _member(schema: Schema | None, value: Any) -> str:
    """The text of a value inside another."""
    return _text(schema, value, '"')
