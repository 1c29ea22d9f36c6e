"""VectorToJsonConverter: vectors as JSON documents (Debezium's transform of that name)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cdckit import Datum, PluginConfig, Record, Schema, SchemaAndValue, Struct, TransformError, logical
from cdckit_transforms.extended_schema import struct_like
from cdckit_transforms.java_numbers import float_text
from cdckit_transforms.record_part import Change, FieldsTransform, Members, filling

_DATA = "io.debezium.data"
_DENSE = (logical.FLOAT_VECTOR.name, f"{_DATA}.DoubleVector")
_SPARSE = f"{_DATA}.SparseDoubleVector"
Convert = Callable[[Any], Any]


class VectorToJsonConverterConfig(PluginConfig):
    """There is nothing to set."""


class VectorToJsonConverter(FieldsTransform):
    """Values whose vectors are JSON, in nested structs too."""

    purpose = "converting vectors"

    def __init__(self, config: VectorToJsonConverterConfig) -> None:
        pass

    def change_of(self, schema: Schema) -> Change:
        """Converts the vectors in structs of a schema."""
        convert = _of_struct(schema)
        return lambda values, _: convert(values)

    def changed_map(self, members: Members, record: Record) -> Any:
        """An error: without a schema nothing is a vector."""
        raise TransformError("without a schema nothing in the value is known to be a vector")

    def changed_null(self, part: SchemaAndValue | None) -> Datum | None:
        """Null stays null."""
        return part


def _of_struct(schema: Schema) -> Callable[[tuple[Any, ...]], Struct]:
    """What converts the values of structs of a schema."""
    converts = {field.index: _converting(field.schema) for field in schema.fields}
    members = ((field.name, _converted(field.schema)) for field in schema.fields)
    other = struct_like(schema, members).replace(optional=schema.optional)
    changed = [(at, convert) for at, convert in converts.items() if convert is not None]
    fill = filling(schema, replaces_null=True)

    def convert(values: tuple[Any, ...]) -> Struct:
        made = list(values if fill is None else fill(values))
        for at, change in changed:
            if made[at] is not None:
                made[at] = change(made[at])
        return Struct(other, tuple(made))

    return convert


def _converted(schema: Schema) -> Schema:
    """A field's new schema."""
    if schema.name in (*_DENSE, _SPARSE):
        return logical.JSON.replace(optional=schema.optional)
    if schema.type != "struct":
        return schema
    return _of_struct(schema)((None,) * len(schema.fields)).schema


def _converting(schema: Schema) -> Convert | None:
    """What converts a field's values; None where they stay."""
    if schema.name in _DENSE:
        return _dense
    if schema.name == _SPARSE:
        return _sparse
    if schema.type != "struct":
        return None
    convert = _of_struct(schema)
    return lambda struct: convert(struct.values)


def _dense(vector: list[float | None]) -> str:
    return f'{{ "values": [{", ".join(map(_number, vector))}] }}'


def _sparse(vector: Struct) -> str:
    if "dimensions" not in vector or "vector" not in vector:
        raise TransformError(f"{_SPARSE} has no fields 'dimensions' and 'vector'")
    members = ", ".join(f'"{at}": {_number(number)}' for at, number in sorted(vector["vector"].items()))
    return f'{{ "dimensions": {vector["dimensions"]}, "vector": {{ {members} }} }}'


def _number(number: float | None) -> str:
    return "null" if number is None else float_text(number)
