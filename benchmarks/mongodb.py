"""MongoDB: snapshot and change stream, CPU an event and peak memory, with Debezium beside it where it is installed.

`python -m benchmarks.mongodb [SCALE]`, with `tests` on PYTHONPATH; scale 1 is 200,000 documents.
"""

from __future__ import annotations

import datetime
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import debezium
from benchmarks.usage import Usage, run
from servers.mongodb import MongoReplicaSet

Client = Any
Document = dict[str, Any]
Measure = Callable[["Capture", int], Usage]

_BATCH = 1000
_BEGIN = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True)
class Capture:
    """A connector configuration that both systems read, and the folder of its run."""

    folder: Path
    uri: str
    collection: str

    @property
    def log(self) -> Path:
        """Where the run's log goes."""
        return self.folder / "run.log"

    def write(self) -> Path:
        """Writes the configuration file."""
        options = {
            "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
            "topic.prefix": "b",
            "mongodb.connection.string": self.uri,
            "collection.include.list": f"bench.{self.collection}",
            "converter.schemas.enable": "false",
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "connector.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in options.items()))
        return path


def main() -> None:
    """Measures and prints."""
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    documents = int(200_000 * scale)
    systems: dict[str, Measure] = {"cdckit": _cdckit}
    if debezium.installed():
        systems["Debezium 3.6.3"] = debezium.Debezium("Debezium 3.6.3", ()).capture
    folder = Path(tempfile.mkdtemp(prefix="cdckit-bench-"))
    try:
        with MongoReplicaSet() as replica_set, replica_set.client() as client:
            for line in _measured(replica_set.uri, client, systems, folder, documents):
                print(line, flush=True)
    finally:
        shutil.rmtree(folder)


def _measured(uri: str, client: Client, systems: dict[str, Measure], folder: Path, documents: int) -> Iterator[str]:
    client.bench.create_collection("nothing")
    idle = {name: _run(name, measure, folder, uri, "nothing", 0) for name, measure in systems.items()}
    _insert(client, 0, documents)
    for name, measure in systems.items():
        yield _line("snapshot", name, documents, _run(name, measure, folder, uri, "things", documents), idle[name])
    _insert(client, documents, documents)
    client.bench.things.update_many({"_id": {"$lt": documents // 4}}, {"$set": {"price": 0.5}})
    events = documents + documents // 4
    for name, measure in systems.items():
        yield _line("stream", name, events, _run(name, measure, folder, uri, "things", events), idle[name])


def _insert(client: Client, first: int, count: int) -> None:
    for begin in range(first, first + count, _BATCH):
        client.bench.things.insert_many(
            _document(number) for number in range(begin, min(begin + _BATCH, first + count))
        )


def _document(number: int) -> Document:
    return {
        "_id": number,
        "name": f"customer {number}",
        "email": f"c{number}@example.com",
        "visits": number * 3,
        "price": number * 1.25,
        "seen": _BEGIN + datetime.timedelta(seconds=number),
        "tags": ["a", "b", "c"],
        "address": {"street": f"road {number}", "city": "Town", "zip": "12345"},
        "active": True,
        "note": "x" * 50,
    }


def _run(name: str, measure: Measure, folder: Path, uri: str, collection: str, events: int) -> Usage:
    capture = Capture(folder / name.replace(" ", "-") / collection, uri, collection)
    capture.write()
    return measure(capture, events)


def _line(scenario: str, name: str, events: int, used: Usage, idle: Usage) -> str:
    cpu = (used.cpu - idle.cpu) / events * 1e6
    rate = events / max(1e-9, used.wall - idle.wall)
    return f"{scenario:10} {name:16} {cpu:7.1f} µs CPU an event, {rate:9,.0f} events/s, {used.rss:5.0f} MiB"


def _cdckit(capture: Capture, _events: int) -> Usage:
    command = [
        *(sys.executable, "-m", "cdckit", "run", str(capture.write()), "--runner", "direct", "--once"),
        *("--set", f"state={capture.folder / 'state'}", "--sink", "file"),
        *("--set", f"sink.path={capture.folder / 'out.jsonl'}"),
    ]
    return run(command, capture.log)


if __name__ == "__main__":
    main()
