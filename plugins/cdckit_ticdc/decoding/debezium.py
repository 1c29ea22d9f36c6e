"""TiCDC's protocol `debezium`, every version of it (TiCDC's manual, "TiCDC Debezium Protocol").

Versions differ: v8.0 to v8.4 write no keys; only the new architecture sends DDL, and watermarks with
`enable-tidb-extension=true`, which also names each column's type (`tidb_type`).
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import orjson

from cdckit import DecodeError, logical
from cdckit_ticdc.columns.avro import AvroSchemas, value_reader
from cdckit_ticdc.columns.column import Column
from cdckit_ticdc.columns.debezium import DebeziumColumns
from cdckit_ticdc.columns.texts import vector
from cdckit_ticdc.columns.types import MySqlType
from cdckit_ticdc.decoding.avro import read_registered
from cdckit_ticdc.decoding.decoder import Decoder, DecoderOptions, Peek
from cdckit_ticdc.decoding.documents import KeyNames, read_document
from cdckit_ticdc.decoding.inference import InferredTable
from cdckit_ticdc.decoding.table_changes import definitions
from cdckit_ticdc.definitions import Definition, Definitions
from cdckit_ticdc.events import Ddl, Event, Watermark
from cdckit_ticdc.layout import Layout
from cdckit_ticdc.message import Message
from cdckit_ticdc.records import Stamp
from cdckit_ticdc.registry import RegisteredSchema, Registry

_COMMIT_TS = re.compile(rb'"source":\{[^{}]*"commit_ts":(\d+)')
_OTHER = re.compile(rb'"op":"m"|"tableChanges":')
_ROWS = frozenset("crud")
Payload = Mapping[str, Any]
TableName = tuple[str, str]


Value = tuple[Hashable, Payload]
"""What tells a message's schema from others, or None without a schema; and the envelope, DDL event or watermark."""


class DebeziumDecoder(Decoder):
    """What the JSON form and the Avro form have in common."""

    @abstractmethod
    def value(self, message: Message) -> Value:
        """The message's value."""

    @abstractmethod
    def key(self, message: Message) -> tuple[str, ...]:
        """The names of the key's columns; none where the table has no key, or the version writes none."""

    @abstractmethod
    def row_layout(self, schema: Hashable, source: Payload, key: tuple[str, ...]) -> Layout | InferredTable:
        """What reads the rows of a value with this schema and source block."""

    def events(self, message: Message) -> Sequence[Event]:
        """A row's records, a DDL event or a watermark."""
        if message.value is None:
            raise DecodeError("a message without value, which TiCDC's Debezium protocol does not have")
        schema, payload = self.value(message)
        source, operation = payload["source"], payload.get("op")
        commit_ts = source["commit_ts"]
        if operation == "m":
            return [Watermark(commit_ts)]
        if operation is None:
            return [self._ddl(payload, commit_ts)]
        if operation not in _ROWS:
            raise DecodeError(f"operation '{operation}' is none of c, u, d")
        layout = self.row_layout(schema, source, self.key(message))
        images = layout.images(operation, payload.get("before"), payload.get("after"))
        start_ts, cluster = source.get("start_ts") or 0, source.get("cluster_id")
        stamp = Stamp(commit_ts, commit_ts, start_ts, payload.get("ts_ms"), source["name"], cluster)
        return self.maker.records(message, operation, images, stamp)

    def _ddl(self, payload: Payload, commit_ts: int) -> Ddl:
        made = tuple(definitions(payload["tableChanges"], commit_ts))
        for definition in made:
            self.definitions.learn(definition)
        tables = tuple(f"{definition.database}.{definition.table}" for definition in made)
        return Ddl(commit_ts, payload["ddl"], tables, made)


