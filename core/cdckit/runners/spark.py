"""The Spark runner: a Structured Streaming query over the data source `cdckit`, on this machine or a cluster."""

from __future__ import annotations

import logging
from contextlib import ExitStack

from cdckit.errors import RetriableSourceError, SnapshotDueError, SourceError, StateError
from cdckit.metrics.figures import Figures
from cdckit.pipeline import make_source
from cdckit.runners.retries import Retries
from cdckit.runners.runner import Runner
from cdckit.source import SourceContext
from cdckit.spark.delivery import make_delivery
from cdckit.spark.job import Job
from cdckit.spark.notices import Notices
from cdckit.spark.query import PipelineQuery
from cdckit.spark.relay import Relay
from cdckit.spark.session import require_java, start_session
from cdckit.state.authority import Generation, hand_to_spark, open_state

log = logging.getLogger("cdckit.runner")

BUCKETS = 4
"""How many shares of the keys there are for each split that may be read at the same time, so that writers get even
ones."""


class SparkRunner(Runner):
    """Drives a pipeline as one query: a planner beside the driver, splits read in the executors' Python workers."""

    name = "spark"

    def _run(self, stack: ExitStack, figures: Figures, once: bool) -> None:
        require_java()
        anew = False
        while not self.stopping():
            try:
                with ExitStack() as parts:
                    self._run_generation(parts, once, anew=anew)
            except SnapshotDueError:  # the source has said why
                anew = True
            else:
                return

    def _run_generation(self, stack: ExitStack, once: bool, *, anew: bool) -> None:
        """Runs on one checkpoint, the last one unless a new one is wanted."""
        delivery = make_delivery(self.pipeline, once=once, stopping=self.stopping)
        stack.callback(delivery.close)
        generation = self._hand_over(anew=anew)
        session = start_session(self.pipeline.name, self.pipeline.spark, delta=delivery.delta)
        delivery.open(session, generation)
        stack.callback(self._take_back)
        self.notify("started", runner=self.name, offset=generation.start)
        notices = Notices(self.notify)
        relay = Relay(notices)
        stack.callback(relay.close)
        parallelism = session.sparkContext.defaultParallelism
        job = Job(
            self.pipeline,
            delivery.form,
            parallelism,
            BUCKETS * parallelism if delivery.shared else 1,
            relay=relay.address,
            log_level=logging.getLogger().level,
            measured=self.measured,
        )
        source = make_source(self.pipeline)
        stack.callback(source.close)
        source.open(SourceContext(self.pipeline.name))
        checkpoint = generation.checkpoint(self.pipeline.state)
        self._drive(PipelineQuery(session, job, delivery, checkpoint, self.notify, notices, source), once)

    def _drive(self, query: PipelineQuery, once: bool) -> None:
        """Runs the query, and again after a pause while its source is away.

        A query that starts anew asks the source as if it had never been there. From one that is not waited for at the
        start, a refusal soon after it was lost says only that it is still away.
        """
        schedule = query.source.retry_schedule()
        retries = Retries(schedule, self.stopping)
        while not self.stopping():
            committed = query.committed
            try:
                query.run(self.stopping, once=once)
            except SnapshotDueError:
                raise
            except SourceError as error:
                if query.notices.connected:
                    retries.reached()
                if query.committed != committed or query.notices.idle:
                    retries.progressed()
                refused = not isinstance(error, RetriableSourceError)
                if refused and (schedule.at_start or not retries.attempts):
                    raise
                query.notices.lost(str(error))
                retries.pause(error)
            else:
                return

    def _hand_over(self, *, anew: bool) -> Generation:
        state = open_state(self.pipeline.state)
        try:
            return hand_to_spark(state, self.pipeline.state, anew=anew)
        finally:
            state.close()

    def _take_back(self) -> None:
        """Takes the query's last offset into the store. Where that fails now, the next start does it."""
        try:
            open_state(self.pipeline.state).close()
        except StateError as error:
            log.warning("%s", error)
