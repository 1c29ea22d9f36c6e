"""Change events to try transforms on: with schemas as a MySQL source makes them, and without."""

from __future__ import annotations

from typing import Any

from cdckit.api.record import Header, Record, SchemaAndValue
from cdckit.api.schema import INT32, INT64, OPTIONAL_INT64, OPTIONAL_STRING, STRING, Schema, struct_schema
from cdckit.api.struct import Struct
from cdckit.engine.chain import build_chain

TOPIC = "s.shop.orders_1"
STATUS = Schema("string", optional=True, default="new")
ROW = struct_schema(f"{TOPIC}.Value", {"id": INT32, "city": OPTIONAL_STRING, "status": STATUS}, optional=True)
KEY = struct_schema(f"{TOPIC}.Key", {"id": INT32})
SOURCE = struct_schema("io.debezium.connector.mysql.Source", {"table": OPTIONAL_STRING, "ts_ms": INT64})
BLOCK = struct_schema("event.block", {"id": STRING, "total_order": INT64}, optional=True)
ENVELOPE = struct_schema(
    f"{TOPIC}.Envelope",
    {
        "before": ROW,
        "after": ROW,
        "source": SOURCE,
        "transaction": BLOCK,
        "op": STRING,
        "ts_ms": OPTIONAL_INT64,
    },
)
HEADERS = (Header("connector", "mysql"),)

Row = tuple[int, str | None, str | None]


def change(op: str, before: Row | None = None, after: Row | None = None, **parts: Any) -> Record:
    """A change event of the table `orders_1`; `parts` are other parts of the record."""
    rows = [row and Struct(ROW, row) for row in (before, after)]
    key = (after or before or (1,))[0]
    value = Struct(ENVELOPE, (*rows, Struct(SOURCE, ("orders_1", 7)), None, op, 9))
    record = Record(TOPIC, Struct(KEY, (key,)), value, HEADERS, "0001", 9, 3)
    return record.replace(**parts) if parts else record


def tombstone() -> Record:
    """What follows a delete."""
    return Record(TOPIC, Struct(KEY, (1,)), None, HEADERS, "0002", 9, 3)


def plain(record: Record) -> Record:
    """The record without schemas."""
    key, value = record.key, record.value
    assert isinstance(key, Struct)
    assert isinstance(value, Struct)
    return record.replace(key=SchemaAndValue(None, key.to_dict()), value=SchemaAndValue(None, value.to_dict()))


def apply(record: Record, type_name: str, options: dict[str, Any]) -> Record | None:
    """The record after one transform, made as a pipeline makes it."""
    made = build_chain([{"type": type_name, **options}], {}).apply([record])
    assert len(made) <= 1
    return made[0] if made else None


def applied(record: Record, type_name: str, options: dict[str, Any]) -> Record:
    """The same where the record must not be dropped."""
    made = apply(record, type_name, options)
    assert made is not None
    return made


def members(record: Record) -> Any:
    """The value as plain dicts, with or without a schema."""
    value = record.value
    return value.to_dict() if isinstance(value, Struct) else (value and value.value)
