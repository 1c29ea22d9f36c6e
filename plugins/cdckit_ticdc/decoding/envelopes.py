"""Messages in Debezium's own format: what connectors, a cloud's subscription, or cdckit itself put on topics.

A message is known by its shape, not by its topic: a change event, a schema change (in any form that versions 1.1 to 3
have, with the history's own form), the begin or end of a transaction, a heartbeat, a tombstone, or a plain row. What
comes with a schema keeps it. Without one, rows take the types of definitions that schema changes brought, of the
user, or of their values.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from cdckit import BYTES, LANE_END, STRING, Datum, DecodeError, Record, Schema, SchemaAndValue, Struct
from cdckit.connector.connect_json.reader import schema_from_json, value_reader
from cdckit_ticdc.columns.avro import AvroSchemas, value_reader as avro_reader
from cdckit_ticdc.columns.options import ColumnOptions
from cdckit_ticdc.columns.rows import MakeRow, compile_row
from cdckit_ticdc.columns.seen import seen_struct, transaction_metadata
from cdckit_ticdc.decoding.avro import read_registered
from cdckit_ticdc.decoding.decoder import FAULTS, briefly, topic_name
from cdckit_ticdc.decoding.documents import read_document
from cdckit_ticdc.decoding.headers import read_headers
from cdckit_ticdc.decoding.schemaless import SchemalessEnvelopes
from cdckit_ticdc.decoding.table_changes import definitions, moment
from cdckit_ticdc.definitions import Definitions
from cdckit_ticdc.events import Ddl
from cdckit_ticdc.layout import Layout
from cdckit_ticdc.message import Message
from cdckit_ticdc.registry import RegisteredSchema, Registry

log = logging.getLogger("cdckit.debezium")

Payload = Mapping[str, Any]
SCHEMA_CHANGE = "io.debezium.connector.common.SchemaChangeValue"
LOGICAL_MESSAGE = "io.debezium.connector.postgresql.MessageValue"
HEARTBEAT = "io.debezium.connector.common.Heartbeat"


@dataclass(frozen=True, slots=True)
class EnvelopeOptions:
    """What the decoder is told.

    Attributes:
        columns: how the producer shows columns, for messages without schemas.
        naming: whether records keep their message's topic, or take one for each table.
    """

    columns: ColumnOptions = field(default_factory=ColumnOptions)
    naming: Literal["message", "table"] = "message"


@dataclass(frozen=True, slots=True)
class Content:
    """A message's value.

    Attributes:
        datum: as the record has it.
        payload: its members, where it has some.
        layout: what it was read with, where it came without a schema.
    """

    datum: Datum | None
    payload: Payload
    layout: Layout | None = None


_NOTHING: Payload = {}


class EnvelopeDecoder:
    """Makes records of messages, and tells of schema changes."""

    def __init__(self, options: EnvelopeOptions, known: Definitions, registry: Registry | None) -> None:
        self._options = options
        self._definitions = known
        self._registry = registry
        self._schemaless = SchemalessEnvelopes(options.columns, known)
        self._schemas: dict[bytes, Schema] = {}
        self._avro_schemas: dict[RegisteredSchema, Schema] = {}
        self._layouts: dict[str, Layout] = {}
        self._tables: dict[str, tuple[Any, Any]] = {}

    def decode(self, message: Message) -> Sequence[Record | Ddl]:
        """The message as a record, behind the change of definitions that it tells of, if any.

        Raises:
            DecodeError: it is truncated, no JSON (or Avro of the registry), or does not fit its own schema.
        """
        try:
            return self._decoded(message)
        except DecodeError as error:
            raise DecodeError(f"{message.place}: {error}") from error
        except FAULTS as error:
            raise DecodeError(
                f"{message.place}: no message in Debezium's format ({briefly(error)})", number="CDC5204"
            ) from error

    def _decoded(self, message: Message) -> Sequence[Record | Ddl]:
        content = self._content(message)
        payload = content.payload
        if content.layout is not None:
            self._layouts[message.topic] = content.layout
        key = self._key(message, content.layout or self._layouts.get(message.topic))
        headers, position = read_headers(message.headers, key)
        if not position:
            position = f"{message.partition:05d}{LANE_END}{message.offset:019d}"
        topic = self._topic(message, payload)
        record = Record(topic, key, content.datum, headers, position, message.timestamp)
        if _is_schema_change(payload):
            return [self._ddl(payload), record]
        return [record]

    # -- values

    def _content(self, message: Message) -> Content:
        value = message.value
        if value is None:
            return Content(None, _NOTHING)
        if value[:1] == b"\0":
            datum = self._from_avro(value)
            return Content(datum, _members(datum))
        schema, payload = read_document(value)
        if schema is not None:
            return Content(self._typed(schema, payload), payload if isinstance(payload, Mapping) else _NOTHING)
        if not isinstance(payload, Mapping):
            return Content(None if payload is None else SchemaAndValue(None, payload), _NOTHING)
        return self._untyped(message.topic, payload)

    def _typed(self, text: bytes, payload: Any) -> Datum | None:
        schema = self._schemas.get(text)
        if schema is None:
            schema = self._schemas[text] = schema_from_json(orjson.loads(text))
        if payload is None:
            return None
        made = value_reader(schema)(payload)
        return made if isinstance(made, Struct) else SchemaAndValue(schema, made)

    def _untyped(self, topic: str, payload: Payload) -> Content:
        """A value without schema, by its shape."""
        if payload.keys() >= {"op", "source", "message"} and payload["op"] == "m":
            return Content(seen_struct(payload, LOGICAL_MESSAGE), payload)
        if payload.keys() >= {"op", "source"}:
            datum, layout = self._schemaless.envelope(topic, payload)
            return Content(datum, payload, layout)
        if _is_schema_change(payload):
            return Content(seen_struct(payload, SCHEMA_CHANGE), payload)
        if payload.keys() >= {"status", "id", "event_count"}:
            return Content(transaction_metadata(payload), payload)
        if payload.keys() == {"ts_ms"}:
            return Content(seen_struct(payload, HEARTBEAT), payload)
        return Content(SchemaAndValue(None, payload), payload)

    def _from_avro(self, text: bytes) -> Datum:
        if self._registry is None:
            raise DecodeError("a message of a schema registry: give 'schema.registry.url'", number="CDC5203")
        registered, found = read_registered(self._registry, text)
        schema = self._avro_schemas.get(registered)
        if schema is None:
            schema = self._avro_schemas[registered] = AvroSchemas().schema(registered.written)
        read = avro_reader(schema)
        made = found if read is None else read(found)
        return made if isinstance(made, Struct) else SchemaAndValue(schema, made)

    # -- keys, headers, topics

    def _key(self, message: Message, layout: Layout | None) -> Datum | None:
        text = message.key
        if text is None:
            return None
        if text[:1] == b"\0" and self._registry is not None:
            return self._from_avro(text)
        try:
            schema, payload = read_document(text)
        except ValueError:
            return _raw_key(text)
        if schema is not None:
            return self._typed(schema, payload)
        if not isinstance(payload, Mapping):
            return SchemaAndValue(STRING, payload) if isinstance(payload, str) else SchemaAndValue(None, payload)
        names = payload.keys()
        if layout is not None and layout.key_schema is not None and names == set(layout.key):
            return _row_of_key(layout)(payload)
        return seen_struct(payload, f"{message.topic}.Key") if payload else None

    def _topic(self, message: Message, payload: Payload) -> str:
        source = payload.get("source")
        if payload.get("op") is None or not isinstance(source, Mapping):
            return message.topic
        database, table = source.get("db"), source.get("table") or source.get("collection")
        if self._options.naming == "message" or table is None:
            self._watch(message.topic, (source.get("schema") or database, table))
            return message.topic
        parts = (source.get("name"), database, source.get("schema"), table)
        return topic_name(".".join(part for part in parts if part))

    def _watch(self, topic: str, table: tuple[Any, Any]) -> None:
        """Says once that a topic holds several tables, which a sink that keeps tables would put into one."""
        first = self._tables.setdefault(topic, table)
        if first != table and first[1] is not None:
            self._tables[topic] = (None, None)
            log.warning(
                "topic %s holds changes of %s.%s and of %s.%s: 'topic.naming: table' gives each its own",
                topic, *first, *table,
            )  # fmt: skip

    # -- schema changes

    def _ddl(self, payload: Payload) -> Ddl:
        source = payload.get("source") or _NOTHING
        place = payload.get("position") or _NOTHING
        since = source.get("ts_ms") or (place.get("ts_sec") or 0) * 1000
        made = tuple(definitions(payload.get("tableChanges") or (), moment(source, payload.get("position"))))
        for definition in made:
            self._definitions.learn(definition)
        tables = tuple(f"{definition.database}.{definition.table}" for definition in made)
        return Ddl(since, payload.get("ddl") or "", tables, made)


class _Members(Mapping[str, Any]):
    """A struct's members by name, as a mapping."""

    def __init__(self, struct: Struct) -> None:
        self._struct = struct

    def __getitem__(self, name: str) -> Any:
        value = self._struct[name]
        return _Members(value) if isinstance(value, Struct) else value

    def __iter__(self) -> Any:
        return iter(self._struct.schema.index)

    def __len__(self) -> int:
        return len(self._struct.values)


def _members(datum: Datum) -> Payload:
    """What tells the kind of a value that came with a registered schema."""
    if not isinstance(datum, Struct):
        return _NOTHING
    return datum.to_dict() if "tableChanges" in datum else _Members(datum)


def _is_schema_change(payload: Payload) -> bool:
    return "ddl" in payload and ("tableChanges" in payload or "databaseName" in payload)


def _row_of_key(layout: Layout) -> MakeRow:
    """The function that makes a layout's key out of a dict, made once."""
    assert layout.key_schema is not None
    made: MakeRow | None = layout.key_schema.derived.get("debezium.key")
    if made is None:
        made = layout.key_schema.derived["debezium.key"] = compile_row(layout.key_schema, layout.key_columns)
    return made


def _raw_key(text: bytes) -> SchemaAndValue:
    """A key that is no JSON: a text, or bytes."""
    try:
        return SchemaAndValue(STRING, text.decode())
    except UnicodeDecodeError:
        return SchemaAndValue(BYTES, text)
