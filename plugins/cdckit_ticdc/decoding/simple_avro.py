"""The Avro form of the protocol `simple`: one schema for all messages, known to both sides.

Each message is a value of a union of all of the protocol's record types, of which only `Message` is ever sent.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import fastavro

from cdckit import DecodeError

_NAMESPACE = "com.pingcap.simple.avro"
AVRO_HEAD = b"\x16"
"""`Message`'s place in the union of types, 11, as Avro writes it."""


def read_message(value: bytes) -> Mapping[str, Any]:
    """The content of a message that begins with `AVRO_HEAD`, in the shape that the JSON form has.

    Raises:
        DecodeError: bytes follow that belong to no message.
    """
    source = io.BytesIO(value)
    source.seek(1)
    found = cast("Mapping[str, Any]", fastavro.schemaless_reader(source, _schema(), None))
    if source.read(1):
        raise DecodeError("more bytes than an Avro message of the protocol simple has")
    content: dict[str, Any] = found["payload"]
    if found["type"] in {"WATERMARK", "BOOTSTRAP"}:
        content["type"] = found["type"]
    for rows in ("data", "old"):
        if content.get(rows):
            content[rows] = {name: _plain(cell) for name, cell in content[rows].items()}
    return content


def _plain(cell: Any) -> Any:
    """A BIGINT UNSIGNED is wrapped in a record, as its two's complement; a TIMESTAMP stays one."""
    return cell["value"] if isinstance(cell, dict) and "location" not in cell else cell


@cache
def _schema() -> Any:
    table = f"{_NAMESPACE}.TableSchema"
    cells = ["null", "long", "float", "double", "string", "bytes"]
    timestamp = _record("Timestamp", location="string", value="string")
    first_cells = [*cells, timestamp, _record("UnsignedBigint", value="long")]
    old_cells = [*cells, f"{_NAMESPACE}.Timestamp", f"{_NAMESPACE}.UnsignedBigint"]
    ddl_types = ["CREATE", "ALTER", "ERASE", "RENAME", "TRUNCATE", "CINDEX", "DINDEX", "QUERY"]
    watermark = _record("Watermark", version="int", commitTs="long", buildTs="long")
    bootstrap = _record("Bootstrap", version="int", buildTs="long", tableSchema=_table_schema())
    ddl = _record(
        "DDL",
        version="int",
        type=_enum("DDLType", ddl_types),
        sql="string",
        commitTs="long",
        buildTs="long",
        tableSchema=["null", table],
        preTableSchema=["null", table],
    )
    checksum = _record("Checksum", version="int", corrupted="boolean", current="long", previous="long")
    dml = _record(
        "DML",
        version="int",
        database="string",
        table="string",
        tableID="long",
        type=_enum("DMLType", ["INSERT", "UPDATE", "DELETE"]),
        commitTs="long",
        buildTs="long",
        schemaVersion="long",
        claimCheckLocation=["null", "string"],
        handleKeyOnly=["null", "boolean"],
        checksum=["null", checksum],
        data=["null", {"type": "map", "values": first_cells}],
        old=["null", {"type": "map", "values": old_cells}],
    )
    kinds = _enum("MessageType", ["WATERMARK", "BOOTSTRAP", "DDL", "DML"])
    return fastavro.parse_schema(_record("Message", type=kinds, payload=[watermark, bootstrap, ddl, dml]))


def _table_schema() -> dict[str, Any]:
    texts = {"type": "array", "items": "string"}
    data_type = _record(
        "DataType",
        mysqlType="string",
        charset="string",
        collate="string",
        length="long",
        decimal=["null", "int"],
        elements=["null", texts],
        unsigned=["null", "boolean"],
        zerofill=["null", "boolean"],
    )
    column = _record("ColumnSchema", name="string", dataType=data_type, nullable="boolean", default=["null", "string"])
    index = _record(
        "IndexSchema", name="string", unique="boolean", primary="boolean", nullable="boolean", columns=texts
    )
    return _record(
        "TableSchema",
        database="string",
        table="string",
        tableID="long",
        version="long",
        columns={"type": "array", "items": column},
        indexes={"type": "array", "items": index},
    )


def _record(record: str, /, **fields: Any) -> dict[str, Any]:
    members = [{"name": name, "type": kind} for name, kind in fields.items()]
    return {"type": "record", "name": record, "namespace": _NAMESPACE, "fields": members}


def _enum(name: str, symbols: list[str]) -> dict[str, Any]:
    return {"type": "enum", "name": name, "namespace": _NAMESPACE, "symbols": symbols}
