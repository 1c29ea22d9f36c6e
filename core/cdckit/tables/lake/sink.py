"""What sinks have in common that keep tables in a lake, written batch by batch by the runner's own process."""

from __future__ import annotations

import json
import logging
import tempfile
from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from cdckit.api.held import Images
from cdckit.api.marks import MarkKind, RoutedMark
from cdckit.api.record import Offset, Record
from cdckit.errors import ConfigError, RetriableSinkError
from cdckit.tables.context import Asked, TableContext
from cdckit.tables.destinations import Names
from cdckit.tables.direct import BegunBatch, DirectTableSink
from cdckit.tables.encoder import TableEncoder
from cdckit.tables.lake.data_files import DataFile, FiledRows
from cdckit.tables.lake.faults import Faults
from cdckit.tables.lake.options import LakeOptions
from cdckit.tables.lake.record_bytes import about_bytes
from cdckit.tables.lake.rows import TableRows, WaitingRows
from cdckit.tables.lake.table import LakeTable
from cdckit.tables.lake.target import LakeTarget
from cdckit.tables.lake.written import Written
from cdckit.tables.layout import Layout
from cdckit.tables.made_tables import TablesGoneError
from cdckit.tables.marks import Mark
from cdckit.tables.pieces import REDEFINING, pieces
from cdckit.tables.refused import RowsFoundError
from cdckit.tables.sink import Packet
from cdckit.tables.target import BatchId

log = logging.getLogger("cdckit.tables")


FULL_BYTES = 8 << 20
"""About so much memory rows take before they are committed, or put into files where they must not be yet."""
FILED_BYTES = 1 << 20
"""So much those of one changelog take before they are put into a file, where they must not be committed yet."""
_GATHERED = 2000
"""So many records become columns together, or a few more; fewer where their values take `FULL_BYTES`."""


