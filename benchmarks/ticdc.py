"""What decoding TiCDC's messages costs: `python -m benchmarks.ticdc [--messages 200000]`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from benchmarks.report import machine
from cdckit_ticdc.decoding.decoder import DecoderOptions
from cdckit_ticdc.decoding.protocols import Protocol, make_decoder
from cdckit_ticdc.definitions import Definitions
from cdckit_ticdc.message import Message

_DISTINCT = 2000
_FIRST_TS = 447507027002130437
_TYPES = {
    "id": ("int64", "bigint", -5),
    "user_id": ("int64", "bigint", -5),
    "status": ("string", "varchar", 12),
    "amount": ("double", "decimal", 3),
    "note": ("string", "varchar", 12),
    "items": ("int32", "int", 4),
}
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of message.

    Attributes:
        name: for the table.
        protocol: TiCDC's name of it.
        key: a row's key as text.
        value: a row before and after an update as text.
    """

    name: str
    protocol: Protocol
    key: Callable[[Row], Any]
    value: Callable[[int, Row, Row], Any]


def _row(number: int, note: str) -> Row:
    return {
        "id": number, "user_id": number * 7, "status": "paid", "amount": number / 100, "note": note,
        "items": number % 9,
    }  # fmt: skip


def _source(commit_ts: int) -> Row:
    return {
        "version": "2.4.0.Final", "connector": "TiCDC", "name": "default", "ts_ms": commit_ts >> 18,
        "snapshot": "false", "db": "shop", "table": "orders", "server_id": 0, "gtid": None, "file": "", "pos": 0,
        "row": 0, "thread": 0, "query": None, "commit_ts": commit_ts, "cluster_id": "default",
    }  # fmt: skip


def _envelope(commit_ts: int, before: Row, after: Row) -> Row:
    return {
        "source": _source(commit_ts), "ts_ms": commit_ts >> 18, "transaction": None, "op": "u", "before": before,
        "after": after,
    }  # fmt: skip


def _fields(names: tuple[str, ...] = tuple(_TYPES)) -> list[Row]:
    return [{"type": _TYPES[name][0], "optional": name != "id", "field": name} for name in names]


def _envelope_schema() -> Row:
    row = {"type": "struct", "optional": True, "name": "default.shop.orders.Value", "fields": _fields()}
    members = [{**row, "field": "before"}, {**row, "field": "after"}, {"type": "string", "field": "op"}]
    return {"type": "struct", "optional": False, "name": "default.shop.orders.Envelope", "fields": members}


def _canal(commit_ts: int, before: Row, after: Row) -> Row:
    return {
        "id": 0, "database": "shop", "table": "orders", "pkNames": ["id"], "isDdl": False, "type": "UPDATE",
        "es": commit_ts >> 18, "ts": commit_ts >> 18, "sql": "",
        "sqlType": {name: code for name, (_, _, code) in _TYPES.items()},
        "mysqlType": {name: text for name, (_, text, _) in _TYPES.items()},
        "old": [{name: str(value) for name, value in before.items()}],
        "data": [{name: str(value) for name, value in after.items()}],
        "_tidb": {"commitTs": commit_ts},
    }  # fmt: skip


SHAPES = [
    Shape(
        "debezium, without schemas",
        "debezium",
        lambda row: {"payload": {"id": row["id"]}},
        lambda ts, before, after: {"payload": _envelope(ts, before, after)},
    ),
    Shape(
        "debezium, with schemas",
        "debezium",
        lambda row: {"payload": {"id": row["id"]}, "schema": {"type": "struct", "fields": _fields(("id",))}},
        lambda ts, before, after: {"payload": _envelope(ts, before, after), "schema": _envelope_schema()},
    ),
    Shape("canal-json, TiDB extension", "canal-json", lambda row: None, _canal),
]


@click.command()
@click.option("--messages", default=200_000, show_default=True, help="How many messages of each kind are decoded.")
@click.option("--rounds", default=3, show_default=True, help="How often; the best counts.")
def main(messages: int, rounds: int) -> None:
    """Decode updates of a table of six columns to records, in one process."""
    table = Table(title=f"Decoding TiCDC's messages to records ({machine()})")
    for column in ("messages", "bytes each", "messages/s", "µs each"):
        table.add_column(column, justify="left" if column == "messages" else "right")
    for shape in SHAPES:
        made = messages_of(shape)
        best = min(_seconds(shape, made, messages) for _ in range(rounds))
        size = sum(len(message.key or b"") + len(message.value or b"") for message in made) // len(made)
        table.add_row(shape.name, str(size), f"{messages / best:,.0f}", f"{best / messages * 1e6:.1f}")
    Console().print(table)


def messages_of(shape: Shape) -> list[Message]:
    """Some messages that differ from each other."""
    made = []
    for number in range(_DISTINCT):
        before, after = _row(number, "left at the door"), _row(number, "handed over at the door")
        key = shape.key(after)
        value = shape.value(_FIRST_TS + number * 262144, before, after)
        made.append(Message("orders", 0, number, None if key is None else _text(key), _text(value)))
    return made


def _text(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _seconds(shape: Shape, made: list[Message], messages: int) -> float:
    decoder = make_decoder(shape.protocol, DecoderOptions(), Definitions(), None)
    rounds = messages // len(made)
    records = 0
    begin = time.process_time()
    for _ in range(rounds):
        for message in made:
            records += len(decoder.decode(message))
    spent = time.process_time() - begin
    assert records == rounds * len(made)
    return spent


if __name__ == "__main__":
    main()
