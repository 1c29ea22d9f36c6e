"""How one batch of a query reaches the sink."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from pyspark.sql import DataFrame, SparkSession

from cdckit.engine.runners.sink_offset import SinkOffset
from cdckit.engine.spark.inbox import Address
from cdckit.engine.spark.job import Form
from cdckit.engine.state.generation import Generation
from cdckit.engine.state.spark_checkpoint import Folder
from cdckit.tables.made_tables import MadeTables

if TYPE_CHECKING:
    from cdckit.engine.spark.batch_ledger import BatchLedger
    from cdckit.engine.spark.task_sink import TaskSink


class Delivery(ABC):
    """Puts batches into a sink. It is used by one thread at a time."""

    form: ClassVar[Form]
    """What the workers must hand on for it."""

    delta: bool = False
    """Whether the session needs Delta Lake."""

    once_each: bool = True
    """Whether a task may run only once at a time, for what it writes is there at once."""

    task_sink: TaskSink | None = None
    """What tasks write, each its share of the keys, once it is open; None: the driver writes."""

    marks: bool = False
    """Whether it takes table marks."""

    mirrors: bool = False
    """Whether it keeps tables that are to equal the source's."""

    interval_ms: int = 0
    """How long, in milliseconds, changes are gathered for one batch; 0: as they come."""

    shares_folders: bool = True
    """Whether workers on this machine may write into the folders of the sink's tables, once it is open."""

    made: MadeTables = MadeTables()
    """The tables that the pipeline has rows in: set before `open`."""

    ledger: BatchLedger | None = None
    """Adds up the rows of each batch; None: no ledger is kept."""

    def offset_kept(self) -> SinkOffset | None:
        """Connects to what keeps the offset together with the records; None where the state alone keeps it.

        Raises:
            SinkError: it cannot be reached.
        """
        return None

    def open(
        self, session: SparkSession, generation: Generation, checkpoint: Folder, faults: Address | None = None
    ) -> None:
        """Gets ready; nothing to do by default.

        Args:
            session: where batches come from.
            generation: the checkpoint that counts them.
            checkpoint: where that is.
            faults: where the driver takes what the sink's target will never take; None: it stops the pipeline.
        """

    def rehearse(self, frame: DataFrame) -> None:
        """Takes a batch of no rows, perhaps beside the first that has some; by default it is read, and that is all.

        Args:
            frame: the batch.
        """
        frame.select("rows").collect()

    @abstractmethod
    def deliver(self, frame: DataFrame, batch: int) -> int:
        """Returns once the batch is safe in the sink, and says how many records it held.

        Raises:
            CdcError: the sink did not take it.
        """

    def close(self) -> None:
        """Lets go of all resources; nothing to do by default."""
