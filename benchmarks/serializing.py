"""Measures the serializers by themselves: `python -m benchmarks.serializing [--events 20000]`.

Recorded change events of Debezium's, keys, values and headers: CPU of this process an event, the best of its batches.
Events of one group share what a source gives them in common: their source block, operation and times. Kafka Connect's
JsonConverter and Confluent's AvroConverter stand beside where the peer's wheel and a JDK are; they know no groups.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from benchmarks import debezium, java_converters
from cdckit.api.plugins import config_model, find, make
from cdckit.api.record import Record
from cdckit.api.serializer import Serializer
from cdckit.api.struct import Struct, Template, TemplateStruct
from cdckit.connector.connect_json.reader import read_records
from cdckit.engine.runners.garbage import spare_collections
from testkit.servers.schema_registry import SchemaRegistry

RECORDED = Path(__file__).parents[1] / "tests" / "data" / "debezium" / "mysql97-mysql-3.6.3"
WORKLOADS = {"few columns": "dml-schema", "every type": "types"}
GROUPS = (1, 10, 200)
TIMES = 5
BATCH = 2000
"""So many events are written at once, with garbage collected as in a pipeline."""
SHOWN = ("JSON with schemas", "JSON", "Avro", "Protobuf")
JAVA = "Java's"


@click.command()
@click.option("--events", default=20_000, help="How many events.")
def main(events: int) -> None:
    """Measures serializers by themselves."""
    show(events)


def show(events: int) -> None:
    """Prints what each takes of an event."""
    report = Table("events", "in one group", *SHOWN, "Avro / JSON", title="µs an event")
    with SchemaRegistry().start() as registry:
        serializers = [
            _serializer("json"),
            _serializer("json", {"schemas.enable": False}),
            _serializer("avro", {"schema.registry.url": registry.url}),
            _serializer("protobuf", {"schema.registry.url": registry.url}),
        ]
        for name, scenario in WORKLOADS.items():
            for group in GROUPS:
                costs = _costs(serializers, scenario, group, events)
                shown = (f"{cost:.1f}" for cost in costs)
                report.add_row(name, str(group), *shown, f"{costs[2] / costs[1]:.2f}")
            if debezium.installed():
                theirs = java_converters.measured(list(_changes(scenario)), registry.url, events, TIMES)
                shown = (f"{cost:.1f}" for cost in theirs)
                report.add_row(name, JAVA, *shown, "", f"{theirs.avro / theirs.json:.2f}")
    Console().print(report)


def _serializer(name: str, options: dict[str, Any] | None = None) -> Serializer:
    registration = find("serializer", name)
    made: Serializer = make(registration, config_model(registration).load(options or {}, "serializer")[0])
    return made


def _costs(serializers: Sequence[Serializer], scenario: str, group: int, events: int) -> list[float]:
    """Microseconds of CPU an event, schemas known; each serializer in turn, so that all have the same machine."""
    recorded = cycle(_changes(scenario))
    for one in serializers:
        one.serialize([event for change in _changes(scenario) for event in _group(change, 1)])
    spare_collections()
    costs = [float("inf")] * len(serializers)
    for _ in range(max(TIMES, events // BATCH)):
        changes = list(islice(recorded, max(1, BATCH // group)))
        for number, one in enumerate(serializers):
            batch = [event for change in changes for event in _group(change, group)]
            began = time.process_time()
            one.serialize(batch)
            costs[number] = min(costs[number], (time.process_time() - began) / len(batch) * 1e6)
    return costs


def _changes(scenario: str) -> Iterator[Record]:
    for name in ("snapshot", "stream"):
        with (RECORDED / scenario / f"{name}.jsonl").open("rb") as lines:
            for record in read_records(lines):
                if isinstance(record.value, Struct) and record.value.get("after") is not None:
                    yield record


def _group(record: Record, size: int) -> list[Record]:
    """Events that are alike but for their rows, as of one event of the log."""
    value = record.value
    assert isinstance(value, Struct)
    source = value["source"]
    holes = ((0,), (1,), (value.schema.index["source"], source.schema.index["row"]))
    template = Template(value.schema, value.values, holes)
    fills = (value["before"], value["after"], source["row"])
    return [Record(record.topic, record.key, TemplateStruct(template, fills), position="00042") for _ in range(size)]


if __name__ == "__main__":
    main()
