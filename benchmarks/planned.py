"""The part of `benchmarks.planning` that a revision does by itself: this file is run, with the revision's packages."""

from __future__ import annotations

import json
import pickle
import sys
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from cdckit.api.source import SourceContext
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.source import MySqlSource

USER = PASSWORD = "bench"
PARALLELISM = 4
BATCHES = 4
"""The backlog is cut into so many batches."""


def _sources(folder: Path, port: int, metadata: bool, marks: bool = False) -> tuple[Any, Any]:
    """A planner's source with its state, and its configuration."""
    options = {
        "topic.prefix": "p", "database.hostname": "127.0.0.1", "database.port": port, "database.user": USER,
        "database.password": PASSWORD, "database.include.list": "bench", "snapshot.mode": "no_data",
        "include.schema.changes": False, "provide.transaction.metadata": metadata,
    }  # fmt: skip
    config, _ = MySqlConfig.load(options, "source")
    state = SqliteStateStore(folder)
    known = {field.name for field in fields(SourceContext)}
    source = MySqlSource(config)
    spool: dict[str, Any] = {"spool": folder / "spool"} if "spool" in known else {}
    source.open(SourceContext("p", state, marks=marks, **spool))
    return source, config


def prepare(folder: Path, port: int, tables: int) -> None:
    """Begins where the log stands now, with so many captured tables more in the schema history."""
    source, _ = _sources(folder, port, False)
    [split] = source.plan(source.initial_offset(), None)
    offset = [batch.offset for batch in source.read(split)][-1]
    state = source._state
    state.save_offset(offset)
    history, at = SchemaHistory(state), LogOffset.from_json(offset).position
    known = history.tables_at(at)
    [model] = [table for table in known if table.name == "t"]
    for number in range(tables):
        known.put(replace(model, name=f"other_{number}"))
    history.start(at, known)
    source.close()
    state.close()


def measure(folder: Path, port: int, metadata: bool, marks: bool) -> dict[str, float]:
    """What it takes to plan and to read everything up to the log's end, with transaction metadata or table marks."""
    source, config = _sources(folder, port, metadata, marks)
    reader = MySqlSource(config)
    reader.open(SourceContext("p", marks=marks))
    at = source._state.load_offset()
    end = source.latest_offset(at)
    size = source.lag_bytes(at)
    largest = records = batches = pieces_read = 0
    longest = 0.0
    reading, started, wall = 0.0, time.process_time(), time.perf_counter()
    waited = 0.0
    while at != end:
        asked = time.perf_counter()
        stop = source.cut(at, end, size // BATCHES)
        pieces = [pickle.dumps(split) for split in source.plan(at, stop, PARALLELISM)]
        waited += time.perf_counter() - asked
        begun = time.thread_time()
        largest = max(largest, *map(len, pieces))
        for piece in pieces:
            part = time.thread_time()
            for batch in reader.read(pickle.loads(piece)):
                records += sum(not record.topic.endswith("transaction") for record in batch.records)
            longest, pieces_read = max(longest, time.thread_time() - part), pieces_read + 1
        reading += time.thread_time() - begun
        at, batches = stop, batches + 1
    planning = time.process_time() - started - reading
    source.close()
    reader.close()
    return {
        "log": size, "records": records, "batches": batches, "split": largest, "planning": planning, "reading": reading,
        "waited": waited, "longest": longest, "splits": pieces_read, "wall": time.perf_counter() - wall,
    }  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1] == "prepare":
        prepare(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
        print("null")
    else:
        print(json.dumps(measure(Path(sys.argv[2]), int(sys.argv[3]), *(bool(int(on)) for on in sys.argv[4:6]))))
