"""Connect's schemas as Avro's, as Confluent's AvroData makes them (`kafka-connect-avro-data`).

What Avro has no word for stands beside: a small integer's type, a logical type's name, version and parameters in
properties that begin with `connect.`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus

from cdckit import logical
from cdckit.api.schema import Schema
from cdckit.api.struct import Struct
from cdckit.engine.serializers.registered import Written

NAMESPACE = "io.confluent.connect.avro"
"""Where a record without a name stands."""
UNNAMED = "ConnectDefault"
ENTRY = "MapEntry"
_PRECISION = "connect.decimal.precision"
_LARGEST_PRECISION = 64
_TYPES = {
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "int64": "long",
    "float32": "float",
    "float64": "double",
    "boolean": "boolean",
    "string": "string",
    "bytes": "bytes",
}
_LOGICAL_TYPES = {
    logical.CONNECT_DATE.name: "date",
    logical.CONNECT_TIME.name: "time-millis",
    logical.CONNECT_TIMESTAMP.name: "timestamp-millis",
}
_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")
_IN_FRONT = re.compile(r"[A-Za-z_]")


@dataclass(slots=True)
class _Names:
    """The records that were written so far, and the namespace of the one in hand."""

    written: dict[str, Schema] = field(default_factory=dict)
    space: str | None = None


@dataclass(frozen=True, slots=True)
class AvroSchemas:
    """Makes Avro schemas.

    Attributes:
        meta_data: whether Connect's own properties stand in them.
        scrub: whether characters that Avro's names cannot have become `_`.
    """

    meta_data: bool = True
    scrub: bool = False
    optional_keys: bool = False
    field_docs: bool = False

    def schema(self, schema: Schema) -> Written:
        """The Avro schema of a Connect schema.

        Raises:
            ValueError: a name cannot be one in Avro, or two structs that differ share one.
        """
        return self._schema(schema, _Names())

    def _schema(self, schema: Schema, names: _Names) -> Written:
        made = self._required(schema, names)
        if not schema.optional:
            return made
        return ["null", made] if schema.default is None or schema.type == "struct" else [made, "null"]

    def _required(self, schema: Schema, names: _Names) -> Written:
        if schema.type == "struct":
            return self._record(schema, names)
        if schema.type == "array":
            assert schema.items is not None
            made: dict[str, Any] = {"type": "array", "items": self._schema(schema.items, names)}
        elif schema.type == "map":
            made = self._map(schema, names)
        else:
            made = {"type": _TYPES[schema.type]}
        made |= self._properties(schema)
        return made if len(made) > 1 else made["type"]

    def _map(self, schema: Schema, names: _Names) -> dict[str, Any]:
        assert schema.keys is not None
        assert schema.items is not None
        if schema.keys.type == "string" and (self.optional_keys or not schema.keys.optional):
            return {"type": "map", "values": self._schema(schema.items, names)}
        space, name = _split(schema.name) if schema.name else (NAMESPACE, ENTRY)
        members = {"key": schema.keys, "value": schema.items}
        entry = self._named(schema, space, name, names)
        if isinstance(entry, dict):
            before, names.space = names.space, space
            entry["fields"] = [self._field(member, of, names) for member, of in members.items()]
            names.space = before
            entry |= {"connect.internal.type": ENTRY} if schema.name else {}
        return {"type": "array", "items": entry}

    def _record(self, schema: Schema, names: _Names) -> Written:
        space, name = _split(schema.name) if schema.name else (NAMESPACE, UNNAMED)
        made = self._named(schema, space, name, names)
        if isinstance(made, dict):
            before, names.space = names.space, space
            made["fields"] = [self._field(member.name, member.schema, names) for member in schema.fields]
            names.space = before
            made |= self._properties(schema)
        return made

    def _named(self, schema: Schema, space: str | None, name: str, names: _Names) -> Written:
        """The beginning of a record, or its name where it was written before."""
        if self.scrub:
            name = scrubbed(name)
            space = space and ".".join(map(scrubbed, space.split(".")))
        _check(name, *(space.split(".") if space else ()))
        full = f"{space}.{name}" if space else name
        known = names.written.get(full)
        if known is not None:
            if known is not schema and self._required(known, _Names()) != self._required(schema, _Names()):
                raise ValueError(f"two structs that differ are called {full}")
            return name if space == names.space else full
        names.written[full] = schema
        made: dict[str, Any] = {"type": "record", "name": name}
        if space != names.space:
            made["namespace"] = space or ""
        return made

    def _field(self, name: str, schema: Schema, names: _Names) -> dict[str, Any]:
        name = scrubbed(name) if self.scrub else name
        _check(name)
        made = {"name": name, "type": self._schema(schema, names)}
        if self.field_docs and schema.doc is not None:
            made["doc"] = schema.doc
        if schema.default is not None:
            made["default"] = default_of(schema, schema.default)
        elif schema.optional:
            made["default"] = None
        return made

    def _properties(self, schema: Schema) -> dict[str, Any]:
        made: dict[str, Any] = {}
        if schema.name == logical.DECIMAL_NAME:
            parameters = schema.parameters or {}
            made["scale"] = int(parameters.get("scale", 0))
            made["precision"] = int(parameters.get(_PRECISION, _LARGEST_PRECISION))
        if self.meta_data:
            told = {
                "doc": schema.doc,
                "version": schema.version,
                "parameters": dict(schema.parameters) if schema.parameters else None,
                "default": None if schema.default is None else default_of(schema, schema.default),
                "name": schema.name,
                "type": schema.type if schema.type in ("int8", "int16") else None,
            }
            made |= {f"connect.{name}": value for name, value in told.items() if value is not None}
        if schema.name in _LOGICAL_TYPES:
            made["logicalType"] = _LOGICAL_TYPES[schema.name]
        elif schema.name == logical.DECIMAL_NAME:
            made["logicalType"] = "decimal"
        return made


def default_of(schema: Schema, value: Any) -> Any:
    """A default as it stands in an Avro schema: bytes as the characters of their numbers."""
    if isinstance(value, bytes):
        return value.decode("iso-8859-1")
    if isinstance(value, Struct):
        return {
            member.name: default_of(member.schema, item)
            for member, item in zip(value.schema.fields, value.values, strict=True)
        }
    if isinstance(value, list) and schema.items is not None:
        return [default_of(schema.items, item) for item in value]
    if isinstance(value, dict) and schema.items is not None:
        return {key: default_of(schema.items, item) for key, item in value.items()}
    return value


def _split(name: str) -> tuple[str | None, str]:
    space, _, last = name.rpartition(".")
    return space or None, last


def scrubbed(name: str) -> str:
    """A name without what Avro's cannot hold, as Confluent's class changes it: coded as in a URL, then by `_`."""
    made = _IN_NAMES.sub("_", quote_plus(name, safe="*"))
    return made if _IN_FRONT.match(made) else f"x{made}"


def _check(*names: str) -> None:
    for name in names:
        if not name or _IN_NAMES.search(name) or name[0].isdigit():
            raise ValueError(
                f"'{name}' cannot be a name in Avro: set schema.name.adjustment.mode=avro and "
                "field.name.adjustment.mode=avro at the source, or scrub.invalid.names=true here"
            )
