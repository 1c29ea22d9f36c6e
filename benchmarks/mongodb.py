"""MongoDB: a snapshot and a change stream, by cdckit and by Debezium where it is installed."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.debezium import Configured
from benchmarks.measured import Measured, System
from benchmarks.pipelines import Options
from benchmarks.systems import MONGODB_SNAPSHOT, MONGODB_STREAM
from benchmarks.usage import Usage, run
from servers.mongodb import MongoReplicaSet

Document = dict[str, Any]

_BATCH = 1000
_BEGIN = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True)
class Capture:
    """A connector configuration that every system reads, and the folder of its run."""

    folder: Path
    uri: str
    collection: str
    options: Options

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
            **dict(self.options),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "connector.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in options.items()))
        return path


@dataclass(frozen=True, slots=True)
class ToFile:
    """cdckit's direct runner under `--once`, with the file sink."""

    name: str
    options: Options

    def capture(self, pipeline: Configured, events: int) -> Usage:
        """Runs up to the stream's end, and counts what arrived.

        Raises:
            AssertionError: it delivered another number.
        """
        out = pipeline.folder / "out.jsonl"
        command = [
            *(sys.executable, "-m", "cdckit", "run", str(pipeline.write()), "--runner", "direct", "--once"),
            *("--set", f"state={pipeline.folder / 'state'}", "--sink", "file", "--set", f"sink.path={out}"),
        ]
        used = run(command, pipeline.log)
        with out.open("rb") as lines:
            found = sum(1 for _ in lines)
        if found != events:
            raise AssertionError(f"{self.name} delivered {found} events, {events} were expected")
        out.unlink()
        return used


class MongoBench:
    """Systems that do the same work one after another.

    Args:
        server: where the work is.
        systems: who does it.
        folder: where they keep their state.
    """

    def __init__(self, server: MongoReplicaSet, systems: Sequence[System[Configured]], folder: Path) -> None:
        self._server = server
        self._systems = systems
        self._folder = folder
        with server.client() as client:
            client.bench.create_collection("nothing")
        self._starts = {system.name: self._capture(system, "nothing", 0) for system in systems}

    def run(self, documents: int) -> Iterator[Measured]:
        """A snapshot of `documents`; then as many inserts, and updates of a quarter of them, while all are down."""
        self._insert(0, documents)
        for system in self._systems:
            yield self._measured(MONGODB_SNAPSHOT, system, documents)
        self._insert(documents, documents)
        with self._server.client() as client:
            client.bench.things.update_many({"_id": {"$lt": documents // 4}}, {"$set": {"price": 0.5}})
        for system in self._systems:
            yield self._measured(MONGODB_STREAM, system, documents + documents // 4)

    def _measured(self, scenario: str, system: System[Configured], events: int) -> Measured:
        used = self._capture(system, "things", events)
        return Measured(scenario, system.name, events, used, self._starts[system.name])

    def _capture(self, system: System[Configured], collection: str, events: int) -> Usage:
        folder = self._folder / f"{system.name}-{collection}".replace(" ", "-").replace(",", "")
        return system.capture(Capture(folder, self._server.uri, collection, system.options), events)

    def _insert(self, first: int, count: int) -> None:
        with self._server.client() as client:
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
