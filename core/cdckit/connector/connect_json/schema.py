"""A schema as Kafka Connect's JsonConverter writes it, field order included."""

from __future__ import annotations

import base64
from typing import Any

from cdckit.api.schema import Schema

TYPE_NAMES = {"float32": "float", "float64": "double"}

STORED = "cdckit.stored"
"""The member of a schema that is read as what a source knows besides (`Stored`); no serializer writes it."""


def schema_to_json(schema: Schema) -> dict[str, Any]:
    """The JSON object of a schema (JsonConverter's `asJsonSchema`)."""
    written: dict[str, Any] = {"type": TYPE_NAMES.get(schema.type, schema.type)}
    if schema.type == "struct":
        written["fields"] = [{**schema_to_json(f.schema), "field": f.name} for f in schema.fields]
    elif schema.items is not None:
        if schema.keys is not None:
            written["keys"] = schema_to_json(schema.keys)
            written["values"] = schema_to_json(schema.items)
        else:
            written["items"] = schema_to_json(schema.items)
    written["optional"] = schema.optional
    for name in ("name", "version", "doc"):
        if (value := getattr(schema, name)) is not None:
            written[name] = value
    if schema.parameters:
        written["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        written["default"] = default_to_json(schema)
    return written


def default_to_json(schema: Schema) -> Any:
    """A schema's default as it stands in JSON."""
    if isinstance(schema.default, bytes):
        return base64.b64encode(schema.default).decode()
    return schema.default
