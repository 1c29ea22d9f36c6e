"""A run of the direct runner whose sink keeps tables."""

from __future__ import annotations

import logging
from contextlib import ExitStack

from cdckit.api.source import Source, SourceContext
from cdckit.api.source_counts import SourceCounts
from cdckit.api.state_store import StateStore
from cdckit.connector.resnapshot import KEPT_AS as RESNAPSHOT, Resnapshot
from cdckit.connector.signals.inbox import FOLDER
from cdckit.engine.accepted import KEPT_AS as ACCEPTED, acceptances
from cdckit.engine.chain import make_chain
from cdckit.engine.pipeline import make_source
from cdckit.engine.runners.garbage import spare_collections
from cdckit.engine.runners.looks import Looks
from cdckit.engine.runners.retries import Retries
from cdckit.engine.runners.runner import Runner
from cdckit.engine.runners.table_drive import TableDrive, Transforms
from cdckit.engine.runners.table_progress import TableProgress
from cdckit.engine.state.offset_owner import leave_to_state
from cdckit.engine.state.table_batches import TableBatches
from cdckit.errors import CdcError, SinkError, StateError, StoppedError
from cdckit.tables.context import TableContext
from cdckit.tables.direct import DirectTableSink

log = logging.getLogger("cdckit.runner")

_IDLE_SECONDS = 0.05
"""How often a still log gives an empty batch, so that what waits for a commit is written."""


class TableRun:
    """One run.

    Args:
        runner: whose it is.
        state: the pipeline's, held.
        sink: not yet opened.
    """

    def __init__(self, runner: Runner, state: StateStore, sink: DirectTableSink) -> None:
        self._runner = runner
        self._pipeline = runner.pipeline
        self._state = state
        self._sink = sink

    def run(self, stack: ExitStack, *, once: bool) -> None:
        """Until the log's end (`once`), or asked to stop.

        Raises:
            CdcError: what stopped it; what was saved last stands.
        """
        runner, state, sink = self._runner, self._state, self._sink
        chain = make_chain(self._pipeline.transforms)
        stack.callback(chain.close)
        leave_to_state(state)
        stack.callback(sink.close)
        source, counts = self._opened(stack)
        saved = state.load_offset()
        batches = TableBatches(state, saved)
        sink.open(self._context(source, batches))
        sink.begin(batches.generation, batches.begun)
        runner.notices.started(runner.name, saved)
        interval = self._pipeline.offset_flush_interval_ms / 1000
        progress = TableProgress(
            saved, interval, sink, batches, Transforms(chain), state, source, runner.notices, counts
        )
        spare_collections()
        looks = Looks(source, chain, runner.notices)
        retries = Retries(source.retry_schedule(), runner.stopping)
        try:
            TableDrive(source, progress, looks, retries, runner.stopping).run(once=once)
        except StoppedError as error:
            log.info("%s", error)
        except (SinkError, StateError):
            raise
        except CdcError:
            self._save(progress)  # what came before the fault is delivered: the restart need not repeat it
            raise
        self._save(progress)
        looks.ended()

    def _save(self, progress: TableProgress) -> None:
        """Of what was planned as a whole, nothing is kept that is not finished."""
        if progress.batches.planned_end is None:
            progress.save()

    def _opened(self, stack: ExitStack) -> tuple[Source, SourceCounts]:
        source = make_source(self._pipeline)
        stack.callback(source.close)
        counts = SourceCounts(wanted=self._runner.measured)
        context = SourceContext(
            self._pipeline.name,
            self._state,
            self._runner.notices,
            self._runner.stopping,
            idle_seconds=_IDLE_SECONDS,
            inbox=self._pipeline.folder / FOLDER,
            counts=counts,
            marks=True,
        )
        source.open(context)
        return source, counts

    def _context(self, source: Source, batches: TableBatches) -> TableContext:
        config = self._pipeline.source_config
        return TableContext(
            self._pipeline.name,
            batches.generation,
            skipped=config.skipped,
            partial_updates=config.partial_updates,
            marks=source.tells_marks,
            read_again=self._read_again,
            accepted=lambda: acceptances(self._state.get(ACCEPTED)),
            activity=self._runner.notices.activity,
        )

    def _read_again(self) -> dict[str, str]:
        wanted = Resnapshot.from_json(self._state.get(RESNAPSHOT))
        return {} if wanted is None else dict.fromkeys(wanted.tables, wanted.id)
