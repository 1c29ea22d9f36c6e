"""Recordings of TiCDC's encoders, and this project's values as MySQL prints them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from cdckit import logical
from cdckit.api.record import Record
from cdckit.api.schema import Schema
from cdckit.api.struct import Struct
from cdckit_ticdc.decoding.decoder import Decoder
from cdckit_ticdc.message import Message
from cdckit_ticdc.reading.lines import read_line

DATA = Path(__file__).parents[1] / "data" / "ticdc"
_EPOCH = datetime(1970, 1, 1)
Row = dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Line:
    """One recorded message with what it stands for."""

    message: Message
    kind: str
    note: str
    expect: dict[str, Any] | None
    error: str | None


def lines(folder: str, scenario: str) -> Iterator[Line]:
    """A recording's lines in order."""
    path = DATA / folder / f"{scenario}.jsonl"
    for number, text in enumerate(path.read_bytes().splitlines()):
        found = json.loads(text)
        expect, error = found.get("expect"), found.get("encoder_error")
        yield Line(read_line(text, path.name, number), found["kind"], found.get("note", ""), expect, error)


def scenarios(folder: str) -> list[str]:
    return sorted(path.stem for path in (DATA / folder).glob("*.jsonl"))


def records_of(decoder: Decoder, message: Message) -> list[Record]:
    """The records that a message becomes, where it becomes nothing else."""
    found = decoder.decode(message)
    records = [event for event in found if isinstance(event, Record)]
    assert len(records) == len(found)
    return records


def envelope_of(record: Record) -> Struct:
    assert isinstance(record.value, Struct)
    return record.value


def change(decoder: Decoder, message: Message) -> tuple[str, Row | None, Row | None]:
    """Operation and rows of a message, as MySQL prints them; a key's change put together again."""
    values = [envelope_of(record) for record in records_of(decoder, message)]
    if len(values) == 2:
        gone, come = values
        assert (gone["op"], come["op"]) == ("d", "c")
        return "u", shown_row(gone["before"]), shown_row(come["after"])
    (value,) = values
    return value["op"], shown_row(value["before"]), shown_row(value["after"])


def shown_row(row: Struct | None) -> Row | None:
    if row is None:
        return None
    return {field.name: shown(field.schema, value) for field, value in zip(row.schema.fields, row.values, strict=True)}


def shown(schema: Schema, value: Any) -> str | None:
    """A value as MySQL prints it."""
    if value is None:
        return None
    show = _LOGICAL.get(schema.name or "")
    if show is not None:
        return show(value)
    if schema.name == logical.DECIMAL_NAME:
        return _decimal(value, int((schema.parameters or {})["scale"]))
    if schema.type == "boolean":
        return "0x01" if value else "0x00"
    if schema.type == "bytes":
        return f"0x{value.hex()}"
    return repr(value) if schema.type in {"float32", "float64"} else str(value)


def _decimal(value: bytes, scale: int) -> str:
    number = int.from_bytes(value, "big", signed=True)
    digits = str(abs(number)).zfill(scale + 1)
    text = f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
    return f"-{text}" if number < 0 else text


def _clock(at: datetime) -> str:
    return at.isoformat(" ")


def _time(value: int) -> str:
    seconds, fraction = divmod(abs(value), 1_000_000)
    text = f"{'-' if value < 0 else ''}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{fraction:06d}" if fraction else text


_LOGICAL: dict[str, Callable[[Any], str]] = {
    "io.debezium.time.Date": lambda value: (date(1970, 1, 1) + timedelta(days=value)).isoformat(),
    "io.debezium.time.MicroTime": _time,
    "io.debezium.time.Timestamp": lambda value: _clock(_EPOCH + timedelta(milliseconds=value)),
    "io.debezium.time.MicroTimestamp": lambda value: _clock(_EPOCH + timedelta(microseconds=value)),
    "io.debezium.time.ZonedTimestamp": lambda value: value.replace("T", " ").rstrip("Z"),
    "io.debezium.data.Bits": lambda value: f"0x{value[::-1].hex()}",
    "io.debezium.data.FloatVector": json.dumps,
}
