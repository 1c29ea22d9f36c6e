"""The Python Data Source `cdckit`: `spark.readStream`, `spark.read`, `df.writeStream` and `df.write` in this format."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.types import StructType

from cdckit.engine.spark.arrow import SPARK_SCHEMA
from cdckit.engine.spark.bounds import bounded_end, place_of, within
from cdckit.engine.spark.failures import sealed_errors
from cdckit.engine.spark.job import MAX_BYTES, WAIT_SECONDS, Job
from cdckit.engine.spark.partitions import SplitPartition, partitions_of, read_partition
from cdckit.engine.spark.planner import Planner
from cdckit.engine.spark.profilers import silence_profilers
from cdckit.engine.spark.stream_reader import StreamReader
from cdckit.engine.spark.table_shape import Wanted, shape_now
from cdckit.errors import ConfigError
from cdckit.tables.packets import PACKET_SCHEMA

if TYPE_CHECKING:
    import pyarrow as pa

    from cdckit.engine.spark.write_job import WriteJob


class CdckitDataSource(DataSource):
    """Changes as rows with the columns topic, partition, key, value, headers, timestamp and position; or a table's own.

    Options: `pipeline`, the path of a pipeline file; any option of a pipeline file by its full name
    (`source.database.hostname`), stronger than the file's; `table`, whose rows are to have the table's own columns;
    `documentColumns`, which columns those of a collection have; `from` and `to`, between which places the log is read;
    `parallelism`, how many splits may be read at the same time (by default this machine's processors);
    `maxBytesPerTrigger`, how much of a backlog one batch takes; `waitMs`, how long, in milliseconds, an idle source
    holds up its query, and other sources in it, to wait for changes; `endAtLogEnd`, whether a stream has nothing more
    behind the log's end as it is once the first batch is done.

    Rows with these columns are written to Kafka. Options of the writers: the sink's by their full names
    (`sink.bootstrap.servers`), or `pipeline`, a file whose sink is meant; `topic`, that of all rows; `name`, the job's;
    `writer`, whether the `driver` writes a batch, in the log's order, or its `tasks`.
    """

    @classmethod
    def name(cls) -> str:
        """What stands in `format(...)`."""
        return "cdckit"

    def __init__(self, options: Mapping[str, str]) -> None:
        silence_profilers()
        self.options = {name.lower(): value for name, value in options.items()}
        self.wanted: Wanted | None = None
        self._job: Job | None = None

    @property
    def job(self) -> Job:
        """What is read; made when it is first asked for, as options may be those of a writer."""
        if self._job is None:
            with sealed_errors():
                self._job = self.make_job(self.options)
        return self._job

    def make_job(self, options: Mapping[str, str]) -> Job:
        """The job that the options describe.

        Raises:
            ConfigError: with all that is wrong at once.
        """
        from cdckit.engine.spark.pipeline_options import pipeline_of  # noqa: PLC0415 - takes long; see there

        given = {name.lower(): value for name, value in options.items()}
        pipeline = pipeline_of(given)
        if "documentcolumns" in given and "table" not in given:
            raise ConfigError(
                "documentColumns: are of a collection's rows: name it by the option 'table'", number="CDC2205"
            )
        if "table" in given:
            self.wanted = Wanted(given["table"], given.get("documentcolumns", ""))
        return Job(
            pipeline,
            begin=place_of(given["from"]) if "from" in given else None,
            end=place_of(given["to"]) if "to" in given else None,
            form="messages" if self.wanted is None else "typed rows",
            parallelism=_whole(given, "parallelism", os.cpu_count() or 1),
            max_bytes=_whole(given, "maxBytesPerTrigger", MAX_BYTES),
            wait_seconds=_whole(given, "waitMs", int(WAIT_SECONDS * 1000), least=0) / 1000,
            ends=_switch(given, "endAtLogEnd"),
        )

    def schema(self) -> str | StructType:
        """The columns; those of a table are asked for at the source."""
        silence_profilers()
        job = self.job
        if self.wanted is not None:
            with sealed_errors():
                shape = shape_now(job.pipeline, self.wanted)
            self._job = replace(job, shape=shape, marks=True)
            return shape.spark_schema
        return SPARK_SCHEMA if job.form == "messages" else PACKET_SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """The reader of a stream."""
        silence_profilers()
        with sealed_errors():
            if self.job.end is not None:
                raise ConfigError("to: a stream has no end: take it out, or read with `spark.read`", number="CDC2402")
            if isinstance(self.job.begin, str):
                raise ConfigError("from: a stream begins at an offset or a time in ISO 8601", number="CDC2505")
        return StreamReader(self._shaped(stream=True))

    def reader(self, schema: StructType) -> BatchReader:
        """The reader of all that the source holds now."""
        silence_profilers()
        return BatchReader(self._shaped(stream=False))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """The writer of a stream's messages."""
        silence_profilers()
        from cdckit.engine.spark.writers import StreamWriter  # noqa: PLC0415 - queries that only read do without

        with sealed_errors():
            return StreamWriter(self._write_job(), schema, overwrite=overwrite)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """The writer of a DataFrame's messages."""
        silence_profilers()
        from cdckit.engine.spark.writers import BatchWriter  # noqa: PLC0415 - as above

        with sealed_errors():
            return BatchWriter(self._write_job(), schema, overwrite=overwrite)

    def _write_job(self) -> WriteJob:
        from cdckit.engine.spark.write_options import write_job_of  # noqa: PLC0415 - takes long; see there

        return write_job_of(self.options)

    def _shaped(self, *, stream: bool) -> Job:
        """The job, once the columns of a table are known."""
        job = self.job
        if self.wanted is None:
            return job
        if job.shape is None:
            with sealed_errors():
                raise ConfigError("table: its columns are asked for at the source: take `.schema(…)` out")
        return replace(job, shape=replace(job.shape, emptied=stream))


def bound_to(job: Job) -> type[CdckitDataSource]:
    """The data source for one job, whose options (with their secrets) then appear in no query plan."""

    class BoundDataSource(CdckitDataSource):
        def make_job(self, options: Mapping[str, str]) -> Job:
            return job

    return BoundDataSource


def _whole(options: Mapping[str, str], name: str, default: int, least: int = 1) -> int:
    text = options.get(name.lower(), str(default))
    if not text.isdecimal() or int(text) < least:
        raise ConfigError(f"{name}: should be a whole number of at least {least}")
    return int(text)


def _switch(options: Mapping[str, str], name: str) -> bool:
    text = options.get(name.lower(), "false").lower()
    if text not in ("true", "false"):
        raise ConfigError(f"{name}: should be true or false")
    return text == "true"


class BatchReader(DataSourceReader):
    """Reads from the saved offset to the log's end as it is when the query is planned, and saves nothing.

    Or between two places of the log, without a snapshot.
    """

    def __init__(self, job: Job) -> None:
        self.job = job

    def partitions(self) -> Sequence[InputPartition]:
        """The splits of the snapshot, where one is due, and of the log."""
        planner = Planner(self.job)
        with sealed_errors():
            try:
                start = planner.initial_offset()
                if self.job.begin is not None or self.job.end is not None:
                    splits = planner.splits(start, bounded_end(planner.source, self.job, start)).splits
                    return partitions_of(splits) or [SplitPartition([])]
                # Where a snapshot is due the first end is the point that its rows stand for, and the log behind it is
                # the second part. Else the first part is the log up to now, and the second what has come meanwhile.
                middle = planner.source.latest_offset(start)
                splits = [*planner.splits(start, middle).splits]
                splits += planner.splits(middle, planner.source.latest_offset(middle)).splits
            finally:
                planner.close()
        return partitions_of(splits) or [SplitPartition([])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One split, in a worker."""
        return within(self.job, read_partition(self.job, partition))
