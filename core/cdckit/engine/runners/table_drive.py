"""Drives a pipeline whose sink keeps tables in this process.

A snapshot is one batch, planned as a whole, as on Spark: its end is kept in the state before anything is read, so that
it is read again up to there if it was not finished. Then the log is followed, in batches that end when it is time.
Where tables are read again, what the log told before is written, and its end saved, before they are planned.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from cdckit.api.batch import Batch
from cdckit.api.marks import RoutedMark
from cdckit.api.record import Offset, Record
from cdckit.api.source import Source
from cdckit.engine.chain import TransformChain
from cdckit.engine.mark_routes import MarkRoutes
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.runners.handover import Handover
from cdckit.engine.runners.looks import Looks
from cdckit.engine.runners.next_splits import Work, next_splits
from cdckit.engine.runners.parts_notices import PartsNotices
from cdckit.engine.runners.retries import Retries
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.runners.table_progress import TableProgress
from cdckit.errors import RetriableSinkError, RetriableSourceError, RowsRefusedError, SnapshotDueError

log = logging.getLogger("cdckit.runner")


class TableDrive:
    """Reads, and gives what was read to the sink.

    Args:
        source: is open.
        progress: takes batches.
        looks: is told what happens.
        retries: says when a source or sink that is away is asked again.
        stopping: asked between batches.
        figures: are told of who is away.
        notices: tell the hooks of a source that is, and when a snapshot is over.
        handover: says when Spark goes on; None: never.
    """

    def __init__(
        self,
        source: Source,
        progress: TableProgress,
        looks: Looks,
        retries: Retries,
        stopping: StopSignal,
        figures: Figures,
        notices: PartsNotices,
        handover: Handover | None = None,
    ) -> None:
        self._source = source
        self._progress = progress
        self._looks = looks
        self._retries = retries
        self._stopping = stopping
        self._figures = figures
        self._notices = notices
        self._handover = handover

    def run(self, *, once: bool) -> None:
        """Until asked to stop; `once`: up to where the log ends now.

        Raises:
            CdcError: what stopped it.
        """
        while not self._is_over:
            try:
                work = self._next(once=once)
                self._retries.reached()
                self._looks.planned()
                self._read(work)
                if work.ends and self._progress.batches.planned_end is None:
                    self._progress.save()  # here, where what a table refuses can still be looked for
            except SnapshotDueError as error:  # the source has said why
                self._retries.begins_anew(error)
                self._progress.begin_anew()
            except RowsRefusedError as error:
                self._progress.isolates(error)
                self._progress.rewind()
            except (RetriableSourceError, RetriableSinkError) as error:
                self._pause(error)
            else:
                if work.ends:
                    return

    @property
    def _is_over(self) -> bool:
        """Whether this process is to end."""
        return self._stopping() or (self._handover is not None and self._handover.given)

    def _next(self, *, once: bool) -> Work:
        progress, source = self._progress, self._source
        progress.pass_chunks()
        source.begun(progress.begun)
        source.tell_ends(wanted=progress.searches)
        offset = progress.offset if progress.offset is not None else source.initial_offset()
        end = progress.batches.planned_end
        if end is None and (end := source.snapshot_point(offset)) is not None:
            if self._handover is not None:
                return self._part(self._handover, offset, end)
            progress.plan(end)
        if end is not None:
            return Work(source.plan(offset, end), end=end)
        return Work(*next_splits(source, offset, once))

    def _part(self, handover: Handover, offset: Offset, point: Offset) -> Work:
        """A part of a snapshot as one batch; nothing where Spark reads it."""
        part = handover.part(self._source, offset, point)
        if part is None:
            return Work(())
        self._progress.plan(part.end)
        return Work(part.splits, end=part.end)

    def _read(self, work: Work) -> None:
        batches = (batch for split in work.splits for batch in self._source.read(split))
        if work.end is None:
            self._follow(batches)
            return
        for batch in batches:
            self._progress.took_part(batch)
            self._progressed()
        if not self._stopping():  # else it may have ended before its end
            self._progress.finish(work.end)
            self._looks.delivered()
            self._notices.delivered(work.end, self._source)

    def _follow(self, batches: Iterable[Batch]) -> None:
        for batch in batches:
            self._progress.took(batch)
            self._progressed()
            self._looks.delivered()
            if self._stopping() or self._gives_way():
                return

    def _gives_way(self) -> bool:
        """Whether Spark goes on: behind a saved offset, with no table ahead of it."""
        if self._handover is None or not self._handover.due():
            return False
        self._progress.save()
        if self._progress.settled:
            self._handover.give()
        return self._progress.settled

    def _progressed(self) -> None:
        self._retries.progressed()
        self._figures.source_away.end()

    def _pause(self, error: RetriableSourceError | RetriableSinkError) -> None:
        """Commits what has come from a source that is away; of a sink that is, all comes again."""
        if isinstance(error, RetriableSinkError):
            self._retries.reached()
            self._figures.sink_away.begin()
        elif not self._retries.due:
            raise error
        else:
            self._notices.connection(connected=False, reason=str(error))
            if self._progress.batches.planned_end is None:
                try:
                    self._progress.save()
                except RetriableSinkError as fault:
                    error = fault
        self._retries.pause(error)
        self._progress.look_ahead(waiting=True)
        self._progress.rewind()


class Transforms:
    """What the transforms make of batches.

    Args:
        chain: the pipeline's.
        apply: what applies it to records, if not the chain itself.
    """

    def __init__(
        self, chain: TransformChain, apply: Callable[[Sequence[Record]], Sequence[Record]] | None = None
    ) -> None:
        self._apply = apply or chain.apply
        self._routes = MarkRoutes(chain)

    def __call__(self, batch: Batch) -> tuple[Sequence[Record], Sequence[RoutedMark]]:
        """The records, and the marks at the tables that their rows arrive at.

        Raises:
            TransformError: a transform failed on a named record.
        """
        return self._apply(batch.records), [routed for mark in batch.marks for routed in self._routes.of(mark)]
