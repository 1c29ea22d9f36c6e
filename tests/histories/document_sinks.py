"""Where histories of collections are delivered to, and what has arrived there."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from cdckit.engine.runners.spark import SparkRunner
from histories.document_snapshots import between_marks
from histories.documents import Told, folded
from histories.elections import KILL, PLANNED, READ, ROLLBACK, STEPDOWN, WAITED
from histories.lakes import has_version
from kafka.reading import read_topics
from testkit.background import repeated
from testkit.running import whole_lines
from testkit.servers.kafka import KafkaBroker


class DocumentSink(ABC):
    """A sink of one history.

    Attributes:
        moments: when a primary can go, by how it does.
        source_ways: options of the source, each with the values of which a history has one.
        sink_ways: likewise of the sink.
        others: options of the pipeline besides.
        signals: whether the pipeline takes them.
    """

    moments: ClassVar[Mapping[str, Sequence[str]]] = {
        STEPDOWN: (PLANNED, READ),
        KILL: (PLANNED, READ),
        ROLLBACK: (PLANNED, READ, WAITED),
    }
    source_ways: ClassVar[Mapping[str, Sequence[Any]]] = {
        "max.batch.size": (3, 7, 2048),
        "snapshot.max.threads": (1, 1, 3),
    }
    sink_ways: ClassVar[Mapping[str, Sequence[Any]]] = {}
    others: ClassVar[Mapping[str, Any]] = {"runner": "direct", "serializer": {"schemas.enable": False}}
    signals: ClassVar[bool] = True
    chunk: ClassVar[int] = 5
    """How many documents a chunk of an incremental snapshot has."""

    @property
    @abstractmethod
    def options(self) -> dict[str, Any]:
        """The sink's options."""

    @abstractmethod
    def told(self) -> Told:
        """What has arrived.

        Raises:
            AssertionError: something is there twice, or in part.
        """

    def run(self, pipeline: Path) -> None:
        """Delivers all that there is."""
        DirectRunner(load_pipeline(pipeline)).run(once=True)

    def beside(self, act: Callable[[], None]) -> AbstractContextManager[None]:
        """Has something happen while collections are read again."""
        return between_marks(act)


class File(DocumentSink):
    """Lines of a file."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "out.jsonl"

    @property
    def options(self) -> dict[str, Any]:
        """See `DocumentSink`."""
        return {"type": "file", "path": str(self._path)}

    def told(self) -> Told:
        """What the events come to."""
        return folded(whole_lines(self._path) if self._path.exists() else ())


class Topics(DocumentSink):
    """Topics of a broker, of three partitions each."""

    def __init__(self, broker: KafkaBroker, prefix: str) -> None:
        self._broker = broker
        self._prefix = prefix

    @property
    def options(self) -> dict[str, Any]:
        """See `DocumentSink`."""
        return {"type": "kafka", "bootstrap.servers": self._broker.bootstrap, "topic.creation.default.partitions": 3}

    def told(self) -> Told:
        """What the events come to."""
        topics = [topic for topic in self._broker.topics() if topic.startswith(f"{self._prefix}.")]
        return folded(
            {
                "topic": record.topic,
                "key": json.loads(record.key or b"null"),
                "value": json.loads(record.value or b"null"),
            }
            for record in read_topics(self._broker.bootstrap, topics)
        )


Table = tuple[str, list[dict[str, Any]]]


class Tables(DocumentSink):
    """Delta tables of a lake."""

    mode: ClassVar[str]
    kind: ClassVar[str] = "delta"

    def __init__(self, folder: Path) -> None:
        self._lake = folder / "lake"

    @property
    def options(self) -> dict[str, Any]:
        """See `DocumentSink`."""
        return {"type": self.kind, "mode": self.mode, "path": str(self._lake)}

    def tables(self) -> Iterator[Table]:
        """The topics, and the rows of their tables."""
        for path in filter(has_version, self._lake.glob("*")):
            table = DeltaTable(path)
            yield table.metadata().configuration["cdckit.topic"], table.to_pyarrow_table().to_pylist()


class Mirror(Tables):
    """The direct runner's mirrors."""

    mode: ClassVar[str] = "mirror"

    def told(self) -> Told:
        """The rows."""
        told = Told()
        for topic, rows in self.tables():
            for row in rows:
                assert row["document"] is not None, f"{topic} has a row without a document: {row['id']}"
                told.take(topic, row["id"], row["document"], deleted=False)
            assert len({row["id"] for row in rows}) == len(rows), f"{topic} has a document twice"
        return told


class Changelog(Tables):
    """The direct runner's changelogs."""

    mode: ClassVar[str] = "changelog"

    def told(self) -> Told:
        """What the changes come to."""
        told = Told()
        for topic, rows in self.tables():
            places = [row["__position"] for row in rows]
            assert len(places) == len(set(places)), f"{topic} has a change twice"
            for row in sorted(rows, key=itemgetter("__position")):
                if row["__op"] == "t":
                    told.empty(topic)
                    continue
                told.take(topic, row["id"], row["document"], deleted=row["__op"] == "d")
        return told


class OnSpark(Tables):
    """Tables of a pipeline on Spark.

    Args:
        session: where it runs.
        folder: of the history.
    """

    kind: ClassVar[str] = "spark"
    moments: ClassVar[Mapping[str, Sequence[str]]] = {
        STEPDOWN: (PLANNED,),
        KILL: (PLANNED,),
        ROLLBACK: (PLANNED, WAITED),
    }
    source_ways: ClassVar[Mapping[str, Sequence[Any]]] = {"snapshot.batch.rows": (0, 40)}
    sink_ways: ClassVar[Mapping[str, Sequence[Any]]] = {"document.columns": ("", "inferred")}
    others: ClassVar[Mapping[str, Any]] = {"runner": "spark"}
    signals: ClassVar[bool] = False
    chunk: ClassVar[int] = 40  # each may be a batch, of seconds

    def __init__(self, session: SparkSession, folder: Path) -> None:
        super().__init__(folder)
        self._session = session

    def run(self, pipeline: Path) -> None:
        """Delivers all that there is."""
        SparkRunner(load_pipeline(pipeline)).run(once=True)

    def beside(self, act: Callable[[], None]) -> AbstractContextManager[None]:
        """From time to time: chunks are read in another process."""
        return repeated(act, 0.3)

    def tables(self) -> Iterator[Table]:
        """The topics, which the folders are named by, and the rows of their tables."""
        for path in filter(has_version, self._lake.glob("*")):
            rows = self._session.read.format("delta").load(str(path)).collect()
            yield path.name, [row.asDict() for row in rows]


class SparkMirror(OnSpark, Mirror):
    """Spark's mirrors."""


class SignalledMirror(SparkMirror):
    """The same where the planner takes signals, and so reads the stream in order."""

    signals: ClassVar[bool] = True


class SparkChangelog(OnSpark, Changelog):
    """Spark's changelogs."""


class SignalledChangelog(SparkChangelog):
    """The same where the planner takes signals."""

    signals: ClassVar[bool] = True
