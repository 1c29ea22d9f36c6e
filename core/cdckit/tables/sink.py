"""The contract of a sink that keeps Spark tables: typed rows from the workers, written by the driver batch by batch.

Spark fixes a stream's columns when the query starts, while a pipeline has many tables whose columns change as it runs.
So workers send packets (`cdckit.engine.spark.packets`): each holds rows of one table and one layout, and the sink
unpacks those of a table into typed columns.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from cdckit.api.marks import RoutedMark
from cdckit.api.record import Record
from cdckit.api.sink import TableSink
from cdckit.tables.context import TableContext

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from cdckit.api.held import Images
    from cdckit.tables.workers import Workers


@dataclass(frozen=True, slots=True)
class Packet:
    """Some rows of one table.

    Attributes:
        topic: the topic of their records, which names the table.
        layout: the sink's own text about the columns; rows of equal layouts can be put together.
        position: the first record's position.
        rows: how many rows there are.
        data: the rows, in a form of the sink's choice; `cdckit.tables.streams` makes one.
        mark: the sink's own text about a table mark; such a packet has no rows. None: it is none.
    """

    topic: str
    layout: str
    position: str
    rows: int
    data: bytes
    mark: str | None = None


class RowEncoder(Protocol):
    """Turns records into packets, in a worker; it lives as long as one split is read."""

    def __call__(self, records: Sequence[Record]) -> Iterable[Packet]:
        """The packets of some records that follow those of the call before.

        Raises:
            SinkError: a record cannot become a row; the message names topic, position and field.
        """

    def mark(self, mark: RoutedMark) -> Packet:
        """The packet of a table mark, whose position says between which rows; for sinks that follow marks.

        Packets of marks and of rows come in any order, and out of any task: the sink puts them in order by position.
        """


@runtime_checkable
class GatheringEncoder(RowEncoder, Protocol):
    """An encoder that keeps rows of one call for those that follow, and may put them where the sink finds them."""

    def flushed(self, *, last: bool) -> Iterable[Packet]:
        """More packets: after each call those without which too much would wait, at the end of the task all.

        Args:
            last: whether the task is at its end.

        Raises:
            SinkError: rows cannot be put where they are to be.
        """

    def drop(self) -> None:
        """Removes what was put there: the task has failed, and none of its packets is used."""


class SparkTableSink(TableSink):
    """A sink that keeps tables. It is constructed with its config model's instance alone.

    Obligations: after `write` returns, the batch is in the tables; `write` called again with the same batch number
    (the runner died before it could note the batch) leaves the tables as if it had been called once.
    """

    needs_delta: bool = False
    """Whether the Spark session needs Delta Lake."""

    commit_interval_ms: int = 0
    """How long, in milliseconds, changes are gathered for one batch; 0: as they come."""

    mirrors: bool = False
    """Whether its tables are to equal the source's: then rows are never left out unasked."""

    follows_marks: bool = False
    """Whether its encoders take table marks; a sink that does not never hears of any."""

    read_by_workers: bool = False
    """Whether Spark's workers may read its tables for `cdc diff`."""

    shares_folders: bool = True
    """Whether workers may write into the folders of its tables, where they have these; known once it is open."""

    @abstractmethod
    def encoder(self) -> RowEncoder:
        """A new encoder, which keeps nothing. Called in any process, `open` or not."""

    def task_encoder(self, *, beside_driver: bool) -> RowEncoder:
        """A new encoder for one task of a worker, where `open` is not called; by default that of `encoder`.

        It is asked for where the sink `shares_folders`, and else that of `encoder` is.

        Args:
            beside_driver: whether the worker has the folders of the driver's machine.
        """
        return self.encoder()

    @abstractmethod
    def open(self, session: SparkSession, context: TableContext) -> None:
        """Gets ready, in the driver.

        Raises:
            SinkError: the tables cannot be reached.
        """

    def rehearse(self, packets: DataFrame) -> None:
        """Reads a batch of no packets as `write` reads those with some, perhaps beside the first; nothing by default.

        Args:
            packets: the batch.
        """

    @abstractmethod
    def write(self, packets: DataFrame, batch: int) -> int:
        """Puts one batch of packets into the tables and says how many rows it held.

        Raises:
            RowsFoundError: tables do not take some rows, and the context wants to know which; the same batch comes
                again, without these.
            SinkError: a table cannot take it; the message names the table.
        """

    def images_on_spark(self, workers: Workers, *, always: bool) -> Images:
        """As `images`, of a sink that is `read_by_workers`.

        Args:
            workers: the workers, which need not be started.
            always: whether they are to read all tables; else those that this process cannot read.

        Raises:
            ConfigError: its tables cannot be read back.
        """
        raise NotImplementedError

    @abstractmethod
    def close(self) -> None:
        """Lets go of all resources. May be called twice."""
