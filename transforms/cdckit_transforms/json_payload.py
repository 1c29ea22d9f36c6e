"""JSON text as a value with a schema, inferred as Debezium's outbox router does it.

Every member is optional. A struct's name is its path from the payload's column, members joined by dots. Documents of
one shape share one schema object, so that serializers compile it once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from typing import Any, Literal

import orjson

from cdckit import (
    FLOAT64,
    OPTIONAL_BOOLEAN,
    OPTIONAL_BYTES,
    OPTIONAL_INT32,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    Datum,
    Schema,
    SchemaAndValue,
    Struct,
    array_schema,
    struct_schema,
)

_SCHEMAS_KEPT = 1024
_SCALARS = {
    "string": OPTIONAL_STRING,
    "boolean": OPTIONAL_BOOLEAN,
    "int32": OPTIONAL_INT32,
    "int64": OPTIONAL_INT64,
    "float64": FLOAT64.as_optional(),
    "null": OPTIONAL_BYTES,
}


@dataclass(frozen=True, slots=True)
class _Array:
    items: _Shape


@dataclass(frozen=True, slots=True)
class _Object:
    members: tuple[tuple[str, _Shape], ...]
    optional: bool = True


_Shape = Literal["string", "boolean", "int32", "int64", "float64", "null"] | _Array | _Object


def expanded(text: Any, name: str, *, keep_nulls: bool) -> Datum:
    """The struct or list that a JSON text means.

    Args:
        text: an object or an array.
        name: of the struct's schema.
        keep_nulls: whether a null member stays, as optional bytes; else it is left out.

    Raises:
        ValueError: it is no text with a JSON object or array, or one of the arrays has elements of different types.
    """
    if not isinstance(text, str) or not text.startswith(("{", "[")):
        raise ValueError("it is no text that begins with '{' or '['")
    document = orjson.loads(text)
    shape = _shape(document, keep_nulls)
    if shape is None:
        raise ValueError("an empty array does not say what it holds")
    schema = _schema(shape, name)
    value = _value(document, schema)
    return value if isinstance(value, Struct) else SchemaAndValue(schema, value)


def _shape(node: Any, keep_nulls: bool) -> _Shape | None:
    """A document's shape; None for what is left out, with the member that holds it."""
    if isinstance(node, dict):
        shapes = ((name, _shape(member, keep_nulls)) for name, member in node.items())
        return _Object(tuple((name, shape) for name, shape in shapes if shape is not None))
    if isinstance(node, list):
        return _array(node, keep_nulls) if node else None
    if node is None:
        return "null" if keep_nulls else None
    return _scalar(node)


def _scalar(node: Any) -> _Shape:
    if isinstance(node, str):
        return "string"
    if isinstance(node, bool):
        return "boolean"
    if isinstance(node, float) or not -(2**63) <= node < 2**63:
        return "float64"
    return "int32" if -(2**31) <= node < 2**31 else "int64"


def _array(elements: list[Any], keep_nulls: bool) -> _Array:
    shapes = [_shape(element, keep_nulls) for element in elements if element is not None]
    if not shapes and keep_nulls:
        return _Array("null")
    if not shapes or None in shapes:
        raise ValueError("an array of nothing but nulls or empty arrays does not say what it holds")
    merged = reduce(_both, dict.fromkeys(shape for shape in shapes if shape is not None))
    if isinstance(merged, _Object) and None in elements:
        merged = replace(merged, optional=True)
    return _Array(merged)


def _both(one: _Shape, other: _Shape) -> _Shape:
    """The shape of elements of both shapes: objects may have different members, and are then no longer optional."""
    if other in (one, "null"):
        return one
    if one == "null":
        return other
    if isinstance(one, _Array) and isinstance(other, _Array):
        return _Array(_both(one.items, other.items))
    if isinstance(one, _Object) and isinstance(other, _Object):
        members = dict(one.members)
        for name, shape in other.members:
            members[name] = _both(members[name], shape) if name in members else shape
        return _Object(tuple(members.items()), optional=False)
    raise ValueError("an array holds elements of different types")


@lru_cache(_SCHEMAS_KEPT)
def _schema(shape: _Shape, name: str | None) -> Schema:
    if isinstance(shape, str):
        return _SCALARS[shape]
    if isinstance(shape, _Array):
        inside = name if isinstance(shape.items, _Object) else None
        return array_schema(_schema(shape.items, inside), optional=True)
    members = {
        member: _schema(inner, f"{name}.{member}" if name and name.strip() else member)
        for member, inner in shape.members
    }
    return struct_schema(name, members, optional=shape.optional)


def _value(node: Any, schema: Schema) -> Any:
    if isinstance(node, dict):
        return Struct(schema, tuple(_value(node.get(field.name), field.schema) for field in schema.fields))
    if isinstance(node, list) and schema.items is not None:
        return [_value(element, schema.items) for element in node]
    return float(node) if schema.type == "float64" and node is not None else node
