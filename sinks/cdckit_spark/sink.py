"""The sink `spark`: tables in a lake, written batch by batch."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from py4j.protocol import Py4JJavaError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from cdckit.errors import ConfigError, SinkError
from cdckit.spark.tables import RowEncoder, SparkTableSink, TableContext
from cdckit_spark.config import LakeConfig
from cdckit_spark.encoder import TableEncoder
from cdckit_spark.evolution import Evolution
from cdckit_spark.inference import Inference
from cdckit_spark.mirror import write_mirror
from cdckit_spark.rows import TableRows, tables_of
from cdckit_spark.targets import BatchId, DeltaTarget, ParquetTarget, Target

log = logging.getLogger("cdckit.spark")

GENERATION = "generation"
"""The note of a mirror that says which checkpoint first wrote it, or last started it anew."""


class LakeSink(SparkTableSink):
    """Keeps a changelog or a mirror of every table."""

    def __init__(self, config: LakeConfig) -> None:
        self.config = config
        self.needs_delta = config.format == "delta"
        self.commit_interval_ms = config.commit_interval_ms
        self._tables: dict[str, Evolution] = {}
        self._inferences: dict[str, Inference] = {}

    def encoder(self) -> RowEncoder:
        """Typed rows, with columns about the change for a changelog."""
        config = self.config
        return TableEncoder(
            config.mode, config.unavailable_value_placeholder, config.declared_columns, inferred=config.infers_columns
        )

    def open(self, session: SparkSession, context: TableContext) -> None:
        """Notes the session; tables are looked at when their first rows come.

        Raises:
            ConfigError: a mirror is wanted of a source whose updates do not carry whole rows.
        """
        if self.config.mode == "mirror" and not context.whole_updates:
            raise ConfigError(
                "sink.mode: 'mirror' needs whole documents, and the source sends only what an update has changed; "
                "set source.capture.mode to change_streams_update_full"
            )
        self._session = session
        self._context = context
        if self.config.mode == "mirror" and context.skipped:
            log.warning(
                "source.skipped.operations leaves out '%s', which the mirrors then do not follow; "
                "set it to 'none' for tables equal to the source's",
                ",".join(sorted(context.skipped)),
            )
        self._pool = ThreadPoolExecutor(self.config.tables_parallel, "cdckit-table")

    def write(self, packets: DataFrame, batch: int) -> int:
        """Writes the tables of a batch at the same time, and tells the first fault once all have ended."""
        packets = packets.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            tables = tables_of(packets)
            jobs = [self._pool.submit(self._write_table, topic, rows, batch) for topic, rows in tables.items()]
            faults = [error for job in jobs if (error := job.exception()) is not None]
            if faults:
                raise faults[0]
            return sum(rows.count for rows in tables.values())
        finally:
            packets.unpersist()

    def _write_table(self, topic: str, rows: TableRows, batch: int) -> None:
        table = self._tables.setdefault(topic, Evolution(self._target(topic)))
        number = BatchId(f"{self._context.name}/{self._context.generation}", batch)
        try:
            if self.config.infers_columns:
                rows = self._followed(topic, table, rows)
            else:
                table.follow(rows.layouts)
            if self.config.mode == "changelog":
                table.target.append(rows.typed(table.columns), number)
            else:
                self._mirror(table, rows, number)
        except (PySparkException, Py4JJavaError) as error:
            raise SinkError(f"table {table.target}: {_reason(error)}") from error

    def _followed(self, topic: str, table: Evolution, rows: TableRows) -> TableRows:
        """The rows with the columns that their documents have, which the table has then, too."""
        inference = self._inferences.setdefault(topic, Inference(table.target))
        wide = inference.widened(rows, table.columns or table.target.columns())
        table.follow(wide.layouts)
        inference.keep()
        return wide

    def _mirror(self, table: Evolution, rows: TableRows, number: BatchId) -> None:
        target = table.target
        assert isinstance(target, DeltaTarget)
        anew = self._starts_anew(target, rows)
        placeholder = self.config.unavailable_value_placeholder
        write_mirror(target, table.columns, rows, number, placeholder, anew=anew)
        if anew:
            target.note({GENERATION: self._context.generation})

    def _starts_anew(self, target: DeltaTarget, rows: TableRows) -> bool:
        """Whether the batch is the snapshot that a pipeline without offset begins with: rows that it lacks are gone."""
        if not self._context.fresh or not any("r" in head.layout.ops for head in rows.headings):
            return False
        return target.notes().get(GENERATION) != self._context.generation

    def _target(self, topic: str) -> Target:
        kind: Callable[[SparkSession, LakeConfig, str], Target]
        kind = DeltaTarget if self.config.format == "delta" else ParquetTarget
        return kind(self._session, self.config, topic)

    def close(self) -> None:
        """Ends the writing threads."""
        pool = getattr(self, "_pool", None)
        if pool is not None:
            pool.shutdown()


def _reason(error: PySparkException | Py4JJavaError) -> str:
    """The first line that Spark or the file system says."""
    text = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
    return str(text).strip().partition("\n")[0]
