"""Where a measured pipeline delivers: how it is told so, how many events are there, and when each arrives."""

from __future__ import annotations

import json
import os
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
from confluent_kafka import OFFSET_END, Consumer, KafkaException, TopicPartition
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from pyarrow.parquet import read_table

from testkit.servers.kafka import KafkaBroker
from testkit.servers.object_store import ObjectStore
from testkit.servers.s3a import by_delta_rs, by_s3a

PARTITIONS = 4
"""Of every topic that is written."""
SECONDS = 10.0
"""How long the broker may take to answer a question."""

_KEY_IN_LINE = re.compile(rb'"key":\{"id":(\d+)\}')
_KEY = re.compile(rb'\{"id":(\d+)\}')


@dataclass(frozen=True, slots=True)
class Place:
    """One pipeline's place in a target: its folder, and its topic or a regular expression of its topics."""

    folder: Path
    topic: str


class Target(ABC):
    """A sink with its options, seen from outside."""

    settings: Mapping[str, str] = MappingProxyType({})
    """What a session of Spark needs to reach it."""

    @abstractmethod
    def arguments(self, place: Place) -> tuple[str, ...]:
        """The part of the command line that names it."""

    @abstractmethod
    def count(self, place: Place) -> int:
        """How many events are there; 0 before the first."""

    @abstractmethod
    def size(self, place: Place) -> int:
        """How many bytes they take there."""

    def noted(self, place: Place) -> int:
        """How many bytes the target takes for what it notes of each commit; none by default."""
        return 0

    def clear(self, place: Place) -> None:
        """Drops what is there, where that saves space; nothing by default."""

    def arrivals(self, place: Place) -> Iterator[Iterable[int]]:
        """The ids of rows whose events arrive from now on, as they come; nothing, again and again, while none do.

        Raises:
            NotImplementedError: this target is not watched event by event.
        """
        raise NotImplementedError(f"{type(self).__name__} is not watched event by event")


class FileTarget(Target):
    """The file sink."""

    def arguments(self, place: Place) -> tuple[str, ...]:
        """The part of the command line that names it."""
        return ("--sink", "file", "--set", f"sink.path={_file(place)}")

    def count(self, place: Place) -> int:
        """How many lines the file has."""
        if not _file(place).exists():
            return 0
        with _file(place).open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))

    def size(self, place: Place) -> int:
        """The file's."""
        return _file(place).stat().st_size

    def clear(self, place: Place) -> None:
        """Removes the file."""
        _file(place).unlink(missing_ok=True)

    def arrivals(self, place: Place) -> Iterator[Iterable[int]]:
        """The ids in the lines that are added."""
        begun = b""
        with _file(place).open("rb") as file:
            file.seek(0, os.SEEK_END)
            while True:
                lines, _, begun = (begun + file.read()).rpartition(b"\n")
                if not lines:
                    time.sleep(0.0005)
                yield map(int, _KEY_IN_LINE.findall(lines))


def _file(place: Place) -> Path:
    return place.folder / "out.jsonl"


class KafkaTarget(Target):
    """The Kafka sink."""

    def __init__(self, broker: KafkaBroker) -> None:
        self._broker = broker

    def arguments(self, place: Place) -> tuple[str, ...]:
        """The part of the command line that names it."""
        return (
            *("--sink", "kafka", "--set", f"sink.bootstrap.servers={self._broker.bootstrap}"),
            *("--set", f"sink.topic.creation.default.partitions={PARTITIONS}"),
        )

    @cached_property
    def _consumer(self) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self._broker.bootstrap,
                "group.id": "benchmark",
                "enable.auto.commit": False,
                "topic.metadata.refresh.interval.ms": 500,
            }
        )

    def count(self, place: Place) -> int:
        """How many messages the partitions of its topics hold."""
        try:
            ends = [self._consumer.get_watermark_offsets(each, SECONDS)[1] for each in self._partitions(place)]
        except KafkaException:  # its partitions have no leaders yet
            return 0
        return sum(ends)

    def size(self, place: Place) -> int:
        """That of the broker's files, which holds them as they were sent."""
        folders = (folder for folder in self._broker.datadir.iterdir() if folder.is_dir())
        named = (folder for folder in folders if re.fullmatch(f"(?:{place.topic})-\\d+", folder.name))
        return sum(file.stat().st_size for folder in named for file in folder.glob("*.log"))

    def _partitions(self, place: Place, offset: int = OFFSET_END) -> list[TopicPartition]:
        known = self._consumer.list_topics(timeout=SECONDS).topics
        return [
            TopicPartition(name, number, offset)
            for name, topic in known.items()
            if re.fullmatch(place.topic, name)
            for number in topic.partitions
        ]

    def arrivals(self, place: Place) -> Iterator[Iterable[int]]:
        """The ids in the keys of the messages that a consumer gets."""
        partitions = self._partitions(place)
        for each in partitions:
            each.offset = self._consumer.get_watermark_offsets(each, SECONDS)[1]
        self._consumer.assign(partitions)
        try:
            while True:
                messages = self._consumer.consume(1000, 0.01)
                yield [int(found[1]) for message in messages if (found := _KEY.search(message.key() or b""))]
        finally:
            self._consumer.unassign()

    def close(self) -> None:
        """Lets go of the consumer."""
        self._consumer.close()


