"""TiCDC's protocol `canal-json`: values as texts, types beside them (TiCDC's manual, "TiCDC Canal-JSON Protocol").

`enable-tidb-extension=true` adds `_tidb` with commit_ts, and watermarks. `content-compatible=true` writes whole types
and, of the row before an update, only what changed. Messages have no keys.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from cdckit import DecodeError
from cdckit_ticdc.columns.binary import from_latin1
from cdckit_ticdc.columns.column import Column
from cdckit_ticdc.columns.texts import Forms, TextColumns
from cdckit_ticdc.columns.types import parse_type
from cdckit_ticdc.decoding.decoder import Decoder, DecoderOptions, Peek
from cdckit_ticdc.decoding.large_rows import refuse_parted
from cdckit_ticdc.definitions import Definitions
from cdckit_ticdc.events import Ddl, Event, Watermark, table_names
from cdckit_ticdc.layout import Layout
from cdckit_ticdc.message import Message
from cdckit_ticdc.records import PHYSICAL_BITS, Stamp

_COMMIT_TS = re.compile(rb'"_tidb":\{[^{}]*"commitTs":(\d+)')
_ROW = b'"isDdl":false'
_WATERMARK = b'"type":"TIDB_WATERMARK"'
_OPERATIONS = {"INSERT": "c", "UPDATE": "u", "DELETE": "d"}
_SIZED = re.compile(r"\(")
Body = Mapping[str, Any]


class CanalJsonDecoder(Decoder):
    """Decodes the protocol `canal-json`."""

    def __init__(self, options: DecoderOptions, known: Definitions) -> None:
        super().__init__(options, known)
        self._columns = TextColumns(options.columns, Forms(from_latin1))

    def outline(self, message: Message) -> Peek:
        """Finds commit_ts in the text of a row."""
        value = message.value or b""
        found = _COMMIT_TS.search(value)
        if found is None or _ROW not in value or _WATERMARK in value:
            return super().outline(message)
        return Peek((int(found[1]),))

    def events(self, message: Message) -> Sequence[Event]:
        """A row's records, a DDL event or a watermark."""
        body: Body = orjson.loads(message.value or b"")
        kind = body["type"]
        extension = body.get("_tidb") or {}
        if kind == "TIDB_WATERMARK":
            return [Watermark(extension["watermarkTs"])]
        commit_ts = extension.get("commitTs", 0)
        time = commit_ts or body["es"] << PHYSICAL_BITS
        if body["isDdl"]:
            return [Ddl(time, body["sql"], table_names(body["database"], body["table"]))]
        if kind not in _OPERATIONS:
            raise DecodeError(f"type '{kind}' is none that canal-json has")
        table = (body["database"], body["table"])
        refuse_parted(table, place=extension.get("claimCheckLocation"), only_key=extension.get("onlyHandleKey"))
        stamp = Stamp(time, commit_ts, made_ms=body["ts"])
        layout, operation = self._layout(body), _OPERATIONS[kind]
        rows, old = body["data"], body["old"] or ()
        made: list[Event] = []
        for number, row in enumerate(rows):
            before = {**row, **old[number]} if operation == "u" and number < len(old) else None
            images = layout.images("d", row, None) if operation == "d" else layout.images(operation, before, row)
            made += self.maker.records(message, operation, images, stamp, number)
        return made

    def _layout(self, body: Body) -> Layout:
        table, key = (body["database"], body["table"]), tuple(body["pkNames"] or ())
        types: Mapping[str, str] = body["mysqlType"]
        names = body["sqlType"]

        def make() -> tuple[list[Column], Sequence[str]]:
            # Types are whole in the content-compatible mode alone: one with a size in it shows that.
            whole = any(_SIZED.search(text) for text in types.values())
            return [self._column(table, name, types[name], key, whole=whole) for name in names], key

        identity = (*table, key, tuple(names), tuple(types), tuple(types.values()))
        return self.layout(identity, "default", table, make)

    def _column(self, table: tuple[str, str], name: str, text: str, key: tuple[str, ...], *, whole: bool) -> Column:
        type = parse_type(text)
        return self._columns.column(table, name, type.declared if whole else type, optional=name not in key)
