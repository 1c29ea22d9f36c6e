"""A batch without rows, which is read and taken apart while the planner asks the source for the first one.

What a first batch needs besides its rows is there when it comes: Python processes with all that they load, readers of
the source, and what Java loads and compiles for such a batch. Without it these seconds come one after another.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from cdckit.engine.spark.delivery import Delivery
from cdckit.engine.spark.job import Job
from cdckit.engine.spark.profilers import silence_profilers
from cdckit.engine.spark.worker import get_ready
from cdckit.errors import CdcError
from cdckit.tables.packets import PACKET_SCHEMA

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("cdckit.runner")

FORMAT = "cdckit_rehearsal"

CLOSE_SECONDS = 10.0
"""So long is it waited for when it is to end."""

_rehearsed: set[str] = set()
"""The Spark applications of this process that have had one."""


class Rehearsal:
    """Of one query, in a thread of its own.

    Args:
        session: where it runs.
        job: what will be read.
        delivery: takes the batches, and is open.
        splits: how many the first batch is likely to have.
    """

    def __init__(self, session: SparkSession, job: Job, delivery: Delivery, splits: int) -> None:
        self._session = session
        self._job = job
        self._delivery = delivery
        self._splits = splits
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Starts it, unless another query has had one in the same application."""
        application = str(self._session.sparkContext.applicationId)
        if application not in _rehearsed:
            _rehearsed.add(application)
            self._thread = threading.Thread(target=self._run, name="cdckit-rehearsal", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Breaks it off where it still runs, as in a pipeline that has nothing to do."""
        deadline = time.monotonic() + CLOSE_SECONDS
        while self._thread is not None and self._thread.is_alive() and time.monotonic() < deadline:
            with suppress(PySparkException, Py4JError, OSError):  # Java may have ended
                self._session.sparkContext.cancelJobGroup(FORMAT)  # only what runs: another job may follow
            self._thread.join(0.1)

    def _run(self) -> None:
        try:
            self._session.sparkContext.setJobGroup(FORMAT, "a batch without rows", interruptOnCancel=True)
            self._session.dataSource.register(_source_of(self._job, self._splits))
            self._delivery.rehearse(self._session.read.format(FORMAT).load())
        except (PySparkException, Py4JError, CdcError, OSError) as error:
            log.debug("the rehearsal failed, and what the batches say counts: %s", error)


def _source_of(job: Job, splits: int) -> type[DataSource]:
    class NoRows(DataSource):
        @classmethod
        def name(cls) -> str:
            return FORMAT

        def __init__(self, options: Mapping[str, str]) -> None:
            silence_profilers()

        def schema(self) -> str:
            return PACKET_SCHEMA

        def reader(self, schema: StructType) -> DataSourceReader:
            silence_profilers()
            return _NoRowsReader(job, splits)

    return NoRows


class _NoRowsReader(DataSourceReader):
    def __init__(self, job: Job, splits: int) -> None:
        self.job = job
        self.splits = splits

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(number) for number in range(self.splits)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        get_ready(self.job)
        return iter(())
