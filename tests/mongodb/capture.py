"""Runs the source as the direct runner does, and keeps what comes."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cdckit.api.batch import Batch
from cdckit.api.record import Offset, Record
from cdckit.api.source import SourceContext, Split
from cdckit.api.source_counts import SourceCounts
from cdckit.api.struct import Struct
from cdckit.connector.notifications import Notification
from cdckit.engine.runners.retries import Retries
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.errors import RetriableSourceError
from cdckit.testing.notices import RecordedNotices
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.source import MongoDbSource


class Capture:
    """A source that is stopped and started at will; what it read is kept."""

    def __init__(self, uri: str, **options: Any) -> None:
        named = {name.replace("_", "."): value for name, value in options.items()}
        self.options = {"topic.prefix": "t", "mongodb.connection.string": uri, **named}
        self.offset: Offset | None = None
        self.records: list[Record] = []
        self.heard = RecordedNotices()
        self.counts = SourceCounts(wanted=True)
        self._state = TemporaryDirectory()
        self.folder = Path(self._state.name)

    def config(self) -> MongoDbConfig:
        """The options as the source takes them."""
        return MongoDbConfig.load(self.options, "source")[0]

    @contextmanager
    def source(self, **context: Any) -> Iterator[MongoDbSource]:
        """The source, open."""
        source = MongoDbSource(self.config())
        state = SqliteStateStore(self.folder)
        inbox = self.folder / "signals"
        try:
            source.open(SourceContext("test", state, self.heard, inbox=inbox, counts=self.counts, **context))
            yield source
        finally:
            source.close()
            state.close()

    @property
    def notifications(self) -> list[Notification]:
        """All that were sent."""
        return self.heard.notifications

    def once(self, until: Callable[[], bool] = lambda: False) -> list[Record]:
        """Reads to the end of the stream as it is now, or `until`; gives what came."""
        before = len(self.records)
        with self.source(stopping=until) as source:
            at = self.offset if self.offset is not None else source.initial_offset()
            while splits := source.plan(at, None):
                bounded = splits
                if splits[0].end is None:
                    end = source.latest_offset(at)
                    bounded = source.bounded(splits[0], end)
                for split in bounded:
                    for batch in source.read(split):
                        self.take(batch)
                        if until():
                            return self.records[before:]
                if splits[0].end is None:
                    break
                at = self.offset or at
        return self.records[before:]

    def batches(self, parallelism: int = 2, max_bytes: int = 1 << 28, *, marks: bool = False) -> Iterator[list[Batch]]:
        """The batches that the Spark runner reads, up to the stream's end; each is kept once the next one is asked for.

        Each split is read by a source that has no state. A batch of the stream with nothing in it is kept and not
        told: members write a no-op of their own every ten seconds.
        """
        with self.source(marks=marks) as source:
            start = self.offset if self.offset is not None else source.initial_offset()
            while (whole := source.latest_offset(start)) != start:
                end = source.cut(start, whole, max_bytes)
                splits = source.plan(start, end, parallelism)
                batch = [part for split in splits for part in read_elsewhere(self.config(), split)]
                if source.owes_rows(start) or any(part.records or part.marks for part in batch):
                    yield batch
                self.offset = start = json.loads(json.dumps(end))

    def take(self, batch: Batch) -> None:
        """Keeps a batch; its offset goes through JSON as it does in a state store."""
        self.records += batch.records
        if batch.offset is not None:
            self.offset = json.loads(json.dumps(batch.offset))

    def follow(self, until: Callable[[], bool]) -> None:
        """Reads the open-ended stream `until`; while the servers are away it waits as its options say."""
        with self.source(stopping=until, idle_seconds=0.1) as source:
            retries = Retries(source.retry_schedule(), StopSignal())
            while not until():
                at = self.offset if self.offset is not None else source.initial_offset()
                try:
                    for split in source.plan(at, None):
                        for batch in source.read(split):
                            self.take(batch)
                            retries.progressed()
                except RetriableSourceError as error:
                    retries.pause(error)


def read_elsewhere(config: MongoDbConfig, split: Split) -> list[Batch]:
    """A split's batches, read as in another process: from pickles of the configuration and the split."""
    source = MongoDbSource(pickle.loads(pickle.dumps(config)))
    source.open(SourceContext("test", marks=True))
    try:
        return list(source.read(pickle.loads(pickle.dumps(split))))
    finally:
        source.close()


def change(record: Record) -> Struct:
    """The envelope of a record that has one."""
    assert isinstance(record.value, Struct)
    return record.value


def shown(record: Record) -> tuple[str | None, str, Any]:
    """A change as its operation, key and the document after it; a tombstone has no operation."""
    assert isinstance(record.key, Struct)
    key = record.key["id"]
    if record.value is None:
        return None, key, None
    envelope = change(record)
    after = envelope["after"]
    return envelope["op"], key, None if after is None else json.loads(after)