class DeltaTarget(Target):
    """Delta tables.

    Args:
        sink: the sink that keeps them.
        mode: what they are.
        options: of the sink besides.
    """

    def __init__(
        self, sink: str = "spark", mode: str = "changelog", options: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._sink = sink
        self._mode = mode
        self._options = options

    def arguments(self, place: Place) -> tuple[str, ...]:
        """The part of the command line that names it."""
        return _named(self._sink, {"mode": self._mode, "path": str(_lake(place)), **self._options})

    def count(self, place: Place) -> int:
        """How many rows the tables' files hold, by their logs."""
        return sum(_in_files(str(folder), "num_records") for folder in _tables(place))

    def size(self, place: Place) -> int:
        """That of the tables' files, by their logs."""
        return sum(_in_files(str(folder), "size_bytes") for folder in _tables(place))

    def noted(self, place: Place) -> int:
        """The sizes of the tables' logs."""
        logs = (file for folder in _tables(place) for file in (folder / "_delta_log").rglob("*") if file.is_file())
        return sum(file.stat().st_size for file in logs)

    def arrivals(self, place: Place) -> Iterator[Iterable[int]]:
        """The ids in the files that are added, as soon as the table's log names them."""
        table = _lake(place) / place.topic
        version = DeltaTable(str(table)).version()
        while True:
            path = table / "_delta_log" / f"{version + 1:020}.json"
            if not path.exists():
                time.sleep(0.0005)
                yield ()
                continue
            version += 1
            actions = map(json.loads, path.read_text().splitlines())
            files = [table / action["add"]["path"] for action in actions if "add" in action]
            yield [number for file in files for number in read_table(file, columns=["id"])["id"].to_pylist()]


class StoreTarget(Target):
    """Delta changelogs in an object store that speaks S3.

    Args:
        store: the store, in which a bucket is made.
        sink: the sink that keeps them.
        alone: whether no more than Spark reaches the store.
    """

    def __init__(self, store: ObjectStore, sink: str, *, alone: bool = False) -> None:
        self.settings = by_s3a(store, "none")
        self._storage = by_delta_rs(store, "none")
        self._sink, self._alone = sink, alone
        store.make_bucket(sink)

    def arguments(self, place: Place) -> tuple[str, ...]:
        """The part of the command line that names it."""
        reached = {} if self._alone else {f"storage.options.{name}": text for name, text in self._storage.items()}
        return _named(self._sink, {"mode": "changelog", "path": self._lake(place), **reached})

    def count(self, place: Place) -> int:
        """How many rows the table's files hold, by its log."""
        return _in_files(f"{self._lake(place)}/{place.topic}", "num_records", self._storage)

    def size(self, place: Place) -> int:
        """That of the table's files, by its log."""
        return _in_files(f"{self._lake(place)}/{place.topic}", "size_bytes", self._storage)

    def _lake(self, place: Place) -> str:
        return f"s3a://{self._sink}/{place.folder.name}"


def _named(sink: str, options: Mapping[str, str]) -> tuple[str, ...]:
    return "--sink", sink, *(each for name, text in options.items() for each in ("--set", f"sink.{name}={text}"))


def _tables(place: Place) -> list[Path]:
    """The folders of its tables."""
    folders = _lake(place).iterdir() if _lake(place).exists() else ()
    return [folder for folder in folders if re.fullmatch(place.topic, folder.name)]


def _in_files(folder: str, what: str, storage: dict[str, str] | None = None) -> int:
    """A sum over the files of a table; 0 before there is one."""
    try:
        table = DeltaTable(folder, storage_options=storage)
    except TableNotFoundError:
        return 0
    return sum(pa.table(table.get_add_actions(flatten=True))[what].to_pylist())


def _lake(place: Place) -> Path:
    return place.folder / "lake"
