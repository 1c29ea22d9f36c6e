"""One Structured Streaming query of a pipeline: starts it, watches it, and lets it finish its batch before it stops."""

from __future__ import annotations

import logging
import re
import time
from dataclasses import replace
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from cdckit.api.source import Source
from cdckit.engine.notices import RunNotices
from cdckit.engine.runners.forecaster import Forecaster
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.spark.checkpoints import writing_to
from cdckit.engine.spark.datasource import bound_to
from cdckit.engine.spark.delivery import Delivery
from cdckit.engine.spark.failures import behind
from cdckit.engine.spark.job import Job
from cdckit.engine.spark.notices import QueryNotices
from cdckit.engine.spark.rehearsal import Rehearsal
from cdckit.engine.spark.stream_reader import LIMITED
from cdckit.engine.state.spark_checkpoint import (
    CommittedBatch,
    Folder,
    committed_batch,
    location,
    planned_batch,
    show_batch,
    show_begun,
)
from cdckit.errors import CdcError, RetriableSinkError
from cdckit.tables.passing import passes

log = logging.getLogger("cdckit.runner")

_ERROR_LINE = re.compile(r"[A-Za-z_.]+(Error|Exception|Interrupt|Exit)\b")

POLL_SECONDS = 0.25
"""How often the driver looks whether the query has ended or is to stop."""

DRAIN_SECONDS = 60.0
"""How long a batch in hand may take to finish once the pipeline is to stop; then it is broken off, and the next start
repeats it."""


class _RefusedError(Exception):
    """Refuses a batch that was planned when the pipeline was already to stop."""


