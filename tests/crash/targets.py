"""Where the killed pipelines deliver, and what has arrived there."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from confluent_kafka import Consumer, KafkaException, TopicPartition

from kafka.reading import read_topics
from testkit.journal import TOMBSTONE, Change, Key
from testkit.servers.kafka import KafkaBroker

_BYTES_A_LINE = 800
_SECONDS = 60.0
"""So long a broker is waited for: whoever has lost it, as by a restart, tries again every 10 s at last."""
_RUN = "__debezium.context.runId"
_POSITION = "__cdckit.position"


class Arrived(NamedTuple):
    """A record as it has arrived: its parts out of JSON, a tombstone without value."""

    topic: str
    key: Any
    value: Any
    headers: Mapping[str, str]


class Delivered(NamedTuple):
    """A record of a table's change that has arrived.

    Attributes:
        run: tells the pipeline's runs apart.
        key: whose record it is.
        change: what it says.
        position: where it stands in commit order.
        file: the log file of its event; "" for a tombstone.
        pos: where in it the event begins.
    """

    run: str
    key: Key
    change: Change
    position: str
    file: str
    pos: int


class Target(ABC):
    """A sink that outlives the pipelines.

    Attributes:
        in_order: whether what a killed run has left there has no gap, records of different keys included.
    """

    in_order: ClassVar[bool] = True

    @property
    @abstractmethod
    def sink(self) -> dict[str, Any]:
        """The sink's options."""

    @abstractmethod
    def size(self) -> int:
        """About how many records there are now."""

    @abstractmethod
    def arrived(self, first: int = 0) -> Iterator[Arrived]:
        """All records, or those from number `first` on where a killed run leaves no gap; those of each key in order."""

    def delivered(self) -> Iterator[Delivered]:
        """All records as changes of tables."""
        return (_delivered(*record) for record in self.arrived())


class FileTarget(Target):
    """A file."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "out.jsonl"

    @property
    def sink(self) -> dict[str, Any]:
        """The sink's options."""
        return {"type": "file", "path": str(self._path)}

    def size(self) -> int:
        """By the file's size."""
        return self._path.stat().st_size // _BYTES_A_LINE if self._path.exists() else 0

    def arrived(self, first: int = 0) -> Iterator[Arrived]:
        """The file's lines; a last one that is broken off is none."""
        with self._path.open("rb") as lines:
            for line in islice(lines, first, None):
                if line.endswith(b"\n"):
                    record = json.loads(line)
                    headers = {header["key"]: header["value"] for header in record["headers"]}
                    yield Arrived(record["topic"], record["key"], record["value"], headers)


class KafkaTarget(Target):
    """A broker; each topic has three partitions, which are written independently."""

    in_order: ClassVar[bool] = False

    def __init__(self, broker: KafkaBroker, prefix: str) -> None:
        self._broker = broker
        self._prefix = prefix
        self._consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": prefix})

    @property
    def sink(self) -> dict[str, Any]:
        """The sink's options."""
        return {
            "type": "kafka",
            "bootstrap.servers": self._broker.bootstrap,
            "topic.creation.default.partitions": 3,
            "topic.creation.default.replication.factor": 1,
        }

    def size(self) -> int:
        """By the ends of the partitions."""
        return sum(self._end(TopicPartition(topic, number)) for topic in self._topics() for number in range(3))

    def _end(self, place: TopicPartition) -> int:
        try:
            ends = self._consumer.get_watermark_offsets(place, timeout=10)
        except KafkaException:  # a topic that was made just now has no leader yet
            return 0
        return ends[1] if ends else 0

    def arrived(self, first: int = 0) -> Iterator[Arrived]:
        """The topics' records, one partition after the other."""
        for record in read_topics(self._broker.bootstrap, self._topics()):
            headers = {name: (value or b"").decode() for name, value in record.headers}
            key, value = json.loads(record.key or b""), json.loads(record.value) if record.value else None
            yield Arrived(record.topic, key, value, headers)

    def _topics(self) -> list[str]:
        known = self._consumer.list_topics(timeout=_SECONDS).topics
        return sorted(topic for topic in known if topic.startswith(f"{self._prefix}."))


class ExactTarget(KafkaTarget):
    """Topics that transactions write; its size counts what is not committed, too, so that kills meet open ones."""

    def __init__(self, broker: KafkaBroker, prefix: str) -> None:
        super().__init__(broker, prefix)
        self._consumer = Consumer(
            {"bootstrap.servers": broker.bootstrap, "group.id": prefix, "isolation.level": "read_uncommitted"}
        )

    @property
    def sink(self) -> dict[str, object]:
        """The sink's options."""
        return {**super().sink, "delivery.guarantee": "exactly-once"}


def _delivered(topic: str, key: Mapping[str, int], value: Any, headers: Mapping[str, str]) -> Delivered:
    place = Key(topic.rpartition(".")[2], tuple(key.values()))
    run, position = headers[_RUN], headers[_POSITION]
    if value is None:
        return Delivered(run, place, TOMBSTONE, position, "", 0)
    row = value["before"] if value["op"] == "d" else value["after"]
    source = value["source"]
    return Delivered(run, place, Change(value["op"], row["token"]), position, source["file"], source["pos"])