class DebeziumJsonDecoder(DebeziumDecoder):
    """Decodes `debezium` as JSON, with schemas or without."""

    learns = True

    def __init__(self, options: DecoderOptions, known: Definitions) -> None:
        super().__init__(options, known)
        self._columns = DebeziumColumns(options.columns)
        self._inferred_tables: dict[Hashable, InferredTable] = {}
        self._key_names = KeyNames()

    def outline(self, message: Message) -> Peek:
        """Finds commit_ts in the text; only what may be a DDL event or a watermark is decoded."""
        value = message.value or b""
        found = _COMMIT_TS.search(value)
        if found is None or _OTHER.search(value) is not None:
            return super().outline(message)
        return Peek((int(found[1]),))

    def value(self, message: Message) -> Value:
        """The JSON document, its schema as text."""
        return read_document(message.value or b"")

    def key(self, message: Message) -> tuple[str, ...]:
        """The names in the key's payload."""
        return self._key_names.of(message.key) if message.key else ()

    def row_layout(self, schema: Hashable, source: Payload, key: tuple[str, ...]) -> Layout | InferredTable:
        """By the schema beside the row, else by a definition that a DDL event brought, else by what rows look like."""
        name, table = source["name"], (source["db"], source["table"])
        definition = self.definitions.at(*table, source["commit_ts"])
        if isinstance(schema, bytes):
            return self.layout(
                (schema, *table, key, definition), name, table, lambda: (self._written(schema, table, definition), key)
            )
        if definition is None:
            return self._inferred(name, table, key)
        return self.layout(
            (definition, key), name, table, lambda: (self._defined(definition, table), key or definition.key)
        )

    def _written(self, schema: bytes, table: TableName, definition: Definition | None) -> list[Column]:
        """The columns in the schema of `after`; TiCDC may list a virtual column twice."""
        types: dict[str, MySqlType] = {column.name: column.type for column in definition.columns} if definition else {}
        fields = {member["field"]: member for member in orjson.loads(schema)["fields"]}
        members = {member["field"]: member for member in fields["after"]["fields"]}
        return [self._columns.written(table, member, types.get(name)) for name, member in members.items()]

    def _defined(self, definition: Definition, table: TableName) -> list[Column]:
        return [
            self._columns.defined(table, column.name, column.type, optional=column.optional)
            for column in definition.columns
        ]

    def _inferred(self, name: str, table: TableName, key: tuple[str, ...]) -> InferredTable:
        found = self._inferred_tables.get((*table, key))
        if found is None:

            def make_layout(columns: list[Column]) -> Layout:
                identity = (*table, key, tuple((column.name, column.schema.type) for column in columns))
                return self.layout(identity, name, table, lambda: (columns, key))

            found = self._inferred_tables[*table, key] = InferredTable(table, self._columns, make_layout)
        return found


class DebeziumAvroDecoder(DebeziumDecoder):
    """Decodes `debezium` as Avro with a schema registry."""

    def __init__(self, options: DecoderOptions, known: Definitions, registry: Registry) -> None:
        super().__init__(options, known)
        self._registry = registry

    def value(self, message: Message) -> Value:
        """The Avro record, with its registered schema."""
        return read_registered(self._registry, message.value or b"")

    def key(self, message: Message) -> tuple[str, ...]:
        """The names of the key's fields."""
        return tuple(read_registered(self._registry, message.key)[1]) if message.key else ()

    def row_layout(self, schema: Hashable, source: Payload, key: tuple[str, ...]) -> Layout:
        """By the registered schema."""
        assert isinstance(schema, RegisteredSchema)
        name, table = source["name"], (source["db"], source["table"])
        return self.layout((schema, *table, key), name, table, lambda: (_registered_columns(schema), key))


def _registered_columns(schema: RegisteredSchema) -> list[Column]:
    """The columns in the record of `after`."""
    row = AvroSchemas().schema(schema.written).field("after").schema
    columns = []
    for member in row.fields:
        if member.schema.name == logical.TIDB_VECTOR_NAME:
            shown = logical.FLOAT_VECTOR.as_optional() if member.schema.optional else logical.FLOAT_VECTOR
            columns.append(Column(member.name, shown, vector))
        else:
            columns.append(Column(member.name, member.schema, value_reader(member.schema)))
    return columns
