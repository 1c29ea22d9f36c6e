"""The life of such a source: `ConnectorSource`, with all that a database of this kind can answer by numbers."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Generic, TypeVar

from cdckit.api.batch import Batch
from cdckit.api.checks import Unmatched
from cdckit.api.record import Offset, Record
from cdckit.api.retry_schedule import RetrySchedule
from cdckit.api.schema import Schema
from cdckit.api.source import Split
from cdckit.api.struct import Struct
from cdckit.connector.guardrail import check_guardrail
from cdckit.connector.heartbeat import Heartbeats
from cdckit.connector.include_lists import unmatched
from cdckit.connector.offset import NumberedOffset
from cdckit.connector.row_log.database import Change, Database, Table
from cdckit.connector.row_log.lost import LogLostError, lost
from cdckit.connector.row_log.options import RowLogOptions
from cdckit.connector.row_log.parts import TablePart, divided, rows_of
from cdckit.connector.row_log.reader import RowLogReader
from cdckit.connector.row_log.records import RowRecords
from cdckit.connector.snapshot_parts import estimate_of, share_out
from cdckit.connector.snapshot_progress import PartProgress, SnapshotProgress
from cdckit.connector.source import ConnectorSource
from cdckit.errors import SourceError

log = logging.getLogger("cdckit.connector")

Options = TypeVar("Options", bound=RowLogOptions)


@dataclass(frozen=True, slots=True)
class Work:
    """What a split reads: the log, or some tables as they are.

    Attributes:
        tables: those of the log.
        parts: what is read of them as it is, by its number in positions; None: the log.
    """

    tables: Mapping[str, Table]
    parts: Mapping[int, TablePart] | None = None


class RowLogSource(ConnectorSource[Options, NumberedOffset], Generic[Options]):
    """Reads tables, then the log.

    Args:
        config: the source's options.
        database: what is asked.
        source: the schema of the source block in events.
    """

    lost_error = LogLostError
    tells_marks = False

    def __init__(self, config: Options, database: Database, source: Schema) -> None:
        super().__init__(config, NumberedOffset, config.mode, unread=config.signal_data_collection)
        self._database = database
        self._records = RowRecords(config, source, self._source_block)
        self._anew = False
        self._told_of: Sequence[str] = ()

    @abstractmethod
    def _source_block(self, table: Table, snapshot: str, change: Change | None) -> Struct:
        """The source block of events.

        Args:
            table: the table.
            snapshot: `false`, `true` or `incremental`, for the block's field of that name.
            change: the row of the log; None for rows that were found.
        """

    def close(self) -> None:
        """Lets the connections go."""
        super().close()
        self._database.close()

    def initial_offset(self) -> Offset:
        """Before a snapshot, be it one that reads no rows and only notes the place."""
        return NumberedOffset(due=True).to_json()

    def check_offset(self, offset: Offset) -> None:
        """It must tell a number."""
        NumberedOffset.from_json(offset)

    def retry_schedule(self) -> RetrySchedule:
        """As often as `errors.max.retries` says."""
        longest = self._config.retriable_restart_connector_wait_ms / 1000
        return RetrySchedule(self._config.errors_max_retries, longest_wait=longest)

    def readable(self) -> Sequence[str]:
        """The captured tables that there are now."""
        return [name for name in self._database.tables() if self._config.captures(name)]

    def unmatched(self) -> Sequence[Unmatched]:
        """Of the list of tables."""
        return list(unmatched(self._config.table_include_list, self.readable(), "table.include.list"))

    # -- what the kit asks

    def _start(self, at: NumberedOffset) -> NumberedOffset:
        captured = self.readable()
        check_guardrail(self._config, len(captured))
        wanted = self._context.counts.wanted or self._context.notices.wants_definitions
        if wanted and captured != self._told_of:
            self._told_of = captured
            self._context.notices.captured(data_collections=captured)
        begin, end = self._database.log_bounds()
        if at.due or begin <= at.number <= end:
            self._anew = False
            return at
        log.warning("%s: a new snapshot is taken", self._lost(lost(self._config, at.number, begin)))
        return NumberedOffset(due=True)

    def _lost(self, error: SourceError) -> str:
        if not self._mode.on_data_error:
            raise error
        self._anew = True
        return str(error)

    def _log_end(self, at: NumberedOffset) -> NumberedOffset:
        return NumberedOffset(number=self._database.log_bounds()[1])

    def _snapshot_point(self, at: NumberedOffset) -> NumberedOffset:
        return self._log_end(at).with_changes(after_snapshot=True)

    def _end_beyond(self, at: NumberedOffset) -> NumberedOffset | None:
        end = self._log_end(at)
        return end if end.number > at.number else None

    def _lies_before(self, at: NumberedOffset, end: NumberedOffset) -> bool:
        return at.number < end.number

    def _snapshot_split(self, start: Offset, at: NumberedOffset) -> Split:
        tables = self._database.tables()
        whole = map(TablePart, self._chosen(at, tables))
        return Split(at.to_json(), at.to_json(), Work(tables, dict(enumerate(whole))))

    def _log_split(self, start: Offset, at: NumberedOffset) -> Split:
        return Split(start, None, Work(self._database.tables()))

    def _plan_chunks(self, start: Offset, end: Offset, parallelism: int) -> Sequence[Split]:
        tables = self._database.tables()
        chosen = [tables[name] for name in self._chosen(NumberedOffset.from_json(end), tables)]
        with self._database.consistent():
            # Borders of parts are drawn at one moment; rows may come and go between that and their reading, which the
            # log tells.
            parts = divided(self._database, chosen, parallelism)
        estimates = Counter[str]()
        for part in parts:
            estimates[part.table] += part.estimate
        self._context.notices.snapshot_started(data_collections=estimates)
        numbers = {part: number for number, part in enumerate(parts)}
        return [
            Split(start, end, Work(tables, {numbers[part]: part for part in group}), estimate_of(group))
            for group in share_out(parts, parallelism)
        ]

    def _plan_range(self, start: Offset, end: Offset, parallelism: int) -> Sequence[Split]:
        first, last = NumberedOffset.from_json(start).number, NumberedOffset.from_json(end).number
        parts = max(1, min(parallelism, last - first))
        between = [first + (last - first) * part // parts for part in range(1, parts)]
        ends = [start, *(NumberedOffset(number=number).to_json() for number in between), end]
        work = Work(self._database.tables())
        return [Split(*pair, work) for pair in pairwise(ends)]

    def bounded(self, split: Split, end: Offset) -> Sequence[Split]:
        """The split up to `end`; it is read even if nothing has come, for signals of other channels."""
        return [replace(split, end=end)]

    def _chosen(self, at: NumberedOffset, tables: Mapping[str, Table]) -> tuple[str, ...]:
        """The tables whose rows a snapshot reads."""
        if at.resnapshot is not None:
            return tuple(name for name in at.resnapshot.tables if name in tables)
        if not (self._anew or self._mode.takes_data(offset_exists=False, in_progress=False)):
            return ()
        return tuple(name for name in tables if self._config.captures(name) and self._config.snapshot_takes(name))

    # -- reading

    def read(self, split: Split) -> Iterator[Batch]:
        """The split's batches."""
        work: Work = split.payload
        start, end = (None if at is None else NumberedOffset.from_json(at) for at in (split.start, split.end))
        assert start is not None
        if work.parts is None:
            reader = RowLogReader(
                self._config,
                self._database,
                self._records,
                work.tables,
                self._context,
                self._notifications,
                self._mailbox,
                self._heartbeats,
            )
            batches = self._ranged(reader.follow(start, end))
            return batches if self._context.state is None else self._told.log(batches)
        if split.start == split.end or end is None:
            return self._told.snapshot(self._snapshot(start, work), self._behind_snapshot)
        return (Batch(records, None) for records in self._found(work, end.number, whole=False))

    def besides(self) -> Sequence[Record]:
        """The heartbeat, when it is time for one."""
        return self._heartbeats.due()

    @cached_property
    def _heartbeats(self) -> Heartbeats:
        """For as long as the source is open: a database that goes away does not put the next one off."""
        topic = self._records.topics.heartbeat
        return Heartbeats(topic, self._config.topic_prefix, self._config.heartbeat_interval_ms)

    def _snapshot(self, at: NumberedOffset, work: Work) -> Iterator[Batch]:
        """All rows at one point. Tables that are read again leave the log where it is: what follows tells the rest."""
        with self._database.consistent():
            number = at.number if at.resnapshot is not None else self._database.log_bounds()[1]
            names = [part.table for part in (work.parts or {}).values()]
            self._context.notices.snapshot_started(dict.fromkeys(names))
            for records in self._found(work, number, whole=True):
                yield Batch(records, None)
                if self._context.stopping():
                    return
        again = None if at.resnapshot is None else at.resnapshot.finished()
        yield Batch([], at.with_changes(number=number, due=False, resnapshot=again).to_json())

    def _found(self, work: Work, behind: int, *, whole: bool) -> Iterator[list[Record]]:
        """The records of rows as they are, of whole tables or of parts that others read the rest of."""
        notices = self._context.notices
        for number, part in (work.parts or {}).items():
            table, progress = work.tables[part.table], SnapshotProgress(notices, part.table, None)
            if not whole:
                progress = PartProgress(notices, part.table, part.number, part.of)
            for rows in rows_of(self._database, table, part, self._config.max_batch_size):
                yield self._records.found(table, rows, behind, progress.rows, number)
                progress.read(len(rows))
            progress.finished()
