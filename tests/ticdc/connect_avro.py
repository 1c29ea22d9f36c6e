"""Kafka Connect's JSON documents as the Avro that Confluent's converter makes of them, with ids of a real registry.

What becomes what: Confluent's documentation, "Avro and the Connect data model": an optional type is a union with null,
small integers are `int` with `connect.type`, and a schema's name, version and parameters stand beside Avro's own.
"""

from __future__ import annotations

import base64
import io
import json
import re
import struct
from collections.abc import Mapping
from typing import Any

import fastavro

from testkit.servers.schema_registry import SchemaRegistry

_TYPES = {
    "int8": "int", "int16": "int", "int32": "int", "int64": "long", "float": "float", "double": "double",
    "boolean": "boolean", "string": "string", "bytes": "bytes",
}  # fmt: skip
_DECIMAL = "org.apache.kafka.connect.data.Decimal"
Schema = Mapping[str, Any]


class ConnectAvro:
    """Registers schemas and writes values in Confluent's wire format."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry
        self._known: dict[str, tuple[int, Any]] = {}

    def write(self, subject: str, document: Mapping[str, Any] | None) -> bytes | None:
        """A key or value, `{"schema": …, "payload": …}`; None for null."""
        if document is None or document["payload"] is None:
            return None
        schema = document["schema"]
        identity = json.dumps([subject, schema])
        if identity not in self._known:
            written = avro_schema({**schema, "optional": False}, set())
            self._known[identity] = self._registry.register(subject, written), fastavro.parse_schema(_plain(written))
        number, parsed = self._known[identity]
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, avro_value(schema, document["payload"]))
        return struct.pack(">bI", 0, number) + out.getvalue()


def avro_schema(schema: Schema, named: set[str]) -> Any:
    """The Avro schema; a struct that was met before is named only."""
    kind = schema["type"]
    if kind == "struct":
        made: Any = _record(schema, named)
    elif kind == "array":
        made = {"type": "array", "items": avro_schema(schema["items"], named), **_annotations(schema)}
    else:
        made = _primitive(schema)
    return ["null", made] if schema.get("optional") else made


def _primitive(schema: Schema) -> Any:
    kind = schema["type"]
    made = {"type": _TYPES[kind], **_annotations(schema)}
    if kind in {"int8", "int16"}:
        made["connect.type"] = kind
    if schema.get("name") == _DECIMAL:
        made |= {"logicalType": "decimal", "scale": int(schema["parameters"]["scale"]), "precision": 64}
    return made if len(made) > 1 else made["type"]


def _record(schema: Schema, named: set[str]) -> Any:
    name = schema.get("name") or f"ConnectDefault{len(named)}"
    full = re.sub(r"[^A-Za-z0-9_.]", "_", name)
    if full in named:
        return full
    named.add(full)
    namespace, _, short = full.rpartition(".")
    fields = [{"name": member["field"], "type": avro_schema(member, named)} for member in schema["fields"]]
    place = {"namespace": namespace} if namespace else {}
    return {"type": "record", "name": short, **place, "fields": fields, **_annotations(schema)}


def _annotations(schema: Schema) -> dict[str, Any]:
    told = {"name": schema.get("name"), "version": schema.get("version"), "parameters": schema.get("parameters")}
    return {f"connect.{name}": value for name, value in told.items() if value is not None}


def avro_value(schema: Schema, payload: Any) -> Any:
    """A payload as fastavro takes it; what a null of a field that allows none stands for is its default."""
    if payload is None:
        return None if schema.get("optional") else schema.get("default")
    kind = schema["type"]
    if kind == "struct":
        return {member["field"]: avro_value(member, payload.get(member["field"])) for member in schema["fields"]}
    if kind == "array":
        return [avro_value(schema["items"], item) for item in payload]
    return base64.b64decode(payload) if kind == "bytes" else payload


def _plain(written: Any) -> Any:
    """The schema without logical types, so that bytes are written as they are."""
    if isinstance(written, dict):
        return {name: _plain(value) for name, value in written.items() if name != "logicalType"}
    return [_plain(one) for one in written] if isinstance(written, list) else written
