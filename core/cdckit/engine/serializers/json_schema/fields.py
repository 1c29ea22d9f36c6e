"""The fields of a JSON Schema, by their paths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from cdckit.engine.serializers.field_changes import Fields


def json_fields(text: str) -> Fields:
    """What each field is: its types, its default where it has one, whether it has to be there."""
    return dict(_within(orjson.loads(text), ""))


def _within(schema: Any, path: str) -> Iterator[tuple[str, str]]:
    if not isinstance(schema, dict):
        return
    for branch in (*schema.get("oneOf", ()), *schema.get("anyOf", ()), schema.get("items")):
        yield from _within(branch, path)
    wanted = schema.get("required", ())
    for name, inner in schema.get("properties", {}).items():
        at = f"{path}.{name}" if path else name
        yield at, f"{_shown(inner)}{' that must be there' if name in wanted else ''}"
        yield from _within(inner, at)


def _shown(schema: Any) -> str:
    if not isinstance(schema, dict):
        return "anything" if schema else "nothing"
    if "$ref" in schema:
        return str(schema["$ref"])
    default = f" with default {orjson.dumps(schema['default']).decode()}" if "default" in schema else ""
    for word in ("oneOf", "anyOf"):
        if word in schema:
            return " or ".join(map(_shown, schema[word])) + default
    kinds = schema.get("type", "anything")
    shown = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    if kinds == "array":
        shown = f"array of {_shown(schema.get('items', True))}"
    told = [str(schema[one]) for one in ("connect.type", "title") if one in schema and kinds != "object"]
    if "enum" in schema:
        told.append(f"one of {orjson.dumps(schema['enum']).decode()}")
    return shown + (f" ({', '.join(told)})" if told else "") + default
