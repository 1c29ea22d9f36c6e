"""Whether records fit their schemas."""

from __future__ import annotations

from typing import Any

from cdckit.api.record import Record
from cdckit.api.schema import Schema
from cdckit.api.struct import Struct

PYTHON: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("int8", "int16", "int32", "int64"), (int,)),
    "float32": (float, int),
    "float64": (float, int),
    "boolean": (bool,),
    "string": (str,),
    "bytes": (bytes,),
    "array": (list,),
    "map": (dict,),
    "struct": (Struct,),
}


def fits(schema: Schema, value: Any) -> bool:
    """Whether a value is one of the schema, at any depth."""
    if value is None:
        return schema.optional or schema.default is not None
    if type(value) not in PYTHON[schema.type]:
        return False
    if isinstance(value, Struct):
        pairs = zip(value.schema.fields, value.values, strict=True)
        return schema.same_as(value.schema) and all(fits(field.schema, member) for field, member in pairs)
    items, held = schema.items, list(value.values()) if isinstance(value, dict) else value
    return items is None or all(fits(items, item) for item in held)


def fitting(record: Record) -> bool:
    """Whether everything in a record fits its schema; a key, value or header may be null."""
    data: list[tuple[Schema | None, Any]] = [(header.schema, header.value) for header in record.headers]
    for part in (record.key, record.value):
        if part is not None:
            data.append((part.schema, part if isinstance(part, Struct) else part.value))
    return all(schema is None or value is None or fits(schema, value) for schema, value in data)
