"""TiCDC's protocol `simple`, as JSON or Avro (TiCDC's manual, "TiCDC Simple Protocol").

Definitions travel apart from rows, in DDL and BOOTSTRAP messages; a row names the version that it needs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from cdckit import DecodeError
from cdckit_ticdc.columns.binary import from_base64
from cdckit_ticdc.columns.texts import Forms, TextColumns
from cdckit_ticdc.columns.types import MySqlType
from cdckit_ticdc.decoding.decoder import Decoder, DecoderOptions, Peek
from cdckit_ticdc.decoding.large_rows import refuse_parted
from cdckit_ticdc.decoding.simple_avro import AVRO_HEAD, read_message
from cdckit_ticdc.definitions import ColumnDefinition, Definition, Definitions
from cdckit_ticdc.events import Bootstrap, Ddl, Event, Watermark
from cdckit_ticdc.layout import Layout
from cdckit_ticdc.message import Message
from cdckit_ticdc.records import Stamp

_OPERATIONS = {"INSERT": "c", "UPDATE": "u", "DELETE": "d"}
_BEFORE_FRACTION = {"time": 11, "datetime": 20, "timestamp": 20}
"""How much of a temporal type's `length` stands before the digits of a second; without any it is one less."""
_HEAD = re.compile(rb'"type":"(?:INSERT|UPDATE|DELETE)","commitTs":(\d+)')
Body = Mapping[str, Any]


class SimpleDecoder(Decoder):
    """Decodes the protocol `simple`; each message shows whether it is JSON or Avro."""

    learns = True

    def __init__(self, options: DecoderOptions, known: Definitions) -> None:
        super().__init__(options, known)
        self._columns = TextColumns(options.columns, Forms(_binary, bit=int, located=True))

    def outline(self, message: Message) -> Peek:
        """Finds commit_ts in the head of a row in JSON."""
        found = _HEAD.search(message.value or b"")
        return super().outline(message) if found is None else Peek((int(found[1]),))

    def events(self, message: Message) -> Sequence[Event]:
        """A row's records, a DDL event, a bootstrap or a watermark."""
        value = message.value or b""
        body: Body = read_message(value) if value.startswith(AVRO_HEAD) else orjson.loads(value)
        kind = body["type"]
        if kind in _OPERATIONS:
            return self._row(message, body, _OPERATIONS[kind])
        if kind == "WATERMARK":
            return [Watermark(body["commitTs"])]
        schema = body.get("tableSchema")
        definition = None if schema is None else _definition(schema)
        if definition is not None:
            self.definitions.learn(definition)
        if kind == "BOOTSTRAP":
            if definition is None:
                raise DecodeError("a BOOTSTRAP message without tableSchema")
            return [Bootstrap(definition)]
        made = () if definition is None else (definition,)
        tables = tuple(f"{one.database}.{one.table}" for one in made)
        return [Ddl(body["commitTs"], body["sql"], tables, made)]

    def _row(self, message: Message, body: Body, operation: str) -> Sequence[Event]:
        table = (body["database"], body["table"])
        refuse_parted(table, place=body.get("claimCheckLocation"), only_key=body.get("handleKeyOnly"))
        layout = self._layout(body)
        images = layout.images(operation, body.get("old"), body.get("data"))
        stamp = Stamp(body["commitTs"], body["commitTs"], body.get("startTs") or 0, body["buildTs"])
        return self.maker.records(message, operation, images, stamp)

    def _layout(self, body: Body) -> Layout:
        table, version = (body["database"], body["table"]), body["schemaVersion"]
        definition = self.definitions.version(*table, version)
        if definition is None:
            raise DecodeError(
                f"table {'.'.join(table)}: no message has brought its schema version {version} so far: begin at an "
                "earlier offset, where its DDL or BOOTSTRAP message is",
                number="CDC5202",
            )
        known = definition
        return self.layout(known, "default", table, lambda: self._columns.of_table(known))


def _binary(value: Any) -> bytes:
    return bytes(value) if value.__class__ is bytes else from_base64(value)


def _definition(schema: Mapping[str, Any]) -> Definition:
    columns = tuple(
        ColumnDefinition(column["name"], _type(column["dataType"]), column["nullable"]) for column in schema["columns"]
    )
    database = schema["schema"] if "schema" in schema else schema["database"]
    return Definition(database, schema["table"], schema["version"], columns, _key(schema["indexes"] or ()))


def _type(written: Mapping[str, Any]) -> MySqlType:
    name, decimals = written["mysqlType"], written.get("decimal")
    labels = written.get("elements")
    if name in _BEFORE_FRACTION:
        return MySqlType(name, length=max(0, written["length"] - _BEFORE_FRACTION[name]))
    return MySqlType(
        name,
        unsigned=bool(written.get("unsigned")),
        length=written["length"],
        scale=decimals or (0 if name == "decimal" else None),
        labels=tuple(labels) if labels else None,
    )


def _key(indexes: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The primary key's columns, else those of the first unique key that has no NULL."""
    unique = [index for index in indexes if index["primary"]]
    unique += [index for index in indexes if index["unique"] and not index["nullable"]]
    return tuple(unique[0]["columns"]) if unique else ()