class LakeSink(DirectTableSink):
    """Keeps a changelog, a mirror or a history of every table.

    Args:
        config: its options.
    """

    faults: Faults
    keeps_batches = True

    @abstractmethod
    def _target(self, topic: str) -> LakeTarget:
        """The table of a topic."""

    @abstractmethod
    def images(self) -> Images:
        """What reads the tables back, which `open` is not needed for."""

    def __init__(self, config: LakeOptions) -> None:
        self.config = config
        self.mirrors = config.mode != "changelog"
        self.commit_interval_ms = config.commit_interval_ms
        self._encoder = TableEncoder(config.mode, config.unavailable_value_placeholder, config.declared_columns)
        self._judge = TableEncoder(config.mode, config.unavailable_value_placeholder, config.declared_columns)
        self._names = Names()
        self._generation = self._place = ""
        self._tables: dict[str, LakeTable] = {}
        self._waiting: dict[str, WaitingRows] = {}
        self._records: list[Record] = []
        self._bytes = self._in_records = 0
        self._written = Written((), self._last_batch)
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._pool: ThreadPoolExecutor | None = None

    def open(self, context: TableContext) -> None:
        """Notes the context; tables are looked at when their first rows come.

        Raises:
            ConfigError: a mirror is wanted of a source whose updates do not carry whole rows.
        """
        if self.mirrors and context.partial_updates is not None:
            raise ConfigError(
                f"sink.mode: '{self.config.mode}' needs whole rows, and the source sends only what an update has "
                f"changed; {context.partial_updates}"
            )
        self._context = context
        unfollowed = context.skipped - {"t"} if context.marks else context.skipped
        if self.mirrors and unfollowed:
            log.warning(
                "source.skipped.operations leaves out '%s', which the tables then do not follow; "
                "set it to 'none' for tables equal to the source's",
                ",".join(sorted(unfollowed)),
            )
        self._pool = ThreadPoolExecutor(self.config.tables_parallel, "cdckit-table")

    def begin(self, generation: str, begun: Sequence[BegunBatch]) -> None:
        """Forgets what waits, and what is known of tables, which others may have changed."""
        self._generation = generation
        self.look_again()
        self.drop()
        self._written = Written(begun, self._last_batch)

    def look_again(self) -> None:
        """Forgets what is known of tables, which others may have changed."""
        self._tables.clear()

    @property
    def _application(self) -> str:
        return f"{self._context.name}/{self._generation}"

    def _last_batch(self, topic: str) -> int | None:
        with self.faults.told(topic):
            return self._table(topic).last_begun(self._application)

    # -- what waits

    def last_begun(self, topic: str) -> int | None:
        """By the number that the table has."""
        return self._written.last(topic)

    def held(self, places: Mapping[str, Collection[int]]) -> None:
        """A table has what the last batch holds that it has."""
        self._written.held = places

    def write(self, records: Sequence[Record], marks: Sequence[RoutedMark], *, whole: bool = False) -> None:
        """Takes records and marks that the tables lack."""
        if self._written:
            records, marks = self._written.records(records), self._written.marks(marks)
        for piece in pieces(records, marks, REDEFINING):
            self._records += piece.records
            self._in_records += about_bytes(piece.records)
            if piece.cut is not None:
                self._gather()  # rows of before and behind the mark may have the same columns, and not the same places
            for routed in piece.marks:
                self._of(routed.topic).add_mark(self._encoder.seen(routed))
        if len(self._records) >= _GATHERED or self._in_records >= FULL_BYTES:
            self._gather()
            if whole and self.full:
                self._spill()
            elif whole and not self.mirrors:
                self._spill(FILED_BYTES)

    def take(self, packet: Packet) -> None:
        """Takes rows, or a mark, that another process has made with an encoder of these tables."""
        waiting = self._of(packet.topic)
        if packet.mark is not None:
            waiting.add_mark(Mark.loads(packet.mark))
            return
        layout = Layout.loads(packet.layout)
        if (file := DataFile.loads(packet.data)) is not None:
            files = self._table(packet.topic).target.files
            waiting.add_file(packet.position, layout, FiledRows(file, files))
            return
        from cdckit.tables.streams import rows_of  # noqa: PLC0415 - it loads pyarrow, as Spark has done

        for rows in rows_of(packet.data):
            waiting.add(packet.position, layout, rows)
            self._bytes += rows.nbytes
        if self.full:
            self._spill()

    def judge(self, records: Sequence[Record]) -> None:
        """Makes columns of the records by themselves."""
        groups, _ = self._judge.gathered(records)
        for group in groups:
            with self.faults.told(group.topic):
                group.batch()

    def _gather(self) -> None:
        """Makes columns of the records that have come: many at a time, as each batch of columns has its price."""
        groups, told = self._encoder.gathered(self._records)
        for group in groups:
            layout, batch = group.batch()
            self._of(group.topic).add(group.position, layout, batch)
            self._bytes += batch.nbytes
        for topic, mark in told:
            self._of(topic).add_mark(mark)
        self._records, self._in_records = [], 0

    def _of(self, topic: str) -> WaitingRows:
        waiting = self._waiting.get(topic)
        if waiting is None:
            waiting = self._waiting[topic] = WaitingRows()
        return waiting

    def _spill(self, least: int = 0) -> None:
        """Puts the rows of each table into files that take more bytes than so many."""
        for waiting in self._waiting.values():
            if waiting.bytes > least:
                waiting.spill(self._spilled)
        self._bytes = sum(waiting.bytes for waiting in self._waiting.values())

    @property
    def _spilled(self) -> Path:
        """The folder of these files."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="cdckit-lake-")
        return Path(self._folder.name)

    @property
    def waiting(self) -> bool:
        """Whether there are rows or marks, or a table is to be tended."""
        return bool(self._waiting or self._records) or any(table.due for table in self._tended)

    @property
    def _tended(self) -> Iterable[LakeTable]:
        """The tables for which something may be due though no rows come."""
        config = self.config
        return self._tables.values() if config.mirror_apply_interval_ms or config.optimize_interval_ms else ()

    @property
    def full(self) -> bool:
        """Whether rows take much memory."""
        return self._bytes >= FULL_BYTES

    def drop(self) -> None:
        """Forgets what waits."""
        for waiting in self._waiting.values():
            waiting.discard()
        self._waiting, self._records = {}, []
        self._bytes = self._in_records = 0
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    # -- commits

    def ends_at(self, offset: Offset | None) -> None:
        """Each commit notes it."""
        self._place = "" if offset is None else json.dumps(offset)

    def commit(self, number: int, *, again: bool = False) -> int:
        """Writes the tables at the same time, and tells the first fault once all have ended.

        Args:
            number: the batch's.
            again: whether tables may have the batch, which they then do not take once more.
        """
        self._gather()
        batch, asked = BatchId(self._application, number, self._place), self._context.asked()
        tables = {topic: waiting.taken() for topic, waiting in self._waiting.items()}
        try:
            with self._context.writing_snapshot(_begun(tables.values())):
                self._write_all(tables, batch, asked, again)
        finally:
            self._context.made.save()
        self.drop()
        for table in self._tended:
            if table.due:
                with self.faults.told(table.target.topic):
                    table.tend(self._application)
        return sum(rows.count for rows in tables.values())

    def _write_all(self, tables: dict[str, TableRows], batch: BatchId, asked: Asked, again: bool) -> None:
        if len(tables) == 1:
            for topic, rows in tables.items():
                self._write_table(topic, rows, batch, asked, again)
            return
        assert self._pool is not None
        write = partial(self._write_table, batch=batch, asked=asked, again=again)
        jobs = [self._pool.submit(write, topic, rows) for topic, rows in tables.items()]
        faults = [error for job in jobs if (error := job.exception()) is not None]
        found = [error for error in faults if isinstance(error, RowsFoundError)]
        gone = [error for error in faults if isinstance(error, TablesGoneError)]
        lasting = [error for error in faults if not isinstance(error, RetriableSinkError | RowsFoundError)]
        together = [RowsFoundError.of(found)] if found else []
        missed = [TablesGoneError.of(gone)] if gone else []
        for error in (*missed, *lasting, *together, *faults):
            raise error

    def _write_table(self, topic: str, rows: TableRows, batch: BatchId, asked: Asked, again: bool) -> None:
        with self.faults.told(topic):
            table = self._table(topic)
            table.target.finds_refused = self.names_refused or self._context.finds_refused
            table.write(rows, batch, asked, again=again)

    def _table(self, topic: str) -> LakeTable:
        """The table of a topic, which no other topic of this pipeline has."""
        table = self._tables.get(topic)
        if table is None:
            target = self._target(topic)
            self._names.take(str(target), topic)
            table = self._tables[topic] = LakeTable(target, self.config, self._context, self.faults.passes)
        return table

    def saved(self) -> None:
        """None of what was committed comes again."""
        if self._written:
            self._written = Written((), self._last_batch)
        self._context.made.save()

    def close(self) -> None:
        """Ends the writing threads, and removes the files of what waits."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        self.drop()


def _begun(tables: Iterable[TableRows]) -> set[str]:
    """The source tables whose snapshots begin."""
    marks = (mark for rows in tables for mark in rows.marks)
    return {mark.table for mark in marks if mark.kind is MarkKind.SNAPSHOT_BEGIN}
