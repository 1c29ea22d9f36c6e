"""The direct runner: source, transforms, serializer and sink in one process, without a JVM."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from typing import TYPE_CHECKING

from cdckit.api.batch import Batch
from cdckit.api.sink import Sink, TableSink
from cdckit.api.source import Source, SourceContext
from cdckit.api.source_counts import SourceCounts
from cdckit.api.state_store import StateStore
from cdckit.connector.signals.inbox import FOLDER
from cdckit.engine.barrier import BarrierRequests
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import Encoder, make_encoder, make_sink, make_source, make_tail_sink, sink_context
from cdckit.engine.quarantine.delivery import tolerant
from cdckit.engine.runners.garbage import spare_collections
from cdckit.engine.runners.handover import Handover
from cdckit.engine.runners.looks import Looks
from cdckit.engine.runners.next_splits import Work, next_work
from cdckit.engine.runners.parts_notices import PartsNotices
from cdckit.engine.runners.progress import Progress
from cdckit.engine.runners.retries import Retries
from cdckit.engine.runners.runner import Runner
from cdckit.engine.runners.sink_offset import SinkOffset
from cdckit.engine.runners.start import claim
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.runners.table_run import TableRun
from cdckit.engine.state.begun_tables import refuse_anothers
from cdckit.engine.state.ledger_file import forget
from cdckit.engine.state.offset_owner import leave_to_state
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.runner_handover import open_state
from cdckit.errors import (
    CdcError,
    ConfigError,
    RetriableSinkError,
    RetriableSourceError,
    SinkError,
    SnapshotDueError,
    StateError,
    StoppedError,
)
from cdckit.tables.direct import DirectTableSink

if TYPE_CHECKING:
    from cdckit.engine.ledger.ledger import Ledger

log = logging.getLogger("cdckit.runner")


class DirectRunner(Runner):
    """Drives a pipeline in this process: one split after another, then along the open-ended one.

    An offset is saved at the most every `offset.flush.interval.ms`, and only after the sink's flush.
    """

    name = "direct"

    def __init__(
        self, pipeline: ResolvedPipeline, stopping: StopSignal | None = None, handover: Handover | None = None
    ) -> None:
        """Of a pipeline on Spark whose tail this process has, `handover` says when Spark goes on."""
        super().__init__(pipeline, stopping)
        self.handover = handover
        self._told = PartsNotices(self.notices)

    def drive(self, stack: ExitStack, once: bool) -> None:
        """Opens state, sink and source, and reads on from the saved offset."""
        name, stopping = self.pipeline.name, self.stopping
        state = open_state(StatePlace.of(self.pipeline))
        stack.callback(state.close)
        made = make_tail_sink(self.pipeline) if self.handover else make_sink(self.pipeline)
        if isinstance(made, DirectTableSink):
            self._drive_tables(stack, state, made, once)
            return
        claim(state, self.pipeline, self.stopping)
        plain = make_encoder(self.pipeline)
        stack.callback(plain.close)
        self.look_at(plain.chain)
        encode, sink, undecoded = tolerant(self.pipeline, plain, self._sink(made), self.figures.faults, stack)
        if sink.transactions is None:
            # A pipeline that was exactly-once before leaves its offset to the state again.
            leave_to_state(state)
        # Closing goes the other way round: source, sink, serializer, and last the state, which all of them may still
        # need.
        stack.callback(sink.close)
        sink.open(sink_context(name, encode.serializer, once=once, stopping=stopping))
        self.figures.queue = sink.queue_fill
        kept = self._kept_by(sink, state)
        source = make_source(self.pipeline)
        stack.callback(source.close)
        counts = SourceCounts(wanted=self.measured)
        inbox, at_start = self.pipeline.folder / FOLDER, self.starts
        source.open(
            SourceContext(
                name, state, self._told, stopping, counts=counts, inbox=inbox, starts=at_start, undecoded=undecoded
            )
        )
        saved = state.load_offset()
        self.notices.started(self.name, saved)
        interval = self.pipeline.offset_flush_interval_ms / 1000
        away, pace, ahead = self.figures.sink_away, self.figures.pace, self.forecaster(source)
        ledger = self._ledger(plain, state, source)
        barriers = BarrierRequests(self.pipeline.folder)
        progress = Progress(
            saved, interval, sink, state, source, self.notices, counts, away, kept, pace, ahead, ledger, barriers
        )
        spare_collections()
        self._drive_to_the_end(source, encode, progress, Looks(source, encode.chain, self.notices), once)

    def _drive_to_the_end(self, source: Source, encode: Encoder, progress: Progress, looks: Looks, once: bool) -> None:
        """Drives, and saves what was delivered, whatever ends it but the sink and the state."""
        try:
            self._drive(source, encode, progress, looks, once)
        except StoppedError as error:
            log.info("%s", error)
        # What the sink or the state did not take must not be passed by a saved offset.
        except (SinkError, StateError):
            raise
        except CdcError:
            progress.save()  # what came before the fault is delivered: the restart need not repeat it
            raise
        progress.save()
        looks.ended()

    def _drive_tables(self, stack: ExitStack, state: StateStore, sink: DirectTableSink, once: bool) -> None:
        """The same for a sink that keeps tables, unless Spark has begun a batch of them that it ends itself."""
        if self.handover is None:
            refuse_anothers("direct", state, self.pipeline.folder)
        elif self.handover.is_sparks(state, self.pipeline.folder):
            return
        claim(state, self.pipeline, self.stopping, mirrors=sink.mirrors)
        TableRun(self, state, sink, self.handover).run(stack, once=once)

    def _sink(self, sink: Sink | TableSink) -> Sink:
        if not isinstance(sink, Sink):
            kind = self.pipeline.sink.registration.name
            raise ConfigError(f"sink.type: '{kind}' keeps Spark tables; set 'runner: spark' for it", number="CDC2401")
        return sink

    def _ledger(self, encode: Encoder, state: StateStore, source: Source) -> Ledger | None:
        if not self.pipeline.ledger:
            forget(state)
            return None
        from cdckit.engine.ledger.keeper import ledger_of  # noqa: PLC0415 - it needs an extra

        return ledger_of(self.pipeline, encode, state, source)

    def _kept_by(self, sink: Sink, state: StateStore) -> SinkOffset | None:
        """The offset that the sink keeps, and the state has, too, by then; None where the state alone keeps it."""
        if sink.transactions is None:
            return None
        kept = SinkOffset(sink.transactions, self.pipeline)
        if kept.take_over(state):
            claim(state, self.pipeline, self.stopping)
        kept.own(state)
        return kept

    def _drive(self, source: Source, encode: Encoder, progress: Progress, looks: Looks, once: bool) -> None:
        """Reads on from where it has come; again after a pause while the source is away."""
        retries, offset = self.retries, progress.offset
        while not self.stopping():
            try:
                if offset is None:
                    offset = source.initial_offset()
                work = next_work(source, offset, once, self.handover)
                if work is None:
                    return
                retries.reached()
                looks.planned()
                if self._read(work, source, encode, progress, looks, retries):
                    return
            except SnapshotDueError as error:  # the source has said why
                retries.begins_anew(error)
                progress.begin_anew()
            except (RetriableSourceError, RetriableSinkError) as error:
                self._pause(error, retries, progress)
            else:
                if work.ends:
                    return
            offset = progress.offset if progress.offset is not None else offset

    def _read(
        self, work: Work, source: Source, encode: Encoder, progress: Progress, looks: Looks, retries: Retries
    ) -> bool:
        """Delivers what is to be read next; gives whether this process is to end before there is more."""
        for batch in (batch for split in work.splits for batch in source.read(split)):
            for messages in encode.portions(batch.records):
                progress.write(messages)
            progress.took(batch)
            retries.progressed()
            self.figures.source_away.end()
            looks.delivered()
            if self.stopping() or self._gives_way(batch):
                return True
        if work.end is not None and not self.stopping():  # else a split may have ended before its end
            progress.took(Batch([], work.end, save=True))
            self._told.delivered(work.end, source)
        return False

    def _gives_way(self, batch: Batch) -> bool:
        """Whether Spark goes on behind a batch, from where none of its records comes again."""
        if self.handover is None or batch.offset is None or batch.repeats or not self.handover.due():
            return False
        self.handover.give()
        return True

    def _pause(self, error: RetriableSourceError | RetriableSinkError, retries: Retries, progress: Progress) -> None:
        """Saves what has come so far, and waits for the source, for the sink, or for what stands before it."""
        if isinstance(error, RetriableSinkError):
            retries.reached()  # the source has given what could not be passed on
            self.figures.sink_away.begin()
        elif retries.due:
            self.notices.connection(connected=False, reason=str(error))
        else:
            raise error
        try:
            progress.save()
        except RetriableSinkError as fault:
            error = fault
        retries.pause(error)
        progress.look_ahead(waiting=True)
        while not self.stopping():
            try:
                progress.rewind()
            except RetriableSinkError as fault:
                retries.pause(fault)
                progress.look_ahead(waiting=True)
            else:
                break
