"""The fields of an Avro schema, by their paths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from cdckit.engine.serializers.field_changes import Fields


def avro_fields(text: str) -> Fields:
    """What each field is: its types, and its default where it has one."""
    return dict(_within(orjson.loads(text), ""))


def _within(written: Any, path: str) -> Iterator[tuple[str, str]]:
    """The fields of each record in a type; of one that is mentioned again, where it is defined."""
    if isinstance(written, list):
        for branch in written:
            yield from _within(branch, path)
    elif isinstance(written, dict):
        for inner in ("type", "items", "values"):
            yield from _within(written.get(inner), path)
        for field in written.get("fields", ()):
            at = f"{path}.{field['name']}" if path else field["name"]
            default = f" with default {orjson.dumps(field['default']).decode()}" if "default" in field else ""
            yield at, f"{_shown(field['type'])}{default}"
            yield from _within(field["type"], at)


def _shown(written: Any) -> str:
    if isinstance(written, list):
        return " or ".join(_shown(branch) for branch in written)
    if not isinstance(written, dict):
        return str(written)
    kind = written["type"]
    if kind in ("record", "enum", "fixed"):
        return f"{kind} {written['name']}"
    if kind in ("array", "map"):
        return f"{kind} of {_shown(written['items' if kind == 'array' else 'values'])}"
    shown = _shown(kind)
    if "logicalType" not in written:
        return shown
    measures = ", ".join(str(written[one]) for one in ("precision", "scale") if one in written)
    return f"{shown} {written['logicalType']}" + (f"({measures})" if measures else "")
