"""The sink `spark`: tables in a lake, written batch by batch."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JJavaError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import cdckit.tables.pyarrow_loaded  # noqa: F401 - before others load it
from cdckit import ConfigError, Finding, Images, MarkKind, RetriableSinkError, RowsRefusedError, SinkError
from cdckit.tables.comments import ToldComments
from cdckit.tables.context import Asked, TableContext
from cdckit.tables.delta.passing import passes as light_passes, reason as light_reason
from cdckit.tables.destinations import Names
from cdckit.tables.encoder import TableEncoder
from cdckit.tables.evolution import Evolution
from cdckit.tables.lake.data_files import FiledRows
from cdckit.tables.logged_marks import Logged
from cdckit.tables.made_tables import TablesGoneError
from cdckit.tables.marks import Mark
from cdckit.tables.passing import passes
from cdckit.tables.policy import Policy
from cdckit.tables.refused import RowsFoundError
from cdckit.tables.segments import Emptied, Segment, chosen, emptied, segments
from cdckit.tables.sink import RowEncoder, SparkTableSink
from cdckit.tables.sources import Sources, origin
from cdckit.tables.target import BatchId, Target
from cdckit.tables.workers import Workers
from cdckit_spark.catalog_target import CatalogTarget
from cdckit_spark.catalogs import check_catalog
from cdckit_spark.checks import check_place
from cdckit_spark.config import LakeConfig
from cdckit_spark.driver import PACKED_BYTES, DriverWriter, driver_writer
from cdckit_spark.few_packets import few_packets
from cdckit_spark.inference import Inference
from cdckit_spark.mirror import Mirror
from cdckit_spark.one_store import require_one_store
from cdckit_spark.packets import files_of, held, parted, rehearsed, tables_of
from cdckit_spark.reasons import reason
from cdckit_spark.refusals import Search, finding_rows, refused_rows, refuses_rows
from cdckit_spark.rows import TableRows
from cdckit_spark.shared_target import SharedTarget
from cdckit_spark.targets import DeltaTarget, ParquetTarget, SparkTarget
from cdckit_spark.waiting_changes import merge_waiting
from cdckit_spark.worker_files import filing

log = logging.getLogger("cdckit.spark")


BEGINS = frozenset({MarkKind.SNAPSHOT_BEGIN, MarkKind.CREATE, MarkKind.RENAME})
"""With these a source table's rows are all told from here on."""


