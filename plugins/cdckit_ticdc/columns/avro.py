"""Avro schemas as Kafka Connect's Avro converter writes them, back as Connect's: the data model and the values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdckit import Field, Schema, Struct, Type, array_schema, logical
from cdckit_ticdc.columns.column import Read
from cdckit_ticdc.columns.numbers import shortest

_TYPES: dict[str, Type] = {
    "int": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "boolean": "boolean",
    "string": "string",
    "bytes": "bytes",
    "fixed": "bytes",
    "enum": "string",
}
_LOGICAL: dict[str, str | None] = {
    "date": logical.CONNECT_DATE.name,
    "time-millis": logical.CONNECT_TIME.name,
    "timestamp-millis": logical.CONNECT_TIMESTAMP.name,
}


def without_logical_types(written: Any) -> Any:
    """An Avro schema whose values are read as the primitive types that they are written in."""
    if isinstance(written, dict):
        return {key: without_logical_types(value) for key, value in written.items() if key != "logicalType"}
    if isinstance(written, list):
        return [without_logical_types(one) for one in written]
    return written


class AvroSchemas:
    """Turns Avro schemas of one registered schema into Connect's; records are known by name once they were met."""

    def __init__(self) -> None:
        self._records: dict[str, Schema] = {}

    def schema(self, written: Any, namespace: str = "") -> Schema:
        """The Connect schema; a union with null is optional.

        Raises:
            ValueError: a union of several types, which Connect does not write for a database's rows.
        """
        if isinstance(written, list):
            return self._union(written, namespace)
        if isinstance(written, str):
            return self._named(written, namespace)
        kind = written["type"]
        if isinstance(kind, dict | list):
            return self.schema(kind, namespace)
        if kind == "record":
            return self._record(written, namespace)
        if kind == "array":
            return _annotated(array_schema(self.schema(written["items"], namespace)), written)
        if kind == "map":
            items = self.schema(written["values"], namespace)
            return _annotated(Schema("map", keys=Schema("string"), items=items), written)
        if kind not in _TYPES:
            return self._named(kind, namespace)
        return _annotated(_primitive(kind, written), written)

    def _union(self, written: list[Any], namespace: str) -> Schema:
        others = [one for one in written if one != "null"]
        if len(others) != 1:
            raise ValueError("a union of several types")
        made = self.schema(others[0], namespace)
        return made.as_optional() if len(others) < len(written) else made

    def _named(self, name: str, namespace: str) -> Schema:
        if name in _TYPES:
            return Schema(_TYPES[name])
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        found = self._records.get(full) or self._records.get(name)
        if found is None:
            raise ValueError(f"type {name!r} is not known")
        return found

    def _record(self, written: Mapping[str, Any], namespace: str) -> Schema:
        namespace = written.get("namespace", namespace)
        name = written["name"] if "." in written["name"] or not namespace else f"{namespace}.{written['name']}"
        fields = []
        for index, member in enumerate(written["fields"]):
            fields.append(Field(member.get("connect.field", member["name"]), index, self.schema(member, namespace)))
        made = Schema("struct", name=written.get("connect.name", name), fields=tuple(fields))
        made = made if written.get("connect.version") is None else made.replace(version=written["connect.version"])
        self._records[name] = made
        return made


def _primitive(kind: str, written: Mapping[str, Any]) -> Schema:
    made = Schema(written.get("connect.type") or _TYPES[kind])
    meaning = written.get("logicalType")
    if meaning == "decimal":
        found = logical.decimal(written.get("scale", 0), written.get("precision"))
        return made.replace(name=found.name, version=found.version, parameters=found.parameters)
    return made if meaning not in _LOGICAL else made.replace(name=_LOGICAL[meaning], version=1)


def _annotated(made: Schema, written: Mapping[str, Any]) -> Schema:
    """The schema with the name, version and parameters that Connect keeps beside Avro's."""
    name = written.get("connect.name")
    if name is None or name == logical.DECIMAL_NAME:
        return made
    return made.replace(name=name, version=written.get("connect.version"), parameters=written.get("connect.parameters"))


def value_reader(schema: Schema) -> Read | None:
    """What makes a value of `schema` out of what was read from Avro; None where it is one already."""
    if schema.type == "struct":
        return _struct_reader(schema)
    if schema.items is None:
        return shortest if schema.type == "float32" else None
    read = value_reader(schema.items)
    if read is None:
        return None
    if schema.type == "array":
        return lambda values: [None if value is None else read(value) for value in values]
    return lambda values: {key: None if value is None else read(value) for key, value in values.items()}


def _struct_reader(schema: Schema) -> Read:
    members = [(member.name, value_reader(member.schema)) for member in schema.fields]

    def read_struct(found: Mapping[str, Any]) -> Struct:
        # Avro's names may be adjusted; the order of fields is that of the schema.
        values = zip(members, found.values(), strict=True)
        return Struct(schema, tuple([v if read is None or v is None else read(v) for (_, read), v in values]))

    return read_struct
