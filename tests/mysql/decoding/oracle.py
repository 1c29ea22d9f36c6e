"""mysql-replication reads the same live log: its rows, ours and the server's own SELECT in one plain form."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.row_event import DeleteRowsEvent, PartialUpdateRowsEvent, UpdateRowsEvent, WriteRowsEvent

from cdckit_mysql.binlog.connection import FilePosition
from cdckit_mysql.values import ValueOptions
from mysql.decoding.reading import Change, Reading

SERVER_ID = 27_182
OPTIONS = ValueOptions(
    decimal_mode="string", bigint_unsigned_mode="precise", time_mode="microseconds", time_adjuster=False
)
_EPOCH = datetime(1970, 1, 1)
_KINDS: Mapping[type, str] = {
    WriteRowsEvent: "write",
    UpdateRowsEvent: "update",
    PartialUpdateRowsEvent: "update",
    DeleteRowsEvent: "delete",
}
_GEOMETRIES = {
    "GEOMETRY", "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMCOLLECTION",
    "GEOMETRYCOLLECTION",
}  # fmt: skip
_OPAQUE = "base64:type15:"
"""What the server writes before the bytes that a document holds."""
_TRAILING = re.compile(r"(?<=:\d\d)(\.\d*?)0+$")
"""Zeros at the end of a time's fraction."""
Plain = Callable[[Any], Any]


def theirs(reading: Reading, start: FilePosition, **options: Any) -> list[Change]:
    """The row changes of the reading's database from `start` to the log's end, as the library gives them.

    Args:
        reading: the database.
        start: where to begin.
        options: more of the library's own.

    Raises:
        Exception: the library's own, of any kind.
    """
    return [
        (event.table, _KINDS[type(event)], *_images(_KINDS[type(event)], row))
        for event in their_events(reading, start, list(_KINDS), **options)
        if event.schema == reading.database
        for row in event.rows
    ]


def their_events(reading: Reading, start: FilePosition, kinds: Sequence[type], **options: Any) -> Generator[Any]:
    """The events of some kinds, as the library gives them; raises as `theirs`."""
    login = {"host": "127.0.0.1", "port": reading.server.port, "user": "dbz", "password": "dbz", "ssl_disabled": True}
    asked = {"log_file": start.file, "log_pos": start.position, "resume_stream": True, "enable_logging": False}
    stream = BinLogStreamReader(login, SERVER_ID, only_events=kinds, **{**asked, **options})
    try:
        yield from stream
    finally:
        stream.close()


def _images(kind: str, row: Mapping[str, Any]) -> tuple[Any, Any]:
    """Before and after."""
    if kind == "update":
        return row["before_values"], row["after_values"]
    return (None, row["values"]) if kind == "write" else (row["values"], None)


def plain_ours(kind: str, value: Any) -> Any:
    """A value as this project decodes it with `OPTIONS`."""
    return None if value is None else _OURS.get(kind, _same)(value)


def plain_theirs(kind: str, value: Any) -> Any:
    """A value as mysql-replication gives it."""
    return None if value is None else _THEIRS.get(kind, _same)(value)


def plain_selected(kind: str, value: Any) -> Any:
    """A value as a SELECT gives it through PyMySQL."""
    return None if value is None else _SELECTED.get(kind, _same)(value)


def _same(value: Any) -> Any:
    return value


def _labels(text: str) -> frozenset[str]:
    return frozenset(text.split(",")) - {""}


def _moment(epoch_us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=epoch_us)


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)


def _integer(value: int | bytes) -> int:
    return int.from_bytes(value, "big", signed=True) if isinstance(value, bytes) else value


def _bits(value: bool | bytes) -> int:
    return int.from_bytes(value, "little") if isinstance(value, bytes) else int(value)


def _spatial(value: Mapping[str, Any]) -> tuple[int, bytes]:
    return value["srid"] or 0, value["wkb"]


def _stored_spatial(value: bytes) -> tuple[int, bytes]:
    return int.from_bytes(value[:4], "little"), value[4:]


def _document(value: Any) -> Any:
    """A document with texts for what JSON has no type for, in the least digits."""
    if isinstance(value, dict):
        return {_document(name): _document(held) for name, held in value.items()}
    if isinstance(value, list):
        return [_document(held) for held in value]
    if isinstance(value, bytes):
        return value.decode()
    text = str(value) if isinstance(value, datetime | time) else value
    return _TRAILING.sub(r"\1", text.removeprefix(_OPAQUE)).removesuffix(".") if isinstance(text, str) else text


def _day(value: Any) -> Any:
    """A date, or null where the server shows one that has a zero in it."""
    return None if isinstance(value, str) else value


def _floats(value: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(value) // 4}f", value))


def _float32(value: float) -> float:
    """The number of 32 bits that the digits stand for."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


_OURS: Mapping[str, Plain] = {
    "BIGINT": _integer,
    "DECIMAL": Decimal,
    "FLOAT": _float32,
    "YEAR": lambda year: year % 1900 and year,
    "DATE": lambda days: date(1970, 1, 1) + timedelta(days),
    "DATETIME": _moment,
    "TIMESTAMP": _instant,
    "TIME": lambda us: timedelta(microseconds=us),
    "BIT": _bits,
    "SET": _labels,
    "JSON": lambda text: _document(json.loads(text)),
    "VECTOR": lambda numbers: [_float32(number) for number in numbers],
    **dict.fromkeys(_GEOMETRIES, _spatial),
}
_THEIRS: Mapping[str, Plain] = {
    "FLOAT": _float32,
    "BIT": lambda digits: int(digits, 2),
    "SET": frozenset,
    "JSON": _document,
    **dict.fromkeys(_GEOMETRIES, _stored_spatial),
}
_SELECTED: Mapping[str, Plain] = {
    "FLOAT": _float32,
    **dict.fromkeys(("DATE", "DATETIME", "TIMESTAMP"), _day),
    "BIT": lambda value: int.from_bytes(value, "big"),
    "SET": _labels,
    "JSON": lambda text: _document(json.loads(text)),
    "VECTOR": _floats,
    **dict.fromkeys(_GEOMETRIES, _stored_spatial),
}
