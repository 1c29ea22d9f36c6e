"""Spark's session, started beside a direct process that delivers meanwhile."""

from __future__ import annotations

import logging
import threading

from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.runners.stop import StopSignal
from cdckit.errors import CdcError

log = logging.getLogger("cdckit.runner")


class SparkStart:
    """Starts the session once, in a thread of its own.

    Args:
        pipeline: whose session it is.
        stopping: that of the pipeline.
    """

    def __init__(self, pipeline: ResolvedPipeline, stopping: StopSignal) -> None:
        self._pipeline = pipeline
        self._stopping = stopping
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Starts it, unless that was done."""
        if self._thread is None:
            log.info("starting Spark beside the direct process")
            self._thread = threading.Thread(target=self._start, name="cdckit-spark-start", daemon=True)
            self._thread.start()

    @property
    def ready(self) -> bool:
        """Whether it need not be waited for any more: it is there, or cannot be had, which Spark's stage says then."""
        return self._thread is not None and not self._thread.is_alive()

    def _start(self) -> None:
        try:
            from cdckit.engine.spark.deliveries import make_delivery  # noqa: PLC0415 - PySpark takes a second to import
            from cdckit.engine.spark.session import start_session  # noqa: PLC0415

            pipeline = self._pipeline
            delivery = make_delivery(pipeline, once=False, stopping=self._stopping)
            start_session(pipeline.name, pipeline.spark, delta=delivery.delta)
        except CdcError as error:
            log.debug("Spark does not start: %s", error)
