"""Small tables are written by the driver itself, by delta-rs: no job of Spark's for a few rows, or for workers' files.

A commit carries the batch's number as Spark's do, so that a table may change hands between two batches, or between two
tries of one: what is there is not written again. Whatever delta-rs cannot, Spark is left to do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from arro3.core import Table as Rows
from deltalake.exceptions import DeltaError
from pyspark.sql import SparkSession

from cdckit import CdcError
from cdckit.tables.delta.passing import passes, reason
from cdckit.tables.delta.places import is_misread
from cdckit.tables.delta.target import DeltaTarget
from cdckit.tables.evolution import Evolution
from cdckit.tables.lake import rows as light_rows
from cdckit.tables.lake.appending import append
from cdckit.tables.lake.arrow_types import arrow_schema
from cdckit.tables.lake.data_files import DataFiles
from cdckit.tables.lake.mirror import Mirror
from cdckit.tables.lake.rows import Held, Part
from cdckit.tables.layout import POSITION
from cdckit.tables.segments import Emptied, Segment
from cdckit.tables.target import BatchId
from cdckit_spark.catalogs import location_of_database
from cdckit_spark.config import LakeConfig
from cdckit_spark.folders import local_path
from cdckit_spark.rows import TableRows
from cdckit_spark.shared_target import SharedTarget
from cdckit_spark.targets import SparkTarget
from cdckit_spark.worker_files import shares_folders

log = logging.getLogger("cdckit.spark")

PACKED_BYTES = 8 << 20
"""So many bytes of a table's packets, which are compressed, the driver takes; at a time it holds four times that."""

_SPARKS_OWN = (
    "spark.databricks.delta.properties.defaults.",
    "spark.databricks.delta.autoCompact.",
    "spark.databricks.delta.optimizeWrite.",
    "spark.databricks.delta.commitInfo.",
    "spark.delta.logStore.",
)
"""Settings of a session that say how Spark makes and writes tables, which delta-rs does not know."""

Table = Evolution[SparkTarget]


class DriverWriter:
    """Writes rows that the driver holds.

    Args:
        config: the sink's.
        place: the folder of all tables, on this machine or in an object store.
        shares_folders: whether workers that reach it may put files there.
    """

    def __init__(self, config: LakeConfig, place: str, *, shares_folders: bool) -> None:
        self.place = place
        self.shares_folders = shares_folders
        self._config = config

    def takes(self, rows: TableRows) -> bool:
        """Whether there are few rows that are in no data file, whose old values need not be looked up."""
        few = rows.filed or rows.count <= self._config.small_batch_rows
        return few and rows.packed_bytes <= PACKED_BYTES and not any(head.layout.moved for head in rows.headings)

    def files(self, topic: str) -> DataFiles | None:
        """The data files of a topic's table, which need not be there yet; None where workers write none."""
        return DeltaTarget(self.place, self._config.storage, topic).files if self.shares_folders else None

    def append(self, table: Table, rows: TableRows, batch: BatchId) -> bool:
        """Adds rows to a changelog; gives whether that is done, or Spark is to do it."""

        def write(target: DeltaTarget) -> None:
            kept = light_rows.TableRows(rows.held or ())
            if rows.filed:
                append(target, kept, table.columns, table.fitting, batch)
            else:
                batches = kept.typed(table.columns, table.fitting)
                target.append(Rows.from_batches(list(batches), schema=arrow_schema(table.columns)), batch)

        return self._written(table, rows, batch, write)

    def merge(self, table: Table, rows: TableRows, part: Segment, gone: Emptied, batch: BatchId) -> bool:
        """Brings a mirror to the state behind a part of a batch; gives whether that is done, or Spark is to do it."""

        def write(target: DeltaTarget) -> None:
            text = self._config.unavailable_value_placeholder
            held = list(_within(rows.held or (), part))
            Mirror(target, table.columns, batch, text, table.fitting).write(light_rows.TableRows(held), gone)

        return not table.rebuilt and self._written(table, rows, batch, write, self._largest(rows))

    def _largest(self, rows: TableRows) -> int:
        """How large a mirror may be: a merge writes each file anew that has a row of the batch."""
        keyed = all(head.layout.key for head in rows.headings)
        # Rows without a key are looked for by all that they hold, one by one.
        return self._config.small_table_bytes if keyed else min(self._config.small_table_bytes, PACKED_BYTES)

    def _written(
        self,
        table: Table,
        rows: TableRows,
        batch: BatchId,
        write: Callable[[DeltaTarget], None],
        largest: int | None = None,
    ) -> bool:
        shared = table.target
        if rows.held is None or not isinstance(shared, SharedTarget) or (target := shared.light()) is None:
            return False
        if rows.filed and not target.takes_files:
            return False  # they are many
        try:
            if largest is not None and target.bytes > largest:
                return False
            found = target.version_of(batch.application)
            if found is None or found < batch.number:
                write(target)
        except (DeltaError, OSError, pa.ArrowException, ValueError, CdcError) as error:
            shared.look_again()
            if not passes(error):
                shared.leave_to_spark(reason(error))
            return False
        return True


def _within(parts: Iterable[Part], segment: Segment) -> Iterator[Part]:
    """The rows of a segment."""
    if segment.whole:
        yield from parts
        return
    for part in parts:
        for rows in map(pa.record_batch, part.batches):
            positions = rows.column(POSITION)
            here = pc.greater(positions, segment.after)
            if segment.until is not None:
                here = pc.and_(here, pc.less_equal(positions, segment.until))
            if (left := rows.filter(here)).num_rows:
                yield replace(part, batches=Held.of(left))


def driver_writer(session: SparkSession, config: LakeConfig) -> DriverWriter | None:
    """The writer of small tables; None where Spark is to write all.

    It does so where tables are no Delta tables in a folder of this machine or an object store that is reached without
    it, and where its settings say how.
    """
    if not config.written_by_driver:
        _tell_unused(config, "as 'small.batch.rows' or 'document.columns' leaves all to Spark")
        return None
    if own := sorted(name for name in session.conf.getAll if name.startswith(_SPARKS_OWN)):
        _tell_unused(config, f"as Spark alone writes tables by '{own[0]}'")
        return None
    named = config.place or location_of_database(session, config)
    place = named if named is None or config.reaches(named) else local_path(session, named)
    if place is None or is_misread(place):
        _tell_unused(config, f"as Spark alone writes into {named or config.database} in this run")
        return None
    return DriverWriter(config, place, shares_folders=shares_folders(session, config, place))


def _tell_unused(config: LakeConfig, why: str) -> None:
    if config.storage_options:
        log.warning("sink.storage.options is of no use, %s", why)
