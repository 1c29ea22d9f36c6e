"""Spark's workers, where they read for `cdc diff`: started once somebody needs them, and stopped with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from cdckit.errors import StoppedError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH_ROWS = 16_384
"""So many rows at the most are read, hashed and packed at a time."""
_SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH_ROWS),
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 << 20),
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.session.timeZone": "UTC",
}
_ASKED_SECONDS = 0.2


class Workers:
    """The workers.

    Args:
        start: gives the session, which may be there already.
        stopping: once true, what they do is broken off.
    """

    def __init__(self, start: Callable[[], SparkSession], stopping: Callable[[], bool]) -> None:
        self._start = start
        self._stopping = stopping

    @cached_property
    def session(self) -> SparkSession:
        """A session of the same application with settings of its own.

        Raises:
            ConfigError: Spark does not start.
        """
        own = self._start().newSession()
        for name, value in _SETTINGS.items():
            own.conf.set(name, value)
        return own

    def fetched(self, frame: DataFrame) -> Iterator[Any]:
        """The rows of a frame, which all workers make first, and keep on their disks until they are fetched.

        The driver has those of two of the frame's partitions at a time.

        Raises:
            PySparkException, Py4JJavaError: a task has failed.
            StoppedError: it was to end.
        """
        from pyspark import StorageLevel  # noqa: PLC0415 - whoever needs no worker needs no Spark

        kept = frame.persist(StorageLevel.DISK_ONLY)
        try:
            self._made(kept)
            for row in kept.toLocalIterator(prefetchPartitions=True):
                if self._stopping():
                    raise StoppedError
                yield row
        finally:
            kept.unpersist()

    def _made(self, frame: DataFrame) -> None:
        """Has all of it made by a thread, as a wish to stop would not be heard meanwhile."""
        context, group = self.session.sparkContext, f"cdc diff {uuid4().hex}"

        def run() -> None:
            context.setJobGroup(group, "cdc diff", interruptOnCancel=False)
            frame.count()

        with ThreadPoolExecutor(1, "cdckit-diff") as pool:
            job, stopped = pool.submit(run), False
            while not job.done():
                try:
                    job.exception(_ASKED_SECONDS)
                except TimeoutError:
                    if self._stopping():  # again and again, as the job may not have begun by now
                        context.cancelJobGroup(group)
                        stopped = True
            if stopped:
                raise StoppedError
            job.result()
