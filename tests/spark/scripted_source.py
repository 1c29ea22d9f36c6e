"""A source whose log is a file of JSON lines, so that tests decide what happened and when.

A line is one change: `{"table", "columns": [[name, type]…], "key": [names], "op", "before", "after"}`; types are
Connect's, `?` before one makes it optional, and names of logical types are shortened (`decimal(10,2)`, `date` …).
A line `{"fault": "decode" | "away" | "source"}` makes the reader fail there; while there is a file
`away`, nobody can ask where the log ends. Lines of `snapshot.jsonl`, where there is
one, are the rows that a snapshot finds. A line `{"mark", "table", "columns", "key"}` is a table mark.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from cdckit import logical
from cdckit.api.batch import Batch
from cdckit.api.hookspecs import Registration
from cdckit.api.marks import MarkKind, TableExample, TableMark
from cdckit.api.record import Offset, Record
from cdckit.api.retry_schedule import RetrySchedule
from cdckit.api.schema import OPTIONAL_INT64, OPTIONAL_STRING, STRING, Schema, struct_schema
from cdckit.api.source import Source, SourceContext, Split
from cdckit.api.source_config import SourceConfig
from cdckit.api.struct import Struct
from cdckit.api.undecoded import Undecoded
from cdckit.connector.example_values import example_struct
from cdckit.errors import DecodeError, RetriableSourceError, SourceError

log = logging.getLogger("cdckit.scripted")

REGISTRATION = Registration(
    name="scripted",
    factory="spark.scripted_source:ScriptedSource",
    config="spark.scripted_source:ScriptedConfig",
    summary="changes from a file of JSON lines",
)

LOGICAL = {
    "date": ("int32", "io.debezium.time.Date"),
    "microtimestamp": ("int64", "io.debezium.time.MicroTimestamp"),
    "timestamp": ("int64", "io.debezium.time.Timestamp"),
    "microtime": ("int64", "io.debezium.time.MicroTime"),
    "zoned": ("string", "io.debezium.time.ZonedTimestamp"),
    "json": ("string", "io.debezium.data.Json"),
}


class ScriptedConfig(SourceConfig):
    """Options of the scripted source."""

    folder: Path
    """The folder of `log.jsonl` and `snapshot.jsonl`."""
    lines_per_batch: int = 100
    """How many lines a batch of `read` holds."""
    cut_at: int | None = None
    """How many lines a batch of a runner takes at the most, whatever their bytes."""
    waited_for: bool = False
    """Whether it is waited for at the start, too."""
    attempts: int = -1
    """How many attempts make up a round; rounds follow each other without end."""
    marks: bool = False
    """Whether table marks are told."""


class ScriptedSource(Source):
    """Reads the script."""

    def __init__(self, config: ScriptedConfig) -> None:
        self.config = config
        self.tells_marks = config.marks
        self.log = config.folder / "log.jsonl"
        self.snapshot = config.folder / "snapshot.jsonl"

    def open(self, context: SourceContext) -> None:
        self.context = context

    def retry_schedule(self) -> RetrySchedule:
        return RetrySchedule(self.config.attempts, first_wait=0.5, restarts=-1, at_start=self.config.waited_for)

    def initial_offset(self) -> Offset:
        return {"line": 0, "snapshot": True} if self.snapshot.exists() else {"line": 0}

    def latest_offset(self, start: Offset, wait_seconds: float = 0.0) -> Offset:
        deadline = time.monotonic() + wait_seconds
        if "snapshot" in start:
            return {"line": 0}
        while (end := self._end()) == start["line"] and time.monotonic() < deadline:
            time.sleep(0.02)
        return {"line": end}

    def _end(self) -> int:
        if (self.config.folder / "away").exists():
            raise RetriableSourceError("the source is away")
        return len(_lines(self.log))

    def cut(self, start: Offset, end: Offset, max_bytes: int) -> Offset:
        if "snapshot" in start or self.config.cut_at is None:
            return end
        return {"line": min(end["line"], start["line"] + self.config.cut_at)}

    def plan(self, start: Offset, end: Offset | None, parallelism: int = 1) -> Sequence[Split]:
        if "snapshot" in start:
            return _parts(0, len(_lines(self.snapshot)), parallelism if end else 1, {"line": 0})
        if end is None:
            return [Split(start, None)]
        for number, text in enumerate(_lines(self.log)[start["line"] : end["line"]], start["line"]):
            if "ddl" in (line := json.loads(text)):
                self.context.notices.schema_changed(position=f"s{number:012d}", ddl=line["ddl"], tables=())
        return _parts(start["line"], end["line"], parallelism, None)

    def read(self, split: Split) -> Iterator[Batch]:
        first, last = split.start["line"], split.end["line"] if split.end else None
        lines = _lines(self.snapshot if split.payload else self.log)[first:last]
        step = self.config.lines_per_batch
        for at in range(0, len(lines), step):
            part = lines[at : at + step]
            records = [r for n, text in enumerate(part, first + at) for r in self._decoded(text, n, split)]
            log.info("read %d lines", len(records))
            marks = self._marks(part, first + at, bool(split.payload))
            yield Batch(records, split.payload or {"line": first + at + len(part)}, marks=marks)
        while split.end is None and not self.context.stopping():
            yield Batch((), {"line": first + len(lines)})
            time.sleep(0.02)

    def _decoded(self, text: str, number: int, split: Split) -> list[Record]:
        line = json.loads(text)
        if "undecodable" not in line:
            return _records(text, number, bool(split.payload))
        if self.context.undecoded is None:
            raise DecodeError(f"line {number}: cannot be decoded")
        position, topic = _position(number, snapshot=False), f"script.shop.{line['undecodable']}"
        self.context.undecoded(Undecoded(position, topic, f"line {number}: no change", {"line": text.encode()}))
        return []

    def _marks(self, part: Sequence[str], first: int, snapshot: bool) -> list[TableMark]:
        if not self.context.marks or not self.tells_marks:
            return []
        said = [json.loads(text) for text in (*_lines(self.snapshot), *_lines(self.log))]
        tables = {line["table"]: _example(line) for line in said if "table" in line}
        return [mark for n, text in enumerate(part, first) for mark in _marks(text, n, snapshot, list(tables.values()))]

    def close(self) -> None:
        pass


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def _parts(first: int, last: int, count: int, snapshot: Offset | None) -> list[Split]:
    size = max(1, -(-(last - first) // count))
    return [Split({"line": at}, {"line": min(at + size, last)}, snapshot) for at in range(first, last, size)]


def _records(text: str, number: int, snapshot: bool) -> list[Record]:
    line = json.loads(text)
    if "fault" in line:
        _fail(line["fault"], number)
    if "ddl" in line or "mark" in line:
        return []
    columns = tuple((name, kind) for name, kind in line["columns"])
    envelope, key = _schemas(line["table"], columns, tuple(line["key"]))
    row = envelope.field("after").schema
    position = _position(number, snapshot)
    images = [_struct(row, line.get(part)) for part in ("before", "after")]
    source = Struct(envelope.field("source").schema, (1_700_000_000_000 + number, "shop", line["table"]))
    value = Struct(envelope, (*images, source, line["op"], 1_700_000_000_000 + number))
    image = line.get("after") or line.get("before")
    key_value = Struct(key, tuple(image[name] for name in line["key"])) if key and image else None
    topic = f"script.shop.{line['table']}"
    records = [Record(topic, key_value, value, (), f"{position}.0", None)]
    if line["op"] == "d" and line.get("tombstone", True):
        records.append(Record(topic, key_value, None, (), f"{position}.1", None))
    return records


def _position(number: int, snapshot: bool) -> str:
    return f"{'r' if snapshot else 's'}{number:012d}"


def _marks(text: str, number: int, snapshot: bool, tables: Sequence[TableExample]) -> list[TableMark]:
    line = json.loads(text)
    if "mark" not in line:
        return []
    position, kind = f"{_position(number, snapshot)}.0", MarkKind(line["mark"])
    return [
        TableMark(kind, position, _example(line), lambda: tables, previous=line["previous"], statement="a statement")
    ]


def _example(line: dict[str, Any]) -> TableExample:
    columns = tuple((name, kind) for name, kind in line["columns"])
    envelope, key = _schemas(line["table"], columns, tuple(line["key"]))
    records = []
    for number in (1, 2):
        row = example_struct(envelope.field("after").schema, number)
        source = Struct(envelope.field("source").schema, (0, "shop", line["table"]))
        key_value = Struct(key, tuple(row[name] for name in line["key"])) if key else None
        value = Struct(envelope, (None, row, source, "c", 0))
        records.append(Record(f"script.shop.{line['table']}", key_value, value))
    return TableExample(f"shop.{line['table']}", (records[0], records[1]))


def _fail(fault: str, number: int) -> None:
    if fault == "decode":
        raise DecodeError(f"line {number}: cannot be decoded")
    if fault == "away":
        raise RetriableSourceError(f"line {number}: the connection is gone")
    raise SourceError(f"line {number}: the source refuses")


def _struct(schema: Schema, values: dict[str, Any] | None) -> Struct | None:
    if values is None:
        return None
    return Struct(schema, tuple(_value(f.schema, values.get(f.name)) for f in schema.fields))


def _value(schema: Schema, value: Any) -> Any:
    if value is None or schema.type != "bytes":
        return value
    if schema.name == logical.DECIMAL_NAME:
        number = int(value.replace(".", ""))
        return number.to_bytes((number.bit_length() + 8) // 8, "big", signed=True)
    return bytes.fromhex(value)


@cache
def _schemas(table: str, columns: tuple[tuple[str, str], ...], key: tuple[str, ...]) -> tuple[Schema, Schema | None]:
    members = {name: _schema(kind) for name, kind in columns}
    row = struct_schema(f"script.{table}.Value", members, optional=True)
    source = struct_schema("Source", {"ts_ms": OPTIONAL_INT64, "db": STRING, "table": OPTIONAL_STRING})
    envelope = struct_schema(
        f"script.{table}.Envelope",
        {"before": row, "after": row, "source": source, "op": STRING, "ts_ms": OPTIONAL_INT64},
    )
    return envelope, struct_schema(f"script.{table}.Key", {n: members[n] for n in key}) if key else None


@cache
def _schema(kind: str) -> Schema:
    optional, kind = kind.startswith("?"), kind.removeprefix("?")
    if kind.startswith("decimal"):
        precision, scale = kind[8:-1].split(",")
        parameters = {"scale": scale, "connect.decimal.precision": precision}
        return Schema("bytes", optional=optional, name=logical.DECIMAL_NAME, version=1, parameters=parameters)
    base, name = LOGICAL.get(kind, (kind, None))
    return Schema(base, optional=optional, name=name)  # type: ignore[arg-type]
