"""The Spark runner: a Structured Streaming query over the data source `cdckit`, on this machine or a cluster."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import SparkSession

from cdckit.api.record import Offset, Record
from cdckit.api.source import Source, SourceContext
from cdckit.api.state_store import Json, StateStore
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_source
from cdckit.engine.runners.runner import Runner
from cdckit.engine.runners.sink_offset import SinkOffset
from cdckit.engine.runners.start import claim, look_at_lists
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.spark.checkpoints import checkpoints_of
from cdckit.engine.spark.deliveries import make_delivery
from cdckit.engine.spark.delivery import Delivery
from cdckit.engine.spark.failures import LostProcessError
from cdckit.engine.spark.faults import FaultInbox
from cdckit.engine.spark.hadoop import HadoopFolder
from cdckit.engine.spark.inbox import Address, host_of
from cdckit.engine.spark.java import require_java
from cdckit.engine.spark.job import MAX_BYTES, Job
from cdckit.engine.spark.kept_batches import FOLDER as KEPT
from cdckit.engine.spark.kept_inbox import KeptInbox
from cdckit.engine.spark.leading import ASKED as LEADS, Leaders
from cdckit.engine.spark.notices import QueryNotices
from cdckit.engine.spark.parallelism import parallelism_of
from cdckit.engine.spark.query import PipelineQuery
from cdckit.engine.spark.rehearsal import Rehearsal
from cdckit.engine.spark.relay import Relay
from cdckit.engine.spark.sent_signals import ASKED as SENT, signals_of
from cdckit.engine.spark.session import refuse_speculation, start_session
from cdckit.engine.spark.snapshot_notifications import ASKED as NOTIFICATIONS, SnapshotNotifications
from cdckit.engine.spark.timed_batches import ASKED as DELIVERED
from cdckit.engine.state.begun_tables import refuse_anothers
from cdckit.engine.state.copies import copy_state, number_copy, restore_state
from cdckit.engine.state.generation import Generation
from cdckit.engine.state.ledger_file import forget, kept_in
from cdckit.engine.state.made_tables import beside, remembered
from cdckit.engine.state.offset_owner import leave_to_state
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.runner_handover import hand_to_spark, note_unbegun, open_state
from cdckit.engine.state.spark_checkpoint import CommittedBatch, Folder
from cdckit.errors import RetriableSinkError, RetriableSourceError, SnapshotDueError, StateError
from cdckit.tables.made_tables import MadeTable, MadeTables

if TYPE_CHECKING:
    from cdckit.engine.runners.spark_stage import SparkStage
    from cdckit.engine.spark.batch_ledger import BatchLedger

log = logging.getLogger("cdckit.runner")

COPIES = "copies"
"""The folder of the state's copies, beside the checkpoints."""


class _Kept(NamedTuple):
    """What the state keeps when a run begins.

    Attributes:
        offset: the offset that the pipeline had come to.
        ledger: the ledger's values, where there is one.
        made: the tables that the pipeline has rows in.
    """

    offset: Offset | None
    ledger: Mapping[str, Json]
    made: Sequence[MadeTable]


