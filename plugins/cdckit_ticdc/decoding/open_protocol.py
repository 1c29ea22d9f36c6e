"""TiCDC's protocol `open-protocol`: several events in one message (TiCDC's manual, "TiCDC Open Protocol").

The key is an 8-byte version, then for each event its length in 8 bytes and JSON; the value holds the rows in the same
way, without the version. Types are MySQL's type codes with flags, so lengths and labels are not known.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from cdckit import DecodeError
from cdckit_ticdc.columns.binary import from_base64, from_go_quoted
from cdckit_ticdc.columns.column import Column, Read
from cdckit_ticdc.columns.texts import Forms, TextColumns
from cdckit_ticdc.columns.types import MySqlType
from cdckit_ticdc.decoding.decoder import Decoder, DecoderOptions, Peek
from cdckit_ticdc.decoding.large_rows import refuse_parted
from cdckit_ticdc.definitions import Definitions
from cdckit_ticdc.events import Ddl, Event, Watermark, require_time, table_names
from cdckit_ticdc.layout import Layout
from cdckit_ticdc.message import Message
from cdckit_ticdc.records import Stamp

_VERSION = 1
_ROW, _DDL, _WATERMARK = 1, 2, 3
_BINARY, _HANDLE_KEY, _NULLABLE, _UNSIGNED = 1, 2, 64, 128
_LENGTH = struct.Struct(">Q").unpack_from
_TYPES = {
    1: "tinyint", 2: "smallint", 3: "int", 4: "float", 5: "double", 7: "timestamp", 8: "bigint", 9: "mediumint",
    10: "date", 11: "time", 12: "datetime", 13: "year", 14: "date", 16: "bit", 225: "vector", 245: "json",
    246: "decimal", 247: "enum", 248: "set",
}  # fmt: skip
_TEXT_OR_BYTES = {
    15: ("varchar", "varbinary"), 249: ("tinytext", "tinyblob"), 250: ("mediumtext", "mediumblob"),
    251: ("longtext", "longblob"), 252: ("text", "blob"), 253: ("varchar", "varbinary"), 254: ("char", "binary"),
}  # fmt: skip
_LONG = frozenset({"tinytext", "text", "mediumtext", "longtext"})
Described = Mapping[str, Mapping[str, Any]]


class OpenProtocolDecoder(Decoder):
    """Decodes the protocol `open-protocol`."""

    def __init__(self, options: DecoderOptions, known: Definitions) -> None:
        super().__init__(options, known)
        self._texts = TextColumns(options.columns, Forms(from_go_quoted, text=_long_text))
        self._blobs = TextColumns(options.columns, Forms(from_base64))

    def outline(self, message: Message) -> Peek:
        """Reads the key, which has it all."""
        keys = list(_parts(message.key or b"", 8))
        if not keys:
            return super().outline(message)
        heads = [orjson.loads(key) for key in keys]
        if any(head["t"] != _ROW for head in heads):
            return super().outline(message)
        times = tuple(dict.fromkeys(head["ts"] for head in heads))
        for time in times:
            require_time(time)
        return Peek(times)

    def events(self, message: Message) -> Sequence[Event]:
        """The records of all rows in the message, or a DDL event, or a watermark."""
        key, value = message.key or b"", message.value or b""
        if len(key) < 16 or _LENGTH(key)[0] != _VERSION:
            raise DecodeError("the key does not begin with open-protocol's version 1")
        made: list[Event] = []
        for number, (head, body) in enumerate(zip(_parts(key, 8), _parts(value, 0), strict=True)):
            made += self._event(message, number, orjson.loads(head), body)
        return made

    def _event(self, message: Message, number: int, head: Mapping[str, Any], body: bytes) -> Iterator[Event]:
        if head["t"] == _WATERMARK:
            yield Watermark(head["ts"])
        elif head["t"] == _DDL:
            yield Ddl(head["ts"], orjson.loads(body)["q"], table_names(head["scm"], head["tbl"]))
        elif head["t"] == _ROW:
            yield from self._row(message, number, head, orjson.loads(body))
        else:
            raise DecodeError(f"event type {head['t']} is none that open-protocol has")

    def _row(
        self, message: Message, number: int, head: Mapping[str, Any], body: Mapping[str, Described]
    ) -> Sequence[Event]:
        table = (head["scm"], head["tbl"])
        refuse_parted(table, place=head.get("ccl"), only_key=head.get("ohk"))
        described = body["d"] if "d" in body else body["u"]
        previous = body.get("p")
        operation = "d" if "d" in body else "c" if previous is None else "u"
        row = {name: cell["v"] for name, cell in described.items()}
        before = None if previous is None else {name: cell["v"] for name, cell in previous.items()}
        layout = self._layout(table, described)
        images = layout.images("d", row, None) if operation == "d" else layout.images(operation, before, row)
        return self.maker.records(
            message, operation, images, Stamp(head["ts"], head["ts"], head.get("sts") or 0), number
        )

    def _layout(self, table: tuple[str, str], described: Described) -> Layout:
        identity = (*table, tuple([(name, cell["t"], cell["f"]) for name, cell in described.items()]))

        def make() -> tuple[list[Column], Sequence[str]]:
            columns = [self._column(table, name, cell["t"], cell["f"]) for name, cell in described.items()]
            return columns, [name for name, cell in described.items() if cell["f"] & _HANDLE_KEY]

        return self.layout(identity, "default", table, make)

    def _column(self, table: tuple[str, str], name: str, code: int, flags: int) -> Column:
        if code in _TEXT_OR_BYTES:
            type = MySqlType(_TEXT_OR_BYTES[code][flags & _BINARY])
        else:
            type = MySqlType(_TYPES[code], unsigned=bool(flags & _UNSIGNED))
        columns = self._blobs if type.name.endswith("blob") else self._texts
        return columns.column(table, name, type, optional=bool(flags & _NULLABLE))


def _parts(text: bytes, at: int) -> Iterator[bytes]:
    """The pieces, each behind its length.

    Raises:
        DecodeError: a length goes beyond the end.
    """
    while at < len(text):
        if at + 8 > len(text) or at + 8 + (length := _LENGTH(text, at)[0]) > len(text):
            raise DecodeError(f"truncated: {len(text)} bytes end inside a piece that begins at byte {at}")
        yield text[at + 8 : at + 8 + length]
        at += 8 + length


def _long_text(type: MySqlType) -> Read | None:
    """TEXT columns are base64, CHAR and VARCHAR are not."""
    return (lambda value: from_base64(value).decode()) if type.name in _LONG else None
