"""Kafka Connect's own converters, measured by a program of their own beside our serializers."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import debezium
from cdckit.api.plugins import config_model, find, make
from cdckit.api.record import Record

PROGRAM = Path(__file__).parent / "java" / "Converters.java"


class Measured(NamedTuple):
    """Microseconds of CPU an event: of JsonConverter, with schemas and without, and of AvroConverter."""

    json_with_schemas: float
    json: float
    avro: float


def measured(events: Sequence[Record], registry: str, count: int, readings: int) -> Measured:
    """What keys and values take, the best of some readings.

    Args:
        events: change events with schemas, which come in turn.
        registry: the schema registry's address.
        count: how many events a reading is.
        readings: how many times; twice as many, of which the first are to warm up.
    """
    with tempfile.TemporaryDirectory(prefix="cdckit-bench-") as folder:
        path = Path(folder) / "events.tsv"
        path.write_text("".join(_line(event) for event in events))
        jvm = ["java", "-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", f"{debezium.libraries()}/*"]
        command = [*jvm, str(PROGRAM), str(path), registry, str(count), str(readings)]
        told = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return Measured(*map(float, told.split()))


def _line(event: Record) -> str:
    """The topic, the key and the value as JSON with schemas."""
    registration = find("serializer", "json")
    serializer: Any = make(registration, config_model(registration).load({}, "serializer")[0])
    messages = serializer.serialize([event])
    parts = [json.dumps(json.loads(part)) if part else "" for part in (messages.keys[0], messages.values[0])]
    return "\t".join([event.topic, *parts]) + "\n"