class SparkRunner(Runner):
    """Drives a pipeline as one query: a planner beside the driver, splits read in the executors' Python workers."""

    name = "spark"

    def __init__(
        self, pipeline: ResolvedPipeline, stopping: StopSignal | None = None, stage: SparkStage | None = None
    ) -> None:
        """Of a pipeline whose tail a direct process has, `stage` says when that goes on."""
        super().__init__(pipeline, stage or stopping)
        self._stage = stage
        self._settled = False

    def drive(self, stack: ExitStack, once: bool) -> None:
        """One checkpoint after another, where what lies behind one is gone at the source."""
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
        session = self._session(delta=delivery.delta)
        if delivery.once_each:
            refuse_speculation(session)
        place = self._checkpoints(session)
        copied = self._copied(place)
        if copied is not None:
            # Before the state is opened: the machine may be a new one, whose folder is empty, or one that was away for
            # a while.
            restore_state(*copied)
        generation, kept = self._hand_over(session, place, delivery, anew=anew)
        shown = generation.checkpoint(self.pipeline.folder)
        checkpoint: Folder = shown if place is None else place / generation.id
        faults = self._fault_inbox(session, stack)
        delivery.made = MadeTables(kept.made, beside(checkpoint, None if place is None else shown))
        delivery.open(session, generation, checkpoint, faults)
        ledger = self._ledger(stack, session, delivery, generation, place, kept, anew=anew)
        delivery.ledger = ledger
        # Behind the query's end: the direct runner, `cdc status` and commands find the offset in the store.
        stack.callback(self._take_back, place)
        self.notices.started(self.name, kept.offset)
        notifications = SnapshotNotifications(self.pipeline, self.notices)
        lineage = None if self.lineage is None else self.lineage.writes
        told = QueryNotices(notifications.notices, self.figures.pace, lineage)
        if self._stage is not None:
            self._stage.watch(told)
        relay = Relay(told, self._answers(session, place, ledger, told, notifications))
        stack.callback(relay.close)
        job = self._job(stack, session, delivery, generation, relay.address, faults, ledger, copied=copied is not None)
        source = self._opened_source(stack)
        parts = (session, job, delivery, checkpoint, self.notices, told, source, self.forecaster(source))
        rehearsal = None
        if job.spools:
            # A snapshot has splits for all processors; of the log behind a saved offset there is little, most often.
            rehearsal = Rehearsal(session, job, delivery, job.parallelism if kept.offset is None else 1)
            stack.callback(rehearsal.close)
        query = PipelineQuery(*parts, None if place is None else shown, rehearsal)
        self._drive(query, once)
        self._settled = query.settled

    def _answers(
        self,
        session: SparkSession,
        place: HadoopFolder | None,
        ledger: BatchLedger | None,
        told: QueryNotices,
        notifications: SnapshotNotifications,
    ) -> dict[str, Callable[..., Any]]:
        """What the planner and tasks may ask of this process."""
        answers: dict[str, Callable[..., Any]] = {
            "parallelism": lambda: parallelism_of(session),
            "copy": lambda: self._copy(place),
            DELIVERED: lambda: told.delivery_seconds,
            LEADS: Leaders().may_write,
            SENT: signals_of(self.pipeline),
            NOTIFICATIONS: partial(_notified, told, notifications),
        }
        return answers if ledger is None else {**answers, "ledger": ledger.inbox.planned}

    def _job(
        self,
        stack: ExitStack,
        session: SparkSession,
        delivery: Delivery,
        generation: Generation,
        relay: str,
        faults: Address | None,
        ledger: BatchLedger | None,
        *,
        copied: bool,
    ) -> Job:
        """What the planner and tasks are given."""
        in_order = self.pipeline.source_config.reads_in_order
        return Job(
            self.pipeline,
            delivery.form,
            parallelism_of(session),
            delivery.task_sink,
            self.pipeline.batch_max_bytes or MAX_BYTES,
            grows=not self.pipeline.batch_max_bytes,
            batch_seconds=self.pipeline.batch_target_ms / 1000,
            wait_seconds=self.pipeline.idle_wait_ms / 1000,
            relay=relay,
            log_level=logging.getLogger().level,
            generation=generation.id,
            copied=copied,
            saves=self.pipeline.state_folder is None,
            measured=self.measured,
            marks=delivery.marks,
            faults=faults,
            starts=self.starts,
            ledger=None if ledger is None else ledger.inbox.address,
            in_order=in_order,
            besides=True,
            kept=self._kept_inbox(session, stack) if in_order else None,
            spools=(session.sparkContext.master or "").startswith("local"),
            shares_folders=delivery.shares_folders,
        )

    def _opened_source(self, stack: ExitStack) -> Source:
        """The source as this process asks it."""
        source = make_source(self.pipeline)
        stack.callback(source.close)
        source.open(SourceContext(self.pipeline.name, stopping=self.stopping))
        look_at_lists(source, self.notices)
        return source

    def _fault_inbox(self, session: SparkSession, stack: ExitStack) -> Address | None:
        """Where tasks hand over what cannot be delivered; None where that is to stop the pipeline."""
        if self.pipeline.errors.tolerance == "none":
            return None
        inbox = FaultInbox(self.pipeline, self.figures.faults, host_of(session))
        stack.callback(inbox.close)
        return inbox.address

    def _kept_inbox(self, session: SparkSession, stack: ExitStack) -> Address | None:
        """Where tasks on other machines find what the planner has read; None where they find the files."""
        host = host_of(session)
        if host is None:
            return None
        inbox = KeptInbox(self.pipeline.folder / KEPT, host)
        stack.callback(inbox.close)
        return inbox.address

    def _ledger(
        self,
        stack: ExitStack,
        session: SparkSession,
        delivery: Delivery,
        generation: Generation,
        place: HadoopFolder | None,
        kept: _Kept,
        *,
        anew: bool,
    ) -> BatchLedger | None:
        if not self.pipeline.ledger:
            return None
        from cdckit.engine.spark.batch_ledger import BatchLedger  # noqa: PLC0415 - it needs an extra

        shown = generation.checkpoint(self.pipeline.folder)
        ledger = BatchLedger(
            self.pipeline,
            generation,
            shown if place is None else place / generation.id,
            None if place is None else shown,
            kept.ledger,
            kept.offset,
            host_of(session),
            tables=delivery.form == "table rows",
            mirrors=delivery.mirrors,
            anew=anew,
        )
        stack.callback(ledger.close)
        return ledger

    def _session(self, *, delta: bool) -> SparkSession:
        self.notices.activity("starting Spark")
        threading.Thread(target=self._load_source, name="cdckit-loading", daemon=True).start()
        session = start_session(self.pipeline.name, self.pipeline.spark, delta=delta)
        self.notices.activity("")
        return session

    def _load_source(self) -> None:
        """Loads the source's code while Java starts; who needs the source says what is wrong with it."""
        with suppress(Exception):
            make_source(self.pipeline)

    def _checkpoints(self, session: SparkSession) -> HadoopFolder | None:
        """Where checkpoints are, if not in the pipeline's folder."""
        return checkpoints_of(self.pipeline, session)

    def _drive(self, query: PipelineQuery, once: bool) -> None:
        """Runs the query, and again after a pause while its source is away."""
        while not self.stopping():
            committed = query.committed
            try:
                query.run(self.stopping, once=once)
            except SnapshotDueError as error:
                self.retries.begins_anew(error)
                raise
            except (RetriableSourceError, RetriableSinkError) as error:
                self._note_contact(query, committed)
                sources = isinstance(error, RetriableSourceError) and not isinstance(error, LostProcessError)
                if sources and not self.retries.due:
                    raise
                query.told.lost(str(error))
                self.retries.pause(error)
            else:
                self._note_contact(query, committed)
                if self._stage is not None:
                    self._stage.settled = query.settled
                return

    def _note_contact(self, query: PipelineQuery, before: CommittedBatch | None) -> None:
        """Notes whether the source has answered a query that has ended, and which had committed `before`."""
        if query.told.connected:
            self.retries.reached()
        # A batch or an idle round says that the source was there: what is counted are attempts in a row.
        if query.committed != before or query.told.is_idle:
            self.retries.progressed()

    def _hand_over(
        self, session: SparkSession, place: HadoopFolder | None, delivery: Delivery, *, anew: bool
    ) -> tuple[Generation, _Kept]:
        """The checkpoint to run on, and what the state keeps."""
        reach = partial(HadoopFolder, session) if delivery.form == "table rows" else None
        state = open_state(StatePlace.of(self.pipeline), place, reach)
        try:
            claim(state, self.pipeline, self.stopping, mirrors=delivery.mirrors)
            kept = delivery.offset_kept()
            if kept is None:
                leave_to_state(state)
            else:
                self._take_over(kept, state)
            if delivery.form == "table rows":
                refuse_anothers("spark", state, self.pipeline.folder, place)
            generation = hand_to_spark(state, self.pipeline.folder, place, anew=anew)
            if not self.pipeline.ledger:
                forget(state, *self._all_of(generation, place))
            offset = state.load_offset()
            saved = _Kept(offset, kept_in(state), remembered(state, offset))
            if self._copied(place) is not None:
                number_copy(state)
        finally:
            state.close()
        self._copy(place)
        if place is not None:
            self._remove_others(place, generation.id)
        return generation, saved

    def _all_of(self, generation: Generation, place: HadoopFolder | None) -> list[Folder]:
        """Where a checkpoint stands, and where it is shown to commands."""
        shown: list[Folder] = [generation.checkpoint(self.pipeline.folder)]
        return shown if place is None else [*shown, place / generation.id]

    def _take_over(self, kept: SinkOffset, state: StateStore) -> None:
        """Goes on from the offset that the sink has, which may be beyond that of the last checkpoint."""
        if kept.take_over(state):
            claim(state, self.pipeline, self.stopping)
        kept.own(state)

    def _remove_others(self, place: HadoopFolder, keep: str) -> None:
        """Takes the checkpoints away that nobody goes on from."""
        try:
            for other in place.iterdir():
                if other.name not in (COPIES, keep):
                    other.remove()
        except OSError as error:
            log.warning("old checkpoints stay: %s", error)

    def _copied(self, place: HadoopFolder | None) -> tuple[Path, HadoopFolder] | None:
        """The state folder that is copied, and where to; None where it is not: no store but `file` needs copies."""
        folder = self.pipeline.state_folder
        return None if place is None or folder is None else (folder, place / COPIES)

    def _copy(self, place: HadoopFolder | None) -> None:
        copied = self._copied(place)
        if copied is not None:
            copy_state(*copied)

    def _take_back(self, place: HadoopFolder | None) -> None:
        """Takes the query's last offset into the store. Where that fails now, the next start does it."""
        try:
            with closing(open_state(StatePlace.of(self.pipeline), place)) as state:
                if self._settled:
                    note_unbegun(state, self.pipeline.folder, place)
        except StateError as error:
            log.warning("%s", error)


def _notified(told: QueryNotices, notifications: SnapshotNotifications, end: Offset) -> Sequence[Record]:
    """The notifications of what is committed up to `end`."""
    told.told_of(end)
    return told.between(notifications.take)
