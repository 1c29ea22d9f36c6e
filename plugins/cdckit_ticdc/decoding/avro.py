"""TiCDC's protocol `avro`: rows as Avro records with a schema registry (TiCDC's manual, "TiCDC Avro Protocol").

The value is the row alone, null for a delete; the key is the key. `enable-tidb-extension=true` adds the operation and
commit_ts to the value, and with `avro-enable-watermark=true` watermarks and DDL, for which the first byte is not 0.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import fastavro
import orjson

from cdckit import DecodeError
from cdckit_ticdc.columns.column import Column
from cdckit_ticdc.columns.texts import Forms, TextColumns
from cdckit_ticdc.columns.types import MySqlType, parse_type
from cdckit_ticdc.decoding.decoder import Decoder, DecoderOptions
from cdckit_ticdc.definitions import Definitions
from cdckit_ticdc.events import Ddl, Event, Watermark, table_names
from cdckit_ticdc.layout import Images, Layout
from cdckit_ticdc.message import Message
from cdckit_ticdc.records import Stamp
from cdckit_ticdc.registry import RegisteredSchema, Registry, schema_number

_DDL, _WATERMARK = 1, 2
_OPERATION, _COMMIT_TS = "_tidb_op", "_tidb_commit_ts"
_EXTENSION = frozenset({_OPERATION, _COMMIT_TS, "_tidb_commit_physical_time", "_tidb_row_level_checksum"})
_LABEL_END = re.compile(r"(?<!\\),")
_BODY = 5
Row = dict[str, Any]


class AvroDecoder(Decoder):
    """Decodes the protocol `avro`. A delete does not tell its time, so rows are ordered by their offsets."""

    times_rows = False

    def __init__(self, options: DecoderOptions, known: Definitions, registry: Registry) -> None:
        super().__init__(options, known)
        self._registry = registry
        forms = Forms(_bytes, labels="labels", bit=_big_endian)
        self._columns = TextColumns(options.columns, forms)

    def events(self, message: Message) -> Sequence[Event]:
        """A row's records, a DDL event or a watermark."""
        value = message.value
        if value and value[0] == _WATERMARK and len(value) == 9:
            return [Watermark(struct.unpack_from(">Q", value, 1)[0])]
        if value and value[0] == _DDL:
            body = orjson.loads(value[1:])
            return [Ddl(body["commitTs"], body["query"], table_names(body["schema"], body["table"]))]
        if message.key is None and value is None:
            raise DecodeError(
                "a delete of a table without a key, of which the avro protocol tells nothing: leave the table out of "
                "the changefeed, or use another protocol"
            )
        key_schema, key = self._read(message.key) if message.key is not None else (None, {})
        if value is None:
            assert key_schema is not None
            return self._delete(message, key_schema, key)
        schema, row = self._read(value)
        extension = {name: row.pop(name) for name in _EXTENSION if name in row}
        layout = self._layout(schema, tuple(key))
        operation = extension.get(_OPERATION) or "c"
        images = layout.images(operation, None, row)
        stamp = Stamp(0, extension.get(_COMMIT_TS, 0))
        return self.maker.records(message, operation, images, stamp)

    def _delete(self, message: Message, schema: RegisteredSchema, key: Row) -> Sequence[Event]:
        layout = self._layout(schema, tuple(key))
        found = layout.images("d", key, None)
        images = Images(layout, None, None, found.key)
        return self.maker.records(message, "d", images, Stamp(0, 0))

    def _read(self, text: bytes) -> tuple[RegisteredSchema, Row]:
        return read_registered(self._registry, text)

    def _layout(self, schema: RegisteredSchema, key: tuple[str, ...]) -> Layout:
        written = schema.written
        name, _, database = written["namespace"].rpartition(".")
        table = (database, written["name"])

        def make() -> tuple[list[Column], Sequence[str]]:
            fields = [field for field in written["fields"] if field["name"] not in _EXTENSION]
            return [self._column(table, field) for field in fields], key

        return self.layout((schema.number, key), name or "default", table, make)

    def _column(self, table: tuple[str, str], field: Mapping[str, Any]) -> Column:
        branches = field["type"] if isinstance(field["type"], list) else [field["type"]]
        written = next(branch for branch in branches if branch != "null")
        return self._columns.column(table, field["name"], _type(written), optional="null" in branches)


def read_registered(registry: Registry, text: bytes) -> tuple[RegisteredSchema, Row]:
    """A message's schema and content.

    Raises:
        DecodeError: it is truncated or has bytes too many, or the schema is not known.
    """
    schema = registry.schema(schema_number(text))
    source = io.BytesIO(text)
    source.seek(_BODY)
    found: Any = fastavro.schemaless_reader(source, schema.parsed, None)
    if source.read(1):
        raise DecodeError(f"more bytes than a value of schema {schema.number} has")
    return schema, found


def _type(written: Mapping[str, Any]) -> MySqlType:
    """A column's type: `tidb_type` names families, the Avro type and its parameters tell the rest."""
    parameters = written.get("connect.parameters") or {}
    type = parse_type(parameters["tidb_type"])
    match type.name:
        case "int" if type.unsigned and written["type"] == "int":
            return MySqlType("mediumint", unsigned=True)
        case "decimal" if "precision" in written:
            return MySqlType("decimal", length=written["precision"], scale=written["scale"])
        case "bit":
            return MySqlType("bit", length=int(parameters["length"]))
        case "enum" | "set":
            labels = tuple(label.replace("\\,", ",") for label in _LABEL_END.split(parameters["allowed"]))
            return replace(type, labels=labels)
    return type


def _big_endian(value: bytes) -> int:
    return int.from_bytes(value, "big")


def _bytes(value: Any) -> bytes:
    if value.__class__ is not bytes:
        raise TypeError("is no bytes")
    return bytes(value)
