"""A capture that listens to signals, driven as the direct runner drives one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cdckit.api.batch import Batch
from cdckit.api.record import Offset, Record
from cdckit.api.source import SourceContext, Split
from cdckit.connector.notifications import Notification
from cdckit.engine.runners.retries import Retries
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.errors import RetriableSourceError
from cdckit.testing.notices import RecordedNotices
from cdckit_mysql.source import MySqlSource
from mysql.capture import changes, config_for
from testkit.servers.mysql_family import SQLServer

SIGNALS = "CREATE TABLE signals (id VARCHAR(64) PRIMARY KEY, type VARCHAR(32) NOT NULL, data VARCHAR(2048));"


class Signalled:
    """A source that is stopped and started at will; what it read is kept.

    Attributes:
        options: those of the next start.
        records: everything that came.
        heard: everything that was told.
    """

    def __init__(self, server: SQLServer, database: str, folder: Path, **options: Any) -> None:
        self.server = server
        self.database = database
        self.folder = folder
        self.options = {
            "database_include_list": database,
            "signal_data_collection": f"{database}.signals",
            "signal_poll_interval_ms": 10,
            "incremental_snapshot_chunk_size": 7,
            "snapshot_mode": "no_data",
            **options,
        }
        self.records: list[Record] = []
        self.heard = RecordedNotices()
        self.offset: Offset | None = None
        self.batches = 0
        self._signals = 0

    def signal(self, kind: str = "execute-snapshot", **data: Any) -> str:
        """Writes a signal into the signal table; gives its id."""
        self._signals += 1
        named = {name.replace("_", "-"): value for name, value in data.items()}
        arguments = (f"s{self._signals}", kind, json.dumps(named))
        self.server.execute(f"INSERT INTO {self.database}.signals VALUES (%s, %s, %s)", arguments)
        return arguments[0]

    @contextmanager
    def source(self, until: Callable[[], bool]) -> Iterator[MySqlSource]:
        """The source, open."""
        state = SqliteStateStore(self.folder)
        source = MySqlSource(config_for(self.server, **self.options))
        inbox = self.folder / "signals"
        try:
            source.open(SourceContext("p", state, self.heard, until, idle_seconds=0.05, inbox=inbox))
            yield source
        finally:
            source.close()
            state.close()

    def once(self, most: int | None = None) -> list[Record]:
        """Reads to the end of the log as `--once` does, or `most` batches; gives what came."""
        return self._read(lambda: False, most, once=True)

    def follow(self, until: Callable[[], bool]) -> list[Record]:
        """Reads along the log `until`; gives what came."""
        return self._read(until, None, once=False)

    def _read(self, until: Callable[[], bool], most: int | None, *, once: bool) -> list[Record]:
        before, started = len(self.records), self.batches
        with self.source(until) as source:
            retries = Retries(source.retry_schedule(), StopSignal())
            while not until():
                try:
                    splits, last = self._planned(source, once=once)
                    for batch in (batch for split in splits for batch in source.read(split)):
                        self._take(batch, source)
                        retries.progressed()
                        if until() or (most is not None and self.batches - started >= most):
                            return self.records[before:]
                except RetriableSourceError as error:
                    retries.pause(error)
                else:
                    if last:
                        break
        return self.records[before:]

    def _planned(self, source: MySqlSource, *, once: bool) -> tuple[Sequence[Split], bool]:
        """What to read next, and whether it is the last."""
        at = self.offset if self.offset is not None else source.initial_offset()
        splits = source.plan(at, None)
        if not once or all(split.end is not None for split in splits):
            return splits, False
        end = source.latest_offset(at)
        return [part for split in splits for part in source.bounded(split, end)], True

    def _take(self, batch: Batch, source: MySqlSource) -> None:
        self.batches += 1
        self.records += batch.records
        if batch.offset is not None:
            self.offset = json.loads(json.dumps(batch.offset))
            source.committed(batch.offset)

    @property
    def notifications(self) -> list[Notification]:
        """All that were sent."""
        return self.heard.notifications

    def told(self) -> list[tuple[str, str]]:
        """The notifications in short."""
        return [(one.aggregate_type.split()[0], one.type) for one in self.notifications]

    def reads(self, table: str = "t") -> list[tuple[Any, ...]]:
        """The rows of a table that snapshots gave out."""
        found = changes([record for record in self.records if record.topic == f"p.{self.database}.{table}"])
        return [change[3] for change in found if change[0] == "r"]
