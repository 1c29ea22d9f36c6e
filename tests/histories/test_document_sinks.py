"""Random histories of MongoDB's collections into Kafka's topics and the direct runner's Delta tables.

Primaries are elected in mid-batch, and die with writes that are rolled back. What topics and changelogs come to, and
what mirrors hold, is what the collections have.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

import pytest
from deltalake import DeltaTable

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from histories.test_documents import Documents, document_text, failure_of, folded
from histories.unreplicated import UnreplicatedCollections, three_members
from kafka.reading import read_topics
from testkit.running import Pipeline
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mongodb import MongoReplicaSet

__all__ = ["three_members"]


class DeliveredCollections(UnreplicatedCollections):
    """Collections that the direct runner delivers to a sink of the test's own."""

    longest_wait: ClassVar[float] = 1.5

    @property
    @abstractmethod
    def sink(self) -> dict[str, Any]:
        """The sink's options."""

    def follow(self) -> None:
        """One run of the pipeline into the sink."""
        self.folder.mkdir(exist_ok=True)
        pipeline = Pipeline(self.folder, self.source, self.sink, {"serializer": {"schemas.enable": False}})
        DirectRunner(load_pipeline(pipeline.written())).run(once=True)


class Topics(DeliveredCollections):
    """Collections of which a broker has the events."""

    def __init__(
        self, replica_set: MongoReplicaSet, database: str, folder: Path, seed: int, broker: KafkaBroker
    ) -> None:
        super().__init__(replica_set, database, folder, seed)
        self.prefix = f"{database}-{folder.name}".replace(" ", "-")
        self._broker = broker

    @property
    def sink(self) -> dict[str, Any]:
        """The sink's options."""
        return {"type": "kafka", "bootstrap.servers": self._broker.bootstrap, "topic.creation.default.partitions": 3}

    def found(self) -> Documents:
        """What the topics come to."""
        topics = [topic for topic in self._broker.topics() if topic.startswith(f"{self.prefix}.")]
        return folded(
            {
                "topic": record.topic,
                "key": json.loads(record.key or b"null"),
                "value": json.loads(record.value or b"null"),
            }
            for record in read_topics(self._broker.bootstrap, topics)
        )


class Mirrors(DeliveredCollections):
    """Collections of which a lake has mirrors."""

    mode: ClassVar[str] = "mirror"

    @property
    def sink(self) -> dict[str, Any]:
        """The sink's options."""
        return {"type": "delta", "mode": self.mode, "path": str(self.folder / "lake")}

    def tables(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """The topics, and the rows of their tables."""
        for log in (self.folder / "lake").glob("*/_delta_log"):
            table = DeltaTable(log.parent)
            yield table.metadata().configuration["cdckit.topic"], table.to_pyarrow_table().to_pylist()

    def found(self) -> Documents:
        """The mirrors' rows."""
        found: Documents = {}
        for topic, rows in self.tables():
            documents = {(topic, row["id"]): document_text(row["document"]) for row in rows}
            assert len(documents) == len(rows), f"{topic} has a document twice"
            found |= documents
        return found


class Changelogs(Mirrors):
    """Collections of which a lake has the changes."""

    mode: ClassVar[str] = "changelog"

    def found(self) -> Documents:
        """What the changes come to."""
        found: Documents = {}
        for topic, rows in self.tables():
            places = [row["__position"] for row in rows]
            assert len(places) == len(set(places)), f"{topic} has a change twice"
            for row in sorted(rows, key=itemgetter("__position")):
                if row["__op"] == "d":
                    found.pop((topic, row["id"]), None)
                elif row["document"] is not None:  # else it was gone when its update was looked up
                    found[topic, row["id"]] = document_text(row["document"])
        return found


SINKS = ("kafka", "mirror", "changelog")
SMALL = 71, 72
"""The seeds of `make test`."""


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[] if seed in SMALL else pytest.mark.nightly) for seed in range(71, 101)]
)
def test_the_sink_equals_the_collections(
    three_members: MongoReplicaSet,
    unique_name: str,
    tmp_path: Path,
    seed: int,
    request: pytest.FixtureRequest,
    afterwards: ExitStack,
) -> None:
    afterwards.callback(three_members.drop_database, unique_name)

    def new(name: str) -> DeliveredCollections:
        folder = tmp_path / name
        sink = SINKS[seed % len(SINKS)]
        if sink == "kafka":
            return Topics(three_members, unique_name, folder, seed, request.getfixturevalue("kafka_broker"))
        return (Mirrors if sink == "mirror" else Changelogs)(three_members, unique_name, folder, seed)

    said = failure_of(new, elections=True)
    assert not said, said
