"""Change events to try components on: all operations, and what else a source sends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cdckit import logical
from cdckit.api.record import Header, Record, SchemaAndValue
from cdckit.api.schema import (
    INT32,
    INT64,
    OPTIONAL_BYTES,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    STRING,
    Schema,
    array_schema,
    struct_schema,
)
from cdckit.api.struct import Struct, Template, TemplateStruct

TOPIC = "test.shop.orders"

_PRICE = logical.decimal(2).replace(optional=True)
_STATE = Schema("string", optional=True, default="new")
_ROW = struct_schema(
    f"{TOPIC}.Value",
    {"id": INT32, "customer": OPTIONAL_STRING, "price": _PRICE, "state": _STATE, "note": OPTIONAL_BYTES},
    optional=True,
)
_KEY = struct_schema(f"{TOPIC}.Key", {"id": INT32})
_SOURCE = struct_schema(
    "test.Source", {"version": STRING, "table": OPTIONAL_STRING, "ts_ms": INT64, "row": INT32}, version=1
)
_BLOCK = struct_schema("event.block", {"id": STRING, "total_order": INT64}, optional=True, version=1)
_ENVELOPE = struct_schema(
    f"{TOPIC}.Envelope",
    {
        "before": _ROW,
        "after": _ROW,
        "source": _SOURCE,
        "transaction": _BLOCK,
        "op": STRING,
        "ts_ms": OPTIONAL_INT64,
    },
    version=2,
)
_BEAT = struct_schema("test.Heartbeat", {"ts_ms": INT64})
_END = struct_schema(
    "test.TransactionValue", {"status": STRING, "data_collections": array_schema(STRING, optional=True)}
)
_HEADERS = (Header("connector", "test"),)

_ROWS = [
    (1, "Ada", b"\x01\x06", "paid", b"\x00\xff"),
    (2, "Žofie 😀", None, None, None),
    (3, None, b"\x80", "new", b""),
]


def change_events(*, templates: bool = False) -> list[Record]:
    """Events as a source sends them, in commit order.

    Reads, creates, updates, deletes with their tombstones, a changed key, a TRUNCATE, a table without a key, events
    with a transaction block, and events that are no changes: a transaction's end, a heartbeat, one without schemas.

    Args:
        templates: envelopes are made of a template for each operation, as in a rows event; else they are plain.
    """
    return [
        record.replace(position=f"{number:08d}", timestamp=1_700_000_000_000 + number)
        for number, record in enumerate(_events(_of_templates if templates else _plain))
    ]


def _events(make: Any) -> Iterator[Record]:
    first, second, third = _ROWS
    yield from make("r", [(None, row) for row in _ROWS])
    yield from make("c", [(None, first), (None, second)])
    yield from make("u", [(first, (1, "Ada L.", *first[2:])), (second, second)])
    for deleted in make("d", [(third, None)]):
        yield deleted
        yield deleted.replace(value=None)
    yield from make("c", [(None, (4, *first[1:]))], headers=(*_HEADERS, Header("key", Struct(_KEY, (1,)), _KEY)))
    yield from make("c", [(None, second)], block=Struct(_BLOCK, ("tx-1", 1)))
    yield from (record.replace(key=None) for record in make("c", [(None, first)]))
    yield from (record.replace(key=None) for record in make("t", [(None, None)]))
    yield Record("test.transaction", None, Struct(_END, ("END", [TOPIC])), _HEADERS)
    yield Record("heartbeat.test", None, Struct(_BEAT, (7,)))
    yield Record("test.plain", SchemaAndValue(None, {"id": 1}), SchemaAndValue(None, {"any": ["thing", None]}))


def _plain(
    op: str, changes: list[tuple[Any, Any]], block: Struct | None = None, headers: tuple[Header, ...] = _HEADERS
) -> Iterator[Record]:
    for number, change in enumerate(changes):
        rows = [row and Struct(_ROW, row) for row in change]
        value = Struct(_ENVELOPE, (*rows, _source(number), block, op, 9))
        yield Record(TOPIC, _key(change), value, headers)


def _of_templates(
    op: str, changes: list[tuple[Any, Any]], block: Struct | None = None, headers: tuple[Header, ...] = _HEADERS
) -> Iterator[Record]:
    template = Template(_ENVELOPE, (None, None, _source(0), block, op, 9), ((0,), (1,), (2, _SOURCE.index["row"])))
    for number, change in enumerate(changes):
        rows = [row and Struct(_ROW, row) for row in change]
        yield Record(TOPIC, _key(change), TemplateStruct(template, (*rows, number)), headers)


def _source(row: int) -> Struct:
    return Struct(_SOURCE, ("1", "orders", 5, row))


def _key(change: tuple[Any, Any]) -> Struct:
    return Struct(_KEY, ((change[1] or change[0] or (0,))[0],))
