"""Values that a schema allows, for example records: plain ones, as rows may have them."""

from __future__ import annotations

from typing import Any

from cdckit import logical
from cdckit.api.schema import Schema
from cdckit.api.struct import Struct

_TEXTS = {
    logical.ZONED_TIMESTAMP.name: "2000-01-01T00:00:0{}Z",
    logical.ZONED_TIME.name: "00:00:0{}Z",
    logical.ISO_DATE.name: "2000-01-0{}",
    logical.ISO_TIME.name: "00:00:0{}",
    logical.ISO_TIMESTAMP.name: "2000-01-01T00:00:0{}",
    logical.JSON.name: '{{"a":{}}}',
    logical.UUID.name: "00000000-0000-0000-0000-00000000000{}",
}


def example_value(schema: Schema, number: int) -> Any:
    """A value in the schema's primitive type: None where that is one, else another for each `number` from 1 to 9."""
    return None if schema.optional else _value(schema, number)


def example_struct(schema: Schema, number: int) -> Struct:
    """A struct of such values."""
    return Struct(schema, tuple(example_value(field.schema, number) for field in schema.fields))


def _value(schema: Schema, number: int) -> Any:
    match schema.type:
        case "struct":
            return example_struct(schema, number)
        case "array":
            return []
        case "map":
            return {}
        case "bytes":
            return bytes([number])
        case "boolean":
            return number % 2 == 0
        case "float32" | "float64":
            return float(number)
        case "string":
            return _text(schema, number)
        case _:
            return number


def _text(schema: Schema, number: int) -> str:
    if schema.parameters and "allowed" in schema.parameters:  # the labels of an ENUM or SET
        labels = schema.parameters["allowed"].split(",")
        return labels[number % len(labels)]
    return _TEXTS.get(schema.name, "{}").format(number)