class PipelineQuery:
    """Runs a pipeline's query, as often as it is asked to, on one checkpoint.

    Args:
        session: where it runs.
        job: what it is.
        delivery: takes its batches.
        checkpoint: where Spark keeps how far it has come.
        notices: calls the lifecycle hooks.
        told: what planner and workers tell.
        source: open in the driver, to be asked how far the log's end is away.
        ahead: looks how long the log is kept.
        shown: the folder where a checkpoint that stands elsewhere is shown to commands.
        rehearsal: begins once the query is started.
    """

    def __init__(
        self,
        session: SparkSession,
        job: Job,
        delivery: Delivery,
        checkpoint: Folder,
        notices: RunNotices,
        told: QueryNotices,
        source: Source,
        ahead: Forecaster,
        shown: Path | None = None,
        rehearsal: Rehearsal | None = None,
    ) -> None:
        self.session = session
        self.job = job
        self.delivery = delivery
        self.checkpoint = checkpoint
        self.notices = notices
        self.told = told
        self.source = source
        self.ahead = ahead
        self.shown = shown
        self.rehearsal = rehearsal
        self.committed: CommittedBatch | None = committed_batch(checkpoint)
        self._planned_before = planned_batch(checkpoint)
        self._delivered: dict[int, int] = {}
        self._in_hand: int | None = None
        self._begun: int | None = None
        self._refusing = False
        self._fault: Exception | None = None

    def run(self, stopping: StopSignal, *, once: bool) -> None:
        """Returns when the query has ended by itself (`once`, or without a log to follow) or was asked to stop.

        Raises:
            CdcError: what ended it.
        """
        self._fault, self._refusing, self._delivered = None, False, {}
        query = self._start(once)
        if self.rehearsal is not None:
            self.rehearsal.begin()
        try:
            while query.isActive and not self._at_end and not stopping():
                stopping.wait(POLL_SECONDS)
                self._tell()
                self.ahead.look(None if self.committed is None else self.committed.end, heard=self.told.is_idle)
            if query.isActive:
                self._drain(query)
            failure = query.exception()
        except StreamingQueryException as error:
            failure = error
        finally:
            query.stop()
        self._tell()
        if failure is not None:
            self._raise(failure, stopping)

    @property
    def settled(self) -> bool:
        """Whether Spark has noted every batch as done that it had begun, in earlier runs, too."""
        begun = max(-1 if batch is None else batch for batch in (self._begun, self._planned_before))
        return begun <= (-1 if self.committed is None else self.committed.number)

    def _start(self, once: bool) -> StreamingQuery:
        ends = once or not self.source.streams
        starts = self.job.starts and planned_batch(self.checkpoint) == self._planned_before
        self.session.dataSource.register(bound_to(replace(self.job, starts=starts, ends=ends)))
        writer = (
            self._loaded()
            .writeStream.foreachBatch(self._deliver)
            .option("checkpointLocation", location(self.checkpoint))
        )
        if ends and LIMITED:
            writer = writer.trigger(availableNow=True)
        else:
            # A release without limits takes `availableNow` for one batch: the query is stopped at its end instead.
            writer = writer.trigger(processingTime=f"{0 if ends else self.delivery.interval_ms} milliseconds")
        with writing_to(self.session, self.checkpoint):
            return writer.start()

    @property
    def _at_end(self) -> bool:
        """Whether the query, which Spark would go on with, is at its end."""
        return not LIMITED and self.told.at_end

    def _loaded(self) -> DataFrame:
        """The data source.

        Raises:
            CdcError: it cannot be had.
        """
        try:
            return self.session.readStream.format("cdckit").load()
        except (Py4JJavaError, PySparkException) as error:
            found = behind(error)
            if found is None:
                raise
            raise found from error

    def _deliver(self, frame: DataFrame, batch: int) -> None:
        if self._refusing:
            # An error is the one way by which `foreachBatch` can keep Spark from noting a batch as done.
            raise _RefusedError
        self._in_hand = self._begun = batch
        if self.shown is not None:
            show_begun(self.shown, batch)
        ledger, begun = self.delivery.ledger, time.monotonic()
        try:
            if ledger is not None:
                ledger.begins(batch)
            records = self.delivery.deliver(frame, batch)
            if ledger is not None:
                ledger.ends(batch)
            self._delivered[batch] = records
            self.told.delivery_seconds = time.monotonic() - begun
        except Exception as error:
            self._fault = error
            raise
        finally:
            self._in_hand = None

    def _tell(self) -> None:
        """Tells the hooks of the batches that Spark has committed since it was last asked."""
        if not self._delivered:
            return
        # A batch that the sink has is not done before Spark has noted so: a kill in between repeats it. Only what the
        # next start will not repeat is told of.
        now = committed_batch(self.checkpoint)
        if now is None or now == self.committed:
            return
        self.committed = now
        if self.shown is not None:
            show_batch(self.shown, now)
        done = [batch for batch in self._delivered if batch <= now.number]
        records = sum(self._delivered.pop(batch) for batch in done)
        log_time_ms, log_bytes = self.told.committed(now.end)
        self.notices.batch_committed(
            records=records,
            offset=now.end,
            log_time_ms=log_time_ms,
            log_bytes=log_bytes,
            lag_bytes=self.source.lag_bytes(now.end),
            lag_messages=self.source.lag_messages(now.end),
            counts=self.told.take_counts(),
        )
        self.told.told_of(now.end)

    def _drain(self, query: StreamingQuery) -> None:
        """Waits for the batch in hand and for Spark's note that it is done, and refuses the next one."""
        self._refusing = True
        deadline = time.monotonic() + DRAIN_SECONDS
        # `query.stop()` breaks a batch off in mid-write, and repeats it at the next start. Refusing the next batch lets
        # this one end, and lets Spark write its note.
        while query.isActive and (self._in_hand is not None or self._delivered):
            if time.monotonic() > deadline:
                log.warning("the batch in hand is not done after %.0f s; the next start repeats it", DRAIN_SECONDS)
                return
            time.sleep(0.02)
            self._tell()

    def _raise(self, failure: PySparkException, stopping: StopSignal) -> None:
        """The error behind a query's end: of the sink, of a worker or of the planner.

        Raises:
            CdcError: always, but for the query that this class itself ended.
        """
        if isinstance(self._fault, RetriableSinkError) and stopping():
            log.warning("%s; the next start repeats the batch", self._fault)
            return
        if isinstance(self._fault, CdcError):
            raise self._fault
        text = f"{self._fault or ''}\n{failure}"
        if self._refusing and _RefusedError.__name__ in text:
            return
        found = behind(failure, str(self._fault or ""))
        if found is not None:
            raise found from failure
        log.debug("the query ended by", exc_info=failure)
        if passes(self._fault) or passes(failure):
            raise RetriableSinkError(f"Spark: {_reason(text)}") from failure
        raise CdcError(f"unexpected, in Spark or one of its Python processes: {_reason(text)}") from failure


def _reason(text: str) -> str:
    """The last line of the first Python traceback in Spark's long text, or the text's first line."""
    after = text.partition("Traceback (most recent call last):\n")[2]
    told = (line.strip() for line in after.splitlines() if _ERROR_LINE.match(line.strip()))
    return next(told, text.strip().partition("\n")[0])
