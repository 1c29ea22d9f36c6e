"""ExtractSchemaToNewRecord: adds what the table's columns are to change events (Debezium's transform of that name)."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from cdckit import (
    OPTIONAL_INT32,
    OPTIONAL_STRING,
    STRING,
    PluginConfig,
    Record,
    Schema,
    Struct,
    Transform,
    TransformError,
    array_schema,
    struct_schema,
)
from cdckit.connector.envelope import is_envelope
from cdckit_transforms.envelope import AFTER, BEFORE, SOURCE
from cdckit_transforms.extended_schema import struct_like
from cdckit_transforms.record_part import filling

_ADDED = "sourceSchema"
_PARAMETERS = "__debezium.source.column."
_NAMES = "io.debezium.connector.source"
_COLUMN = struct_schema(
    f"{_NAMES}.schema.Column",
    {
        "name": STRING,
        "typeName": STRING,
        "length": OPTIONAL_INT32,
        "scale": OPTIONAL_INT32,
        "comment": OPTIONAL_STRING,
    },
    version=1,
)
_TABLE = struct_schema(f"{_NAMES}.schema.Table", {"columns": array_schema(_COLUMN)}, version=1)
_SCHEMA = struct_schema(f"{_NAMES}.Schema", {"id": STRING, "table": _TABLE}, version=1)


class ExtractSchemaToNewRecordConfig(PluginConfig):
    """There is nothing to set."""

    passed_over: ClassVar[tuple[str, ...]] = (r"schema\.name\.adjustment\.mode",)


class _Known(NamedTuple):
    """What is added to events of one schema."""

    schema: Schema
    fill: Any
    table: Struct


class ExtractSchemaToNewRecord(Transform):
    """Change events with a field `sourceSchema`; everything else, and what has no row, passes."""

    def __init__(self, config: ExtractSchemaToNewRecordConfig) -> None:
        pass

    def apply(self, record: Record) -> Record:
        """The record with the field."""
        value = record.value
        if not isinstance(value, Struct) or not is_envelope(value.schema):
            return record
        if value.get(AFTER) is None and value.get(BEFORE) is None:
            return record
        schema = value.schema
        known: _Known | None = schema.derived.get(self)
        if known is None:
            known = schema.derived[self] = _known(schema)
        values = value.values if known.fill is None else known.fill(value.values)
        told = Struct(_SCHEMA, (_table_name(value), known.table))
        return record.replace(value=Struct(known.schema, (*values, told)))


def _table_name(value: Struct) -> str:
    source = value.get(SOURCE)
    name = source.get("table") if isinstance(source, Struct) else None
    if not isinstance(name, str):
        raise TransformError(f"the event has no '{SOURCE}.table' that its schema could be called by")
    return name


def _known(schema: Schema) -> _Known:
    members = [*((field.name, field.schema) for field in schema.fields), (_ADDED, _SCHEMA)]
    larger = struct_like(schema, members).replace(optional=schema.optional)
    row = schema.field(AFTER).schema
    if row.type != "struct":
        raise TransformError(f"{schema.name}: '{AFTER}' is {row.type}, and has no columns")
    columns = [_column(field.name, field.schema) for field in row.fields]
    return _Known(larger, filling(schema, replaces_null=True), Struct(_TABLE, (columns,)))


def _column(name: str, schema: Schema) -> Struct:
    told = {
        part: (schema.parameters or {}).get(f"{_PARAMETERS}{part}")
        for part in ("name", "type", "length", "scale", "comment")
    }
    if told["name"] is None or told["type"] is None:
        raise TransformError(
            f"field '{name}' does not tell its column's type: set column.propagate.source.type=.* at the source"
        )
    numbers = [None if told[part] is None else int(str(told[part])) for part in ("length", "scale")]
    return Struct(_COLUMN, (told["name"], told["type"], *numbers, told["comment"]))
