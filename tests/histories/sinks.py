"""Where histories are delivered to, and what has arrived there as rows: files and topics; tables are in `lakes`."""

from __future__ import annotations

import json
import logging
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from histories.fold import POSITION, UNAVAILABLE, Event, Fold, in_order
from histories.rows import Row, Types, in_form
from kafka.reading import read_topics
from testkit.running import Pipeline, whole_lines
from testkit.servers.kafka import KafkaBroker

log = logging.getLogger(__name__)

KILLED_AFTER = 0.2, 2.0
"""How many seconds a pipeline lives that is killed."""
SHARD = "__dbz__physicalTableIdentifier"
SHARDS = r"(.*)\.shard_\d+"
LOGICAL = "shards"
ROUTER = {"type": "ByLogicalTableRouter", "topic.regex": SHARDS, "topic.replacement": rf"$1.{LOGICAL}"}


def logical(table: str) -> str:
    """The table that a table's rows go into."""
    return LOGICAL if table.startswith("shard_") else table


class Sink(ABC):
    """A sink of one history.

    Attributes:
        runner: which runner delivers there.
        schema_changes: whether changes of definitions arrive, too.
        signals: whether the pipeline takes them.
        others: options of the pipeline besides.
    """

    runner: ClassVar[str] = "direct"
    schema_changes: ClassVar[bool] = True
    signals: ClassVar[bool] = True
    others: ClassVar[Mapping[str, Any]] = {}

    @property
    @abstractmethod
    def options(self) -> dict[str, Any]:
        """The sink's options."""

    @abstractmethod
    def rows(self, tables: Mapping[str, Types]) -> dict[str, Counter[Row]]:
        """The rows that have arrived, by the source's tables that are there now."""

    def run(self, pipeline: Path) -> None:
        """Delivers all that there is, in this process."""
        DirectRunner(load_pipeline(pipeline)).run(once=True)

    def run_and_kill(self, pipeline: Pipeline, chance: Random) -> None:
        """Delivers in a process of its own, which is killed."""
        with pipeline.running("--once") as process:
            time.sleep(chance.uniform(*KILLED_AFTER))
            process.kill()

    def run_and_lose(self, pipeline: Pipeline, chance: Random, fail_over: Callable[[], None]) -> bool:
        """Delivers in a process of its own whose server dies, and which dies with it.

        Returns:
            whether it was at work when the server died.
        """
        with pipeline.running("--once") as process:
            time.sleep(chance.uniform(*KILLED_AFTER))
            at_work = process.process.poll() is None
            fail_over()
            process.kill()
        return at_work

    def disturb(self, what: str, chance: Random) -> None:
        """Does what happens between two deliveries, or notes what is to happen beside the next one.

        Raises:
            ValueError: it cannot happen here.
        """
        raise ValueError(f"{type(self).__name__} knows no {what}")


class Events(Sink):
    """A sink of events, which are folded."""

    @abstractmethod
    def events(self) -> Iterable[Event]:
        """All that have arrived, those of a key in their order."""

    def rows(self, tables: Mapping[str, Types]) -> dict[str, Counter[Row]]:
        """What the events come to.

        Raises:
            AssertionError: a key's events do not arrive in commit order, or events of a table in other topics than its.
        """
        fold = Fold()
        fold.take(in_order(self.events()))
        for table, topics in fold.topics.items():
            assert {topic.rpartition(".")[2] for topic in topics} == {logical(table)}, f"{table} in {topics}"
        return {
            name: in_form(types, fold.tables[name].rows()) if name in fold.tables else Counter()
            for name, types in tables.items()
        }


class File(Events):
    """Lines of a file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "out.jsonl"

    @property
    def options(self) -> dict[str, Any]:
        """The sink's options."""
        return {"type": "file", "path": str(self.path)}

    def events(self) -> Iterator[Event]:
        """The lines; a last one that is broken off is none."""
        for record in whole_lines(self.path) if self.path.exists() else ():
            headers = {header["key"]: header["value"] for header in record["headers"]}
            yield _event(record["topic"], 0, record["key"], record["value"], headers)


class Kafka(Events):
    """Topics of a broker, of three partitions each.

    Args:
        broker: the broker.
        prefix: what the topics' names begin with.
    """

    def __init__(self, broker: KafkaBroker, prefix: str) -> None:
        self.broker = broker
        self.prefix = prefix

    @property
    def options(self) -> dict[str, Any]:
        """The sink's options."""
        partitions = {"topic.creation.default.partitions": 3, "topic.creation.default.replication.factor": 1}
        return {"type": "kafka", "bootstrap.servers": self.broker.bootstrap, **partitions}

    def events(self) -> Iterator[Event]:
        """The topics' records, one partition after the other."""
        topics = [topic for topic in self.broker.topics() if topic.split(".")[0] == self.prefix]
        for record in read_topics(self.broker.bootstrap, topics):
            headers = {name: (value or b"").decode() for name, value in record.headers}
            key, value = (None if part is None else json.loads(part) for part in (record.key, record.value))
            yield _event(record.topic, record.partition, key, value, headers)


def _event(topic: str, partition: int, key: Any, value: Any, headers: Mapping[str, Any]) -> Event:
    names = headers.get(UNAVAILABLE) or ""
    absent = frozenset(filter(None, (names if isinstance(names, str) else names["payload"]).split(",")))
    return Event(topic, partition, key, value, headers.get(POSITION, ""), absent)
