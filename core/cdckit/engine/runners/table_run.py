"""A run of the direct runner whose sink keeps tables."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from cdckit.api.notices import Notices
from cdckit.api.record import Record
from cdckit.api.source import Source, SourceContext
from cdckit.api.source_counts import SourceCounts
from cdckit.api.state_store import StateStore
from cdckit.connector.notifications import NotificationOptions, Notifications
from cdckit.connector.notifications.listener import ReadInPartsListener
from cdckit.connector.signals.inbox import FOLDER
from cdckit.engine.barrier import BarrierRequests
from cdckit.engine.chain import TransformChain, make_chain
from cdckit.engine.pipeline import make_source
from cdckit.engine.quarantine.entries import Entries
from cdckit.engine.quarantine.faulty import FaultyRecords
from cdckit.engine.quarantine.places import open_quarantine
from cdckit.engine.quarantine.rows import TolerantRows
from cdckit.engine.runners.garbage import spare_collections
from cdckit.engine.runners.handover import Handover
from cdckit.engine.runners.isolation import Isolation
from cdckit.engine.runners.looks import Looks
from cdckit.engine.runners.parts_notices import PartsNotices
from cdckit.engine.runners.runner import Runner
from cdckit.engine.runners.table_drive import TableDrive, Transforms
from cdckit.engine.runners.table_progress import TableProgress
from cdckit.engine.state.ledger_file import forget
from cdckit.engine.state.made_tables import tables_in
from cdckit.engine.state.offset_owner import leave_to_state
from cdckit.engine.state.table_batches import TableBatches
from cdckit.engine.table_context import table_context
from cdckit.errors import CdcError, SinkError, StateError, StoppedError
from cdckit.tables.direct import DirectTableSink

if TYPE_CHECKING:
    from cdckit.engine.ledger.record_rows import RecordLedger

log = logging.getLogger("cdckit.runner")

_IDLE_SECONDS = 0.05
"""How often a still log gives an empty batch, so that what waits for a commit is written."""


class TableRun:
    """One run.

    Args:
        runner: whose it is.
        state: the pipeline's, held.
        sink: not yet opened.
        handover: says when Spark goes on; None: never.
    """

    def __init__(
        self, runner: Runner, state: StateStore, sink: DirectTableSink, handover: Handover | None = None
    ) -> None:
        self._runner = runner
        self._pipeline = runner.pipeline
        self._state = state
        self._sink = sink
        self._handover = handover

    def run(self, stack: ExitStack, *, once: bool) -> None:
        """Until the log's end (`once`), or asked to stop.

        Raises:
            CdcError: what stopped it; what was saved last stands.
        """
        runner, state, sink = self._runner, self._state, self._sink
        chain = make_chain(self._pipeline.transforms)
        stack.callback(chain.close)
        runner.look_at(chain)
        leave_to_state(state)
        stack.callback(sink.close)
        faulty = self._faulty(chain, stack)
        told = PartsNotices(self._notified())
        if self._handover is None:
            stack.callback(told.broken_off)
        source, counts = self._opened(stack, faulty, told)
        saved = state.load_offset()
        batches = TableBatches(state, saved)
        activity, made = runner.notices.activity, tables_in(state)
        marks = source.tells_marks
        context = table_context(self._pipeline, batches.generation, state.get, activity, made, marks=marks)
        sink.open(context)
        sink.begin(batches.generation, batches.begun)
        runner.notices.started(runner.name, saved)
        interval = self._pipeline.offset_flush_interval_ms / 1000
        notices, figures, ahead = runner.notices, runner.figures, runner.forecaster(source)
        barriers, name = BarrierRequests(self._pipeline.folder), context.name
        transforms, settle = self._tolerant(chain, faulty)
        parts = (saved, interval, sink, batches, transforms, state, source, notices, counts, figures, ahead)
        isolation = None if faulty is None else Isolation(faulty, self._pipeline.sink.registration.name)
        progress = TableProgress(*parts, barriers, name, settle, isolation, self._ledger(source))
        spare_collections()
        looks = Looks(source, chain, runner.notices)
        retries = runner.retries
        try:
            TableDrive(source, progress, looks, retries, runner.stopping, figures, told, self._handover).run(once=once)
        except StoppedError as error:
            log.info("%s", error)
        except (SinkError, StateError):
            raise
        except CdcError:
            self._save(progress)  # what came before the fault is delivered: the restart need not repeat it
            raise
        self._save(progress)
        looks.ended()

    def _notified(self) -> Notices:
        """Whom the source tells of its snapshot, with the notifications of it; tables have no rows of these."""
        config, told = self._pipeline.source_config, self._runner.notices
        if self._handover is not None or not isinstance(config, NotificationOptions):
            return told
        channels = "log" if config.logs_notifications else ""
        config = config.model_copy(update={"notification_enabled_channels": channels})
        return ReadInPartsListener(Notifications(config, config.logical_name or self._pipeline.name, told), told)

    def _ledger(self, source: Source) -> RecordLedger | None:
        if not self._pipeline.ledger:
            forget(self._state)
            return None
        from cdckit.engine.ledger.keeper import table_ledger_of  # noqa: PLC0415 - it needs an extra

        return table_ledger_of(self._pipeline, self._state, source, mirrors=self._sink.mirrors)

    def _save(self, progress: TableProgress) -> None:
        """Of what was planned as a whole, nothing is kept that is not finished."""
        if progress.batches.planned_end is None:
            progress.save()

    def _faulty(self, chain: TransformChain, stack: ExitStack) -> FaultyRecords | None:
        """What takes records that cannot be delivered; None where they stop the pipeline."""
        errors, store = self._pipeline.errors, None
        if errors.tolerance == "none":
            return None
        if errors.tolerance == "quarantine":
            store = open_quarantine(errors)
            stack.callback(store.close)
        return FaultyRecords(errors, store, self._runner.figures.faults, Entries.of(self._pipeline, chain))

    def _tolerant(self, chain: TransformChain, faulty: FaultyRecords | None) -> tuple[Transforms, Callable[[], None]]:
        if faulty is None:
            return Transforms(chain), lambda: None

        def made(records: Sequence[Record]) -> Sequence[Record]:
            behind = chain.apply(records)
            self._sink.judge(behind)
            return behind

        rows = TolerantRows(made, faulty, self._pipeline.sink.registration.name)
        return Transforms(chain, rows), faulty.sync

    def _opened(
        self, stack: ExitStack, faulty: FaultyRecords | None, told: PartsNotices
    ) -> tuple[Source, SourceCounts]:
        source = make_source(self._pipeline)
        stack.callback(source.close)
        counts = SourceCounts(wanted=self._runner.measured)
        context = SourceContext(
            self._pipeline.name,
            self._state,
            told,
            self._runner.stopping,
            idle_seconds=_IDLE_SECONDS,
            inbox=self._pipeline.folder / FOLDER,
            counts=counts,
            starts=self._runner.starts,
            marks=True,
            undecoded=faulty.undecoded if faulty is not None and self._pipeline.errors.keeps_undecoded else None,
        )
        source.open(context)
        return source, counts
