"""The source `sqlite-log`: what the kit's `ConnectorSource` leaves to a database."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Any

from cdckit import Batch, Offset, PlainMode, Record, SourceError, Split
from cdckit.connector.incremental import IncrementalState
from cdckit.connector.snapshot_progress import SnapshotProgress
from cdckit.connector.source import ConnectorSource
from cdckit_sqlite.config import LogOffset, SqliteConfig
from cdckit_sqlite.events import Events
from cdckit_sqlite.log import Log, Table
from cdckit_sqlite.signalling import Signalling

_MODES = {
    "initial": PlainMode("first"),
    "initial_only": PlainMode("first", streams=False),
    "no_data": PlainMode("never"),
}
_POLL = 0.05


class LogLostError(SourceError):
    """Rows of the log that were not read are gone."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a split reads: rows of the log, or of some tables as they are."""

    tables: Mapping[str, Table]
    rows: tuple[str, ...] | None = None
    part: int = 0


class SqliteSource(ConnectorSource[SqliteConfig, LogOffset]):
    """Reads tables, then the log that triggers write."""

    lost_error = LogLostError
    tells_marks = False

    def __init__(self, config: SqliteConfig) -> None:
        super().__init__(config, LogOffset, config.chosen_mode(_MODES), unread=config.signal_data_collection)
        self._log = Log(config)
        self._events = Events(config)

    def close(self) -> None:
        """Lets go of the file, too."""
        super().close()
        self._log.close()

    def initial_offset(self) -> Offset:
        """A snapshot comes first."""
        return LogOffset(due=True).to_json()

    def readable(self) -> Sequence[str]:
        """The captured tables."""
        return [name for name in self._log.tables() if self._log.captures(name)]

    # -- what the kit asks

    def _start(self, at: LogOffset) -> LogOffset:
        self._log.tables()  # triggers stand before the first row is read
        if not at.snapshot_due and self._log.end() < at.number:
            raise SourceError(f"{self._config.database_path}: its log ends before {at.number}; is it another file?")
        if not at.snapshot_due and self._log.begin() > at.number + 1:
            raise LogLostError(f"{self._config.database_path}: rows of its log behind {at.number} are gone, unread")
        return at

    def _lost(self, error: SourceError) -> str:
        raise error

    def _snapshot_point(self, at: LogOffset) -> LogOffset:
        return LogOffset(number=self._log.end(), after_snapshot=True)

    def _log_end(self, at: LogOffset) -> LogOffset:
        return LogOffset(number=self._log.end())

    def _end_beyond(self, at: LogOffset) -> LogOffset | None:
        end = self._log_end(at)
        return end if end.number > at.number else None

    def _lies_before(self, at: LogOffset, end: LogOffset) -> bool:
        return at.number < end.number

    def _snapshot_split(self, start: Offset, at: LogOffset) -> Split:
        return Split(at.to_json(), at.to_json(), Work(self._log.tables(), self._chosen(at)))

    def _log_split(self, start: Offset, at: LogOffset) -> Split:
        return Split(start, None, Work(self._log.tables()))

    def _plan_chunks(self, start: Offset, end: Offset, parallelism: int) -> Sequence[Split]:
        tables, at = self._log.tables(), LogOffset.from_json(end)
        return [Split(start, end, Work(tables, (name,), part)) for part, name in enumerate(self._chosen(at))]

    def _plan_range(self, start: Offset, end: Offset, parallelism: int) -> Sequence[Split]:
        first, last = LogOffset.from_json(start).number, LogOffset.from_json(end).number
        parts = max(1, min(parallelism, last - first))
        bounds = [first + (last - first) * part // parts for part in range(parts + 1)]
        ends = [start, *({"number": bound} for bound in bounds[1:-1]), end]
        return [Split(a, b, Work(self._log.tables())) for a, b in pairwise(ends)]

    def bounded(self, split: Split, end: Offset) -> Sequence[Split]:
        """The same split, so that signals are heard even where nothing has come."""
        return [replace(split, end=end)]

    def _chosen(self, at: LogOffset) -> tuple[str, ...]:
        """Whose rows a snapshot reads."""
        if at.resnapshot is not None:
            return at.resnapshot.tables
        takes = self._mode.takes_data(offset_exists=False, in_progress=False)
        return tuple(name for name in self.readable() if takes and self._config.snapshot_takes(name))

    # -- reading

    def read(self, split: Split) -> Iterator[Batch]:
        """The split's batches."""
        work: Work = split.payload
        if work.rows is None:
            return self._follow(LogOffset.from_json(split.start), split.end, work)
        if split.start == split.end:
            return self._told.snapshot(self._snapshot(LogOffset.from_json(split.start), work), self._behind_snapshot)
        behind = LogOffset.from_json(split.end or {}).number
        return (Batch(records, None) for records in self._rows(work, behind))

    def _snapshot(self, at: LogOffset, work: Work) -> Iterator[Batch]:
        """All rows at one point. Tables that are read again leave the log where it is: what follows tells the rest."""
        self._log.query("BEGIN")
        try:
            number = at.number if at.resnapshot is not None else self._log.end()
            self._context.notices.snapshot_started(dict.fromkeys(work.rows or ()))
            for records in self._rows(work, number):
                yield Batch(records, None)
        finally:
            self._log.query("COMMIT")
        yield Batch([], LogOffset(number=number, resnapshot=at.resnapshot and at.resnapshot.finished()).to_json())

    def _rows(self, work: Work, behind: int) -> Iterator[list[Record]]:
        for part, name in enumerate(work.rows or (), work.part):
            if (table := work.tables.get(name)) is None:
                continue
            progress, rows = SnapshotProgress(self._context.notices, name, None), self._log.rows(table)
            while portion := list(islice(rows, self._config.max_batch_size)):
                yield self._events.reads(table, portion, behind, progress.rows, part)
                progress.read(len(portion))
            progress.finished()

    def _follow(self, at: LogOffset, end: Offset | None, work: Work) -> Iterator[Batch]:
        signals, last = self._signalling(at), None if end is None else LogOffset.from_json(end).number
        tables, number, idle_at = dict(work.tables), at.number, time.monotonic() + self._context.idle_seconds
        while not self._context.stopping():
            for records in signals.between_batches(number) if signals else ():
                yield Batch(records, None)
            changes = self._log.changes(number, last, tables, self._config.max_batch_size)
            found = [record for change in changes for record in self._records(change, tables[change.name], signals)]
            number = changes[-1].number if changes else number
            left = signals.snapshot.state.to_json() if signals else at.incremental
            done = last is not None and len(changes) < self._config.max_batch_size
            if done and not (signals and signals.snapshot.waits):
                reached = LogOffset.from_json(end or {}).with_changes(incremental=left)
                yield Batch(found, reached.to_json(), changes[-1].ms if changes else None)
                return
            if changes or time.monotonic() >= idle_at:
                yield Batch(
                    found, LogOffset(number=number, incremental=left).to_json(), changes[-1].ms if changes else None
                )
                idle_at = time.monotonic() + self._context.idle_seconds
            if not changes:
                time.sleep(_POLL)

    def _records(self, change: Any, table: Table, signals: Signalling | None) -> list[Record]:
        chunk = signals.changed(change) if signals else []
        return chunk + (self._events.change(table, change) if self._log.captures(change.name) else [])

    def _signalling(self, at: LogOffset) -> Signalling | None:
        if self._mailbox is None:
            return None
        state = IncrementalState.from_json(at.incremental)
        return Signalling(
            self._config, self._log, self._log.tables, self._events, self._mailbox, self._notifications, state
        )
