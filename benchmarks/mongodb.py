"""MongoDB: a snapshot and a change stream, by cdckit and by Debezium where it is installed."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measured import Measured, System
from benchmarks.pipelines import Options, write_options
from benchmarks.systems import MONGODB_SNAPSHOT, MONGODB_STREAM
from benchmarks.targets import Place
from benchmarks.usage import Usage
from testkit.servers.mongodb import MongoReplicaSet

Document = dict[str, Any]

_BATCH = 1000
_BEGIN = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True)
class Capture:
    """The configuration of a MongoDB connector, and the folder of its run."""

    folder: Path
    uri: str
    collection: str
    options: Options

    @property
    def place(self) -> Place:
        """Where its events are in a target."""
        return Place(self.folder, f"b.bench.{self.collection}")

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
        return write_options(self.folder, options)


class MongoBench:
    """Systems that do the same work one after another.

    Args:
        server: where the work is.
        systems: who does it.
        folder: where they keep their state.
    """

    def __init__(self, server: MongoReplicaSet, systems: Sequence[System], folder: Path) -> None:
        self._server = server
        self._systems = systems
        self._folder = folder
        with server.client() as client:
            if "nothing" not in client.bench.list_collection_names():
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

    def _measured(self, scenario: str, system: System, events: int) -> Measured:
        used = self._capture(system, "things", events)
        return Measured(scenario, system.name, events, used, self._starts[system.name])

    def _capture(self, system: System, collection: str, events: int) -> Usage:
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
