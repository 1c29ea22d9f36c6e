"""The writers of the data source `cdckit`: `df.writeStream.format("cdckit")` and `df.write.format("cdckit")`.

Spark makes a writer several times: for the tasks of each batch, and where the batch ends. Tasks hand their messages on
in what they answer, which Spark takes of one attempt each, however many there were; the driver then writes the batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import datasource
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from cdckit.engine.spark.failures import sealed_errors
from cdckit.engine.spark.message_rows import MessageRows
from cdckit.engine.spark.staged import Share, staged
from cdckit.engine.spark.write_job import WriteJob
from cdckit.engine.spark.written_batches import write_batch, write_share
from cdckit.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceArrowWriter as BatchBase, DataSourceStreamArrowWriter as StreamBase
else:
    # Releases that give no Arrow give rows, and both are taken.
    StreamBase = getattr(datasource, "DataSourceStreamArrowWriter", datasource.DataSourceStreamWriter)
    BatchBase = getattr(datasource, "DataSourceArrowWriter", datasource.DataSourceWriter)


class _Writing:
    """What both have.

    Raises:
        ConfigError: the rows are no messages, or are to take the place of what is there.
    """

    def __init__(self, job: WriteJob, schema: StructType, *, overwrite: bool) -> None:
        if overwrite:
            raise ConfigError(
                "mode: topics are appended to: write with mode('append'), a stream with outputMode('append')",
                number="CDC2402",
            )
        self.job = job
        self.rows = MessageRows.of(schema, job.topic)

    def taken(self, rows: Iterator[Any]) -> Share:
        """One task's rows: handed on, or written."""
        with sealed_errors():
            portions = self.rows.messages(rows)
            return write_share(self.job, portions) if self.job.in_tasks else staged(portions)


class StreamWriter(_Writing, StreamBase):
    """Of a streaming query.

    Raises:
        ConfigError: also where tasks are to write, since Spark does not sort a stream.
    """

    def __init__(self, job: WriteJob, schema: StructType, *, overwrite: bool) -> None:
        if job.in_tasks:
            raise ConfigError(
                "writer: 'tasks' cannot keep the order of a stream, which Spark does not sort: take it out, or write "
                "each batch within foreachBatch",
                number="CDC2402",
            )
        super().__init__(job, schema, overwrite=overwrite)

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        """One task's rows of a batch."""
        return self.taken(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batch_id: int) -> None:
        """All tasks of a batch have ended."""
        with sealed_errors():
            write_batch(self.job, shares_of(messages), batch_id)

    def abort(self, messages: list[WriterCommitMessage | None], batch_id: int) -> None:
        """A batch has failed: what tasks handed on is dropped, and a transaction has ended with its process."""


class BatchWriter(_Writing, BatchBase):
    """Of a DataFrame that is no stream."""

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        """One task's rows."""
        return self.taken(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """All tasks have ended."""
        with sealed_errors():
            write_batch(self.job, shares_of(messages), None)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """It has failed, as `StreamWriter.abort`."""


def shares_of(messages: list[WriterCommitMessage | None]) -> list[Share | None]:
    """Tasks' answers as what they are."""
    return [message if isinstance(message, Share) else None for message in messages]