class LakeSink(SparkTableSink):
    """Keeps a changelog or a mirror of every table."""

    follows_marks = True
    read_by_workers = True

    def __init__(self, config: LakeConfig) -> None:
        self.config = config
        self.needs_delta = config.format == "delta"
        self.mirrors = config.mode == "mirror"
        self.commit_interval_ms = config.commit_interval_ms
        self._names = Names()
        self._tables: dict[str, Evolution[SparkTarget]] = {}
        self._inferences: dict[str, Inference] = {}
        self._sources: dict[str, Sources] = {}
        self._identities: dict[str, str] = {}
        self._told: dict[str, ToldComments] = {}
        self._begun: set[str] = set()
        self._complete: set[str] = set()
        self._merged: set[str] = set()
        self._driver: DriverWriter | None = None
        self._seen_store = False
        self._pool: ThreadPoolExecutor | None = None

    @classmethod
    def check(cls, config: LakeConfig) -> Sequence[Finding]:
        """Looks for Java, and whether the tables' folder can be made where it is on this machine."""
        return [check_place(config)]

    def encoder(self) -> TableEncoder:
        """Typed rows, with columns about the change for a changelog."""
        config = self.config
        return TableEncoder(
            config.mode, config.unavailable_value_placeholder, config.declared_columns, inferred=config.infers_columns
        )

    def task_encoder(self, *, beside_driver: bool) -> RowEncoder:
        """Typed rows, sent through Spark or, where workers write files, put into these."""
        encoder, reached = self.encoder(), beside_driver or self.config.reaches_store
        return filing(encoder, self.config) if reached and self.config.filed_by_workers else encoder

    def open(self, session: SparkSession, context: TableContext) -> None:
        """Notes the session; tables are looked at when their first rows come.

        Raises:
            ConfigError: a mirror is wanted of a source whose updates do not carry whole rows; or the session has no
                such catalog.
        """
        check_catalog(session, self.config)
        if self.config.mode == "mirror" and context.partial_updates is not None:
            raise ConfigError(
                "sink.mode: 'mirror' needs whole rows, and the source sends only what an update has changed; "
                f"{context.partial_updates}",
                number="CDC2402",
            )
        self._session = session
        self._context = context
        self._opened = time.time()
        unfollowed = context.skipped - {"t"} if context.marks else context.skipped
        if self.config.mode == "mirror" and unfollowed:
            log.warning(
                "source.skipped.operations leaves out '%s', which the mirrors then do not follow; "
                "set it to 'none' for tables equal to the source's",
                ",".join(sorted(unfollowed)),
            )
        mirrors, behavior = self.config.mode == "mirror", self.config.behavior
        self._policy = Policy(mirrors, behavior, context.marks, commands=context.commands, replays=context.replays)
        self._driver = driver_writer(session, self.config)
        self.shares_folders = self._driver is not None and self._driver.shares_folders
        self._pool = ThreadPoolExecutor(self.config.tables_parallel, "cdckit-table")

    def write(self, packets: DataFrame, batch: int) -> int:
        """Writes the tables of a batch at the same time, and tells the first fault once all have ended."""
        # Each table is a job of its own over the same packets: read once, from the source.
        packets = packets.persist(StorageLevel.MEMORY_AND_DISK)
        number, asked = BatchId(f"{self._context.name}/{self._context.generation}", batch), self._context.asked()
        filed: list[FiledRows] = []
        try:
            self._see_store()
            tables = self._tables_of(packets)
            with self._context.writing_snapshot(set().union(*map(_begun, tables.values()))):
                for left in self._parts(tables, packets, filed):
                    while left := self._write_tables(left, number, asked):
                        pass
            return sum(rows.count for rows in tables.values())
        finally:
            self._context.made.save()
            packets.unpersist()
            for file in filed:
                file.discard()

    def _see_store(self) -> None:
        """Makes sure, once a start, that the driver's writer finds the store that Spark does."""
        place = None if self._driver is None else self._driver.place
        while place is not None and "://" in place and not self._seen_store:
            try:
                require_one_store(self._session, place, self.config.storage)
            except (Py4JJavaError, DeltaError, OSError) as error:
                by_spark = isinstance(error, Py4JJavaError)
                told = f"{place}: {reason(error) if by_spark else light_reason(error)}"
                if not (passes(error) if by_spark else light_passes(error)):
                    raise SinkError(told) from error
                self._context.pause(RetriableSinkError(told))
            else:
                self._seen_store = True

    def rehearse(self, packets: DataFrame) -> None:
        """Has Java compile what every batch is asked."""
        packets = packets.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            few_packets(packets)
            rehearsed(packets)
        finally:
            packets.unpersist()

    def _tables_of(self, packets: DataFrame) -> dict[str, TableRows]:
        """The tables of a batch; with their rows, where these are few and the driver may write them."""
        if self._driver is None:
            return tables_of(packets)
        few = few_packets(packets, self._driver.files)
        return tables_of(packets, self._driver.files) if few is None else few

    def _parts(
        self, tables: dict[str, TableRows], packets: DataFrame, filed: list[FiledRows]
    ) -> Iterator[dict[str, TableRows]]:
        """The small tables with their rows, as many at a time as the driver holds; then those that Spark writes.

        Args:
            tables: what the batch has for each.
            packets: the batch's.
            filed: takes the data files among them.
        """
        driver = self._driver
        if driver is None:
            yield tables
            return
        small = {topic: rows for topic, rows in tables.items() if driver.takes(rows) and not self._left(topic)}
        for part in parted(small, 4 * PACKED_BYTES):
            whole = held(part, packets)
            filed += files_of(whole, packets)
            yield whole
        large = {topic: replace(rows, held=None) for topic, rows in tables.items() if topic not in small}
        filed += files_of(large, packets)
        yield large

    def _left(self, topic: str) -> bool:
        """Whether Spark alone is known to write a topic's table."""
        table = self._tables.get(topic)
        return table is not None and isinstance(table.target, SharedTarget) and table.target.left_to_spark

    def _write_tables(self, tables: dict[str, TableRows], number: BatchId, asked: Asked) -> dict[str, TableRows]:
        """Writes tables at the same time; gives those that are to be tried again, after the pause before that."""
        write = self._write_table
        assert self._pool is not None
        jobs = {topic: self._pool.submit(write, topic, rows, number, asked) for topic, rows in tables.items()}
        faults = {topic: error for topic, job in jobs.items() if (error := job.exception()) is not None}
        if gone := [error for error in faults.values() if isinstance(error, TablesGoneError)]:
            raise TablesGoneError.of(gone)
        for error in faults.values():
            if not isinstance(error, RetriableSinkError | RowsFoundError):
                raise error
        # What is known of a table may be older than it by now; tables that were written are not written again.
        for topic in faults:
            self._forget(topic)  # whoever came first may have changed it
        if found := [error for error in faults.values() if isinstance(error, RowsFoundError)]:
            raise RowsFoundError.of(found)
        passing = next(iter(faults.values()), None)
        if isinstance(passing, RetriableSinkError):
            self._context.pause(passing)
        return {topic: tables[topic] for topic in faults}

    def _table(self, topic: str) -> Evolution[SparkTarget]:
        """The table of a topic, which no other topic of this pipeline has."""
        if topic not in self._tables:
            target = self._target(topic)
            self._names.take(str(target) if self.config.database is None else str(target).lower(), topic)
            told = self._told.setdefault(topic, ToldComments())
            self._tables[topic] = Evolution(target, self._policy, told)
        return self._tables[topic]

    def _forget(self, topic: str) -> None:
        """Forgets what is known of a topic's table."""
        self._tables.pop(topic, None)
        self._inferences.pop(topic, None)
        self._sources.pop(topic, None)
        self._identities.pop(topic, None)

    def _seen(self, topic: str, rows: TableRows, number: BatchId, asked: Asked) -> tuple[Evolution[SparkTarget], bool]:
        """The table of a topic as it is now, and whether it is the one that was written before.

        Raises:
            SinkError: it is gone, and lacked rows if it was made anew.
        """
        table = self._table(topic)
        if isinstance(table.target, SharedTarget):
            table.target.look_again()
        if table.columns and not self._is_same(topic, table.target):
            self._forget(topic)
            table = self._table(topic)
        self._see_complete(topic, table.target)
        there = bool(table.present())
        another = there and topic not in self._identities and self._is_another(topic, table.target, number.application)
        if another or not there:
            self._context.made.require_told(table.target, topic, rows.marks, asked.requested, replaced=another)
        return table, there and not another

    def _is_same(self, topic: str, target: SparkTarget) -> bool:
        """Whether a table of which more is known is there still."""
        known = self._identities.get(topic)
        return target.exists() and (known is None or known == target.identity())

    def _is_another(self, topic: str, target: SparkTarget, application: str) -> bool:
        """Whether a table is not the one that was written before; one with a batch of this pipeline's is its own."""
        made = self._context.made
        another = made.remembers and made.is_another(topic, target.identity())
        return another and not target.has_batches_of(application)

    def _remember(
        self, topic: str, table: Evolution[SparkTarget], sources: Set[str], marks: Sequence[Mark], *, before: bool
    ) -> None:
        """Has it remembered whose rows are in a table."""
        there, identity = bool(table.columns), self._identities.get(topic)
        if there and identity is None and self._context.made.remembers:
            identity = table.target.identity()
        if identity is not None:
            self._identities[topic] = identity
        if isinstance(table.target, SharedTarget):
            table.target.keep_seen()
        self._context.made.wrote(topic, sources, marks, before=before, there=there, identity=identity)

    def _write_table(self, topic: str, rows: TableRows, number: BatchId, asked: Asked) -> None:
        table, marks = self._table(topic), rows.marks
        begun = _begun(rows)
        try:
            table, there = self._seen(topic, rows, number, asked)
            self._merge_waiting(topic, table)
            if self.mirrors and self._context.marks:
                self._require_begun(topic, table, rows)
            awaited = table.awaits(asked.read_again) - begun
            if awaited and self.mirrors:
                rows = rows.without(awaited)  # whatever they say, others replace them
            heads = ((head.position, head.layout) for head in rows.headings)
            log = Logged() if self.mirrors else table.logged(rows.marks, heads, asked.accepted, awaited)
            if not table.columns:
                of_mirror = self._sources_of(topic, table.target).first(rows.sources) if self.mirrors else {}
                table.first_notes = {**origin(self._context.name, rows.layouts), **of_mirror}
            if self.config.infers_columns:
                rows = self._followed(topic, table, rows)
            else:
                table.follow(rows.layouts, rows.marks, asked.accepted)
            rows = rows.shown(table.fitting)
            if self.config.mode == "mirror":
                self._mirror(topic, table, rows, number, asked.accepted)
            else:
                self._log(table, rows, log, number, asked.accepted)
            table.begun({name: one for name, one in asked.read_again.items() if name in begun})
            table.use({name: one for name, one in asked.accepted.items() if name in begun})
            sources = rows.sources | (self._sources_of(topic, table.target).own if there and self.mirrors else set())
            self._remember(topic, table, sources, marks, before=there)
        except (PySparkException, Py4JJavaError) as error:
            kind = RetriableSinkError if passes(error) else RowsRefusedError if refuses_rows(error) else SinkError
            raise kind(f"table {table.target}: {reason(error)}") from error
        except (DeltaError, OSError) as error:
            kind = RetriableSinkError if light_passes(error) else SinkError
            raise kind(f"table {table.target}: {light_reason(error)}") from error

    def _append(self, table: Evolution[SparkTarget], typed: DataFrame, number: BatchId) -> None:
        with self._finding(table, lambda rules: refused_rows(typed, rules)):
            table.target.append(typed, number)

    def _finding(self, table: Evolution[SparkTarget], search: Search) -> AbstractContextManager[None]:
        """Has rows looked for that the table refuses, where somebody wants to know."""
        return finding_rows(table.target, search) if self._context.finds_refused else nullcontext()

    def _see_complete(self, topic: str, target: SparkTarget) -> None:
        """Makes sure, once a start, that a table which is there has what the user wants of it."""
        if topic not in self._complete and isinstance(target, DeltaTarget):
            target.complete()
            self._complete.add(topic)

    def _merge_waiting(self, topic: str, table: Evolution[SparkTarget]) -> None:
        """Has changes come first, once a start, that another sink has left waiting beside a mirror."""
        if self.mirrors and topic not in self._merged and isinstance(table.target, DeltaTarget):
            merge_waiting(table, table.target, f"{self._context.name}/{self._context.generation}")
            self._merged.add(topic)

    def _require_begun(self, topic: str, table: Evolution[SparkTarget], rows: TableRows) -> None:
        """Makes sure that a mirror which is there was begun by this pipeline, or is begun with these rows."""
        if topic not in self._begun and table.present():
            self._sources_of(topic, table.target).begin(here=any(mark.kind in BEGINS for mark in rows.marks))
            self._begun.add(topic)

    def _sources_of(self, topic: str, target: Target) -> Sources:
        return self._sources.setdefault(topic, Sources(target, self._context.name))

    def _followed(self, topic: str, table: Evolution[SparkTarget], rows: TableRows) -> TableRows:
        """The rows with the columns that their documents have, which the table has then, too."""
        inference = self._inferences.setdefault(topic, Inference(table.target))
        wide = inference.widened(rows, table.columns or table.target.columns())
        table.follow(wide.layouts)
        inference.keep()
        return wide

    def _log(
        self,
        table: Evolution[SparkTarget],
        rows: TableRows,
        log: Logged,
        number: BatchId,
        accepted: Mapping[str, str],
    ) -> None:
        if log.rows and table.present():
            rows = rows.and_packets([group.packet() for group in log.rows])
        if rows.headings and not (self._driver and self._driver.append(table, rows, number)):
            self._append(table, rows.typed(table.columns, table.fitting), number)
        table.use({name: accepted[name] for name in log.used & accepted.keys()}, rows.marks)

    def _mirror(
        self, topic: str, table: Evolution[SparkTarget], rows: TableRows, number: BatchId, accepted: Mapping[str, str]
    ) -> None:
        target = table.target
        assert isinstance(target, DeltaTarget)
        told = [mark for mark in rows.marks if mark.told or not self._context.marks]
        marks, names = chosen(told, self._policy.behavior, table.accepts(accepted, told), target)
        used = {name: accepted[name] for name in names & accepted.keys()}
        if not table.present():
            table.use(used, told)
            return  # whatever happened to it, it has never had a row
        sources = self._sources_of(topic, target)
        here = rows.sources
        sources.add(here)
        parts = [(part, emptied(part.marks, sources.names, target)) for part in segments(marks)]
        for place, (part, gone) in enumerate(parts, 1):
            if any(later.whole is not None for _, later in parts[place:]):
                # Nothing of it stays, and the table may have other columns by then. Whether that is so may not count:
                # where the batch comes again the table has them already, and the rows behind it are not written anew.
                continue
            # Delta keeps the last number of each application: every part but the last has one of its own, so that a
            # batch which was broken off in the middle goes on with the part that is missing.
            once = number if place == len(parts) else BatchId(f"{number.application}/{place}", number.number)
            self._write_segment(table, rows, part, gone, once)
            if gone.whole is not None:
                sources.restart(here)
                table.written()
        table.use(used, told)

    def _write_segment(
        self, table: Evolution[SparkTarget], rows: TableRows, part: Segment, gone: Emptied, once: BatchId
    ) -> None:
        target = table.target
        assert isinstance(target, DeltaTarget)
        if self._driver is not None and self._driver.merge(table, rows, part, gone, once):
            return
        text = self.config.unavailable_value_placeholder
        rebuilt = table.comments if table.rebuilt else None
        mirror = Mirror(
            target,
            table.columns,
            once,
            text,
            table.fitting,
            rebuilt=rebuilt,
            older_may_come=self._context.older_may_come,
        )
        with self._finding(table, lambda rules: mirror.refused(rows, part, gone, rules)):
            mirror.write(rows, part, gone)

    def _target(self, topic: str) -> SparkTarget:
        if self._driver is not None and self.config.database is not None:
            return CatalogTarget(self._session, self.config, topic, self._driver.place, self._opened)
        if self._driver is not None:
            return SharedTarget(self._session, self.config, topic, self._driver.place, self._opened)
        if self.config.format == "delta":
            return DeltaTarget(self._session, self.config, topic, self._opened)
        return ParquetTarget(self._session, self.config, topic)

    def images(self) -> Images:
        """What reads the tables back, which `open` is not needed for."""
        from cdckit_spark.reading import DeltaImages, place_here  # noqa: PLC0415 - it loads pandas; most never read

        return DeltaImages(self.config, place_here(self.config))

    def images_on_spark(self, workers: Workers, *, always: bool) -> Images:
        """What has Spark read the tables that this process cannot, or all."""
        from cdckit_spark.reading_by_spark import images_by_workers  # noqa: PLC0415 - as above

        return images_by_workers(self.config, workers, always=always)

    def close(self) -> None:
        """Ends the writing threads."""
        if self._pool is not None:
            self._pool.shutdown()


def _begun(rows: TableRows) -> set[str]:
    """The source tables whose snapshot begins among the rows."""
    return {mark.table for mark in rows.marks if mark.kind is MarkKind.SNAPSHOT_BEGIN}
