"""Measures transforms, and the Java classes beside them: `python -m benchmarks.transforms [--rows 50000]`.

CPU a record, the best batch of five readings, on rows of ten columns, with garbage collected as in a pipeline.
Java is measured where the peer's wheel and a JDK are.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import zip_longest

import click
from rich.console import Console
from rich.table import Table as Report

from benchmarks import debezium
from benchmarks.java_transforms import measured
from benchmarks.report import machine
from cdckit import (
    BOOLEAN,
    FLOAT64,
    INT32,
    INT64,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    STRING,
    Header,
    Record,
    Schema,
    Struct,
    logical,
    struct_schema,
)
from cdckit.engine.chain import build_chain
from cdckit.engine.runners.garbage import spare_collections

READINGS = 5
BATCH = 2000
"""So many records pass through a transform at once, as in a pipeline."""
KAFKA = "org.apache.kafka.connect.transforms"
DEBEZIUM = "io.debezium.transforms"
CHAINS: tuple[tuple[str, dict[str, str]], ...] = (
    ("Cast$Value", {"spec": "id:int64,flag:string"}),
    ("DropHeaders", {"headers": "task"}),
    ("ExtractField$Key", {"field": "id"}),
    ("ExtractField$Value", {"field": "name"}),
    ("Filter", {}),
    ("Flatten$Value", {}),
    ("HeaderFrom$Value", {"fields": "id,name", "headers": "id,name", "operation": "copy"}),
    ("HoistField$Value", {"field": "row"}),
    ("InsertField$Value", {"topic.field": "topic", "timestamp.field": "at"}),
    ("InsertField$Value", {"static.field": "who", "static.value": "me"}),
    ("InsertHeader", {"header": "h", "value.literal": "12"}),
    ("MaskField$Value", {"fields": "name,email"}),
    ("RegexRouter", {"regex": "(.*)shop(.*)", "replacement": "$1store$2"}),
    ("ReplaceField$Value", {"exclude": "email,big", "renames": "name:title"}),
    ("SetSchemaMetadata$Value", {"schema.name": "other"}),
    ("TimestampConverter$Value", {"field": "dt", "target.type": "Timestamp", "unix.precision": "microseconds"}),
    ("TimestampConverter$Value", {"field": "dt", "target.type": "string", "format": "yyyy-MM-dd HH:mm:ss.SSS"}),
    ("TimestampRouter", {}),
    ("ValueToKey", {"fields": "name,email"}),
)
SCRIPTED: tuple[tuple[str, dict[str, str]], ...] = (
    ("Filter", {"language": "jsr223.groovy", "condition": "value.id >= 0 && value.name != 'x'"}),
    ("Filter", {"language": "jsr223.graal.js", "condition": "value.id >= 0 && value.name != 'x'"}),
    ("ContentBasedRouter", {"language": "jsr223.groovy", "topic.expression": "value.flag ? topic + '.even' : null"}),
)
"""Debezium's, which the peer's wheel does not bring."""
ROW = struct_schema(
    "s.shop.t.Value",
    {
        "id": INT32,
        "name": OPTIONAL_STRING,
        "email": OPTIONAL_STRING,
        "price": logical.decimal(2).as_optional(),
        "big": OPTIONAL_INT64,
        "d": FLOAT64,
        "dt": INT64,
        "ts": OPTIONAL_STRING,
        "flag": BOOLEAN,
        "e": Schema("string", optional=True, default="a"),
    },
)
KEY = struct_schema("s.shop.t.Key", {"id": INT32})
HEADERS = (Header("connector", "mysql", STRING), Header("task", "0", STRING))


@click.command()
@click.option("--rows", default=50_000, help="How many records.")
def main(rows: int) -> None:
    """Measures transforms by themselves."""
    show(rows)


def show(rows: int) -> None:
    """Prints what each takes of a record."""
    console = Console(width=120)
    report = Report("transform", "options", "µs", "Java's µs", title=f"Transforms ({machine()})")
    records = [_record(number) for number in range(rows)]
    theirs = measured([[(f"{KAFKA}.{n}", o)] for n, o in CHAINS], rows, READINGS) if debezium.installed() else []
    chains = [(f"{KAFKA}.{name}", options) for name, options in CHAINS]
    chains += [(f"{DEBEZIUM}.{name}", options) for name, options in SCRIPTED]
    for (name, options), there in zip_longest(chains, theirs):
        given = " ".join(f"{option}={value}" for option, value in options.items())
        taken = f"{_own(name, options, records):.2f}"
        report.add_row(name.rpartition(".")[2], given, taken, "" if there is None else f"{there:.2f}")
    console.print(report)


def _record(number: int) -> Record:
    moment = 1_700_000_000_000 + number * 17
    values = (
        number, f"name {number}", f"{number}@example.com", b"\x30\x39", number << 20, number / 7, moment * 1000,
        "2024-05-01T10:00:00Z", number % 2 == 0, None,
    )  # fmt: skip
    return Record("s.shop.t", Struct(KEY, (number,)), Struct(ROW, values), HEADERS, f"{number:020d}", moment)


def _own(name: str, options: dict[str, str], records: Sequence[Record]) -> float:
    chain = build_chain([{"type": name, **options}], {})
    batches = [records[at : at + BATCH] for at in range(0, len(records), BATCH)]
    found = []
    spare_collections()
    for _ in range(READINGS):
        for batch in batches:
            start = time.process_time()
            chain.apply(batch)
            found.append((time.process_time() - start) / len(batch))
    return min(found) * 1e6


if __name__ == "__main__":
    main()
