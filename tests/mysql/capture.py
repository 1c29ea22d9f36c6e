"""A source of the MySQL family with its state, driven as the runners drive one."""

from __future__ import annotations

import pickle
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from cdckit.api.batch import Batch
from cdckit.api.record import Offset, Record
from cdckit.api.source import SourceContext, Split
from cdckit.engine.runners.retries import Retries
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.errors import RetriableSourceError
from cdckit.testing.notices import RecordedNotices
from cdckit_mysql.config import MariaDbConfig, MySqlConfig
from cdckit_mysql.source import MySqlSource
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql_family import SQLServer


def config_for(server: SQLServer, **options: Any) -> MySqlConfig:
    """A configuration that reads `server` as `dbz`; options without dots have them for underscores."""
    model = MariaDbConfig if isinstance(server, MariaDBServer) else MySqlConfig
    given = {
        "topic_prefix": "p",
        "database_hostname": server.host,
        "database_port": server.port,
        "database_user": "dbz",
        "database_password": "dbz",
        "retriable_restart_connector_wait_ms": 100,
        "include_schema_changes": False,
        **options,
    }
    named = {name if "." in name else name.replace("_", "."): value for name, value in given.items()}
    config, _ = model.load(named, "source")
    return config


@dataclass
class Capture:
    """A pipeline without a sink: it keeps what it reads, and where it is."""

    config: MySqlConfig
    folder: Path
    heard: RecordedNotices = field(default_factory=RecordedNotices)
    stop: StopSignal = field(default_factory=StopSignal)
    spools: bool = False

    def __post_init__(self) -> None:
        self.state = SqliteStateStore(self.folder)
        self.source = MySqlSource(self.config)
        spool = self.folder / "spool" if self.spools else None
        context = SourceContext("p", self.state, self.heard, self.stop, idle_seconds=0.05, spool=spool)
        self.source.open(context)

    def offset(self) -> Offset:
        """Where reading goes on."""
        saved = self.state.load_offset()
        return saved if saved is not None else self.source.initial_offset()

    def once(self) -> list[Record]:
        """Everything up to the log's end, as the direct runner reads it under `--once`."""
        records: list[Record] = []
        while True:
            splits = self.source.plan(self.offset(), None)
            last = any(split.end is None for split in splits)
            if last:
                splits = self.source.plan(self.offset(), self.source.latest_offset(self.offset()))
            for split in splits:
                for batch in self.source.read(split):
                    records += batch.records
                    self.keep(batch.offset)
            if last or not splits:
                return records

    def follow(self) -> Iterator[Batch]:
        """The open-ended log from the kept offset on, again as the direct runner does it where the connection is lost.

        Batches are not kept; an empty one comes before each wait.
        """
        retries, at = Retries(self.source.retry_schedule(), self.stop), self.offset()
        while not self.stop():
            try:
                [split] = self.source.plan(at, None)
                retries.reached()
                for batch in self.source.read(split):
                    yield batch
                    retries.progressed()
                    at = batch.offset if batch.offset is not None else at
            except RetriableSourceError as error:
                self.heard.connection(connected=False, reason=str(error))
                yield Batch([], at)
                retries.pause(error)
            else:
                return

    def parallel(self, parallelism: int) -> list[list[Record]]:
        """One round as the Spark runner reads it: planned here, each split read by a source that has no state."""
        start = self.offset()
        end = self.source.latest_offset(start)
        splits = self.source.plan(start, end, parallelism)
        found = [read_elsewhere(self.config, split) for split in splits]
        self.keep(end)
        return found

    def batches(self, parallelism: int = 2, max_bytes: int = 1 << 28) -> Iterator[list[Record]]:
        """The batches that the Spark runner reads, up to the log's end; each is kept once the next one is asked for."""
        start = self.offset()
        while (whole := self.source.latest_offset(start)) != start:
            end = self.source.cut(start, whole, max_bytes)
            splits = self.source.plan(start, end, parallelism)
            yield [record for split in splits for record in read_elsewhere(self.config, split)]
            self.keep(end)
            start = end

    def keep(self, offset: Offset | None) -> None:
        """Makes an offset the one to go on from."""
        if offset is not None:
            self.state.save_offset(offset)

    def following(self) -> closing[Generator[Batch]]:
        """`follow`, whose connection is let go at the end of the context."""
        return closing(cast(Generator[Batch], self.follow()))

    def closing(self) -> closing[Capture]:
        """This capture, closed at the end of the context."""
        return closing(self)

    def close(self) -> None:
        """Lets go of everything."""
        self.source.close()
        self.state.close()


def read_elsewhere(config: MySqlConfig, split: Split) -> list[Record]:
    """A split's records, read as in another process: from pickles of the configuration and the split."""
    source = MySqlSource(pickle.loads(pickle.dumps(config)))
    source.open(SourceContext("p"))
    try:
        carried: Split = pickle.loads(pickle.dumps(split))
        return [record for batch in source.read(carried) for record in batch.records]
    finally:
        source.close()


def changes(records: Sequence[Record]) -> list[tuple[Any, ...]]:
    """Change events in short: operation, table, before, after; a tombstone is `("tombstone", topic, key)`."""
    return [_change(record) for record in records]


def _change(record: Record) -> tuple[Any, ...]:
    if record.value is None:
        return "tombstone", record.topic, record.key and record.key.to_dict()  # type: ignore[union-attr]
    value = record.value.to_dict()  # type: ignore[union-attr]
    return value["op"], value["source"]["table"], _values(value["before"]), _values(value["after"])


def _values(row: dict[str, Any] | None) -> tuple[Any, ...] | None:
    return None if row is None else tuple(row.values())
