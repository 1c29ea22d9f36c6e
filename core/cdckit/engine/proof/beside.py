"""The pipeline's source, read whole beside the pipeline: rows, and the log from where their reading began.

What a source promises of a snapshot's chunks is what makes this right: rows may be newer than the point that they stand
for, and the log behind that point brings every key to the state of the place where reading it ends. So no lock is
taken and no transaction is held open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Self

from cdckit.api.batch import Batch
from cdckit.api.marks import MarkKind, TableMark
from cdckit.api.record import Offset
from cdckit.api.source import Source, SourceContext, Split
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_source
from cdckit.engine.proof.kept_rows import KeptRows
from cdckit.engine.proof.load import FREE, Brake, MaxLoad
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.errors import CdcError, SourceError, StoppedError

_PARTS, _SMALL_PARTS = 8, 200
"""Into so many parts a large table is cut, which are read one after another; and where something is done between two of
them: the server's load is looked at, or what was read is kept."""


class Beside:
    """One reading.

    Args:
        pipeline: whose source is read.
        tables: the names of the tables; none: all that are captured.
        folder: where it may keep what it needs.
        stopping: once true, reading ends.
        load: how much of the source it may take.
        since: from where the log alone is read; None: rows are read first.
    """

    def __init__(
        self,
        pipeline: ResolvedPipeline,
        tables: Sequence[str],
        folder: Path,
        stopping: Callable[[], bool],
        load: MaxLoad = FREE,
        since: Offset | None = None,
    ) -> None:
        self._tables = tables
        config = pipeline.source_config.whole(tables) if since is None else pipeline.source_config.anew(tables)
        self._pipeline = replace(pipeline, source=replace(pipeline.source, config=config))
        self._folder = folder
        self._stopping = stopping
        self._load = load
        self._stack = ExitStack()
        self._source: Source | None = None
        self._at: Offset = since or {}

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        state = SqliteStateStore(self._folder)
        self._stack.callback(state.close)
        self._source = source = make_source(self._pipeline)
        self._stack.callback(source.close)
        source.open(SourceContext(self._pipeline.name, state, stopping=self._stopping, marks=True))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def rows(self) -> Iterator[Batch]:
        """All rows, after the marks that tell of their tables; the log goes on from the point that was taken before."""
        for _, batches in self.parts():
            yield from batches

    def parts(self, kept: KeptRows | None = None) -> Iterator[tuple[int, Iterator[Batch]]]:
        """The same by its parts; of those that are kept nothing but such marks."""
        source = self._opened
        point, splits = (None, ()) if kept is None else (kept.point, kept.splits)
        if point is None:
            start = source.initial_offset()
            point = source.latest_offset(start)
            small = self._load.figures or kept is not None
            splits = source.plan(start, point, _SMALL_PARTS if small else _PARTS)
            if kept is not None:
                kept.begin(point, splits)
        brake = Brake(self._load, source, self._stopping)
        for number, split in enumerate(splits):
            if kept is None or not kept.is_done(number):
                brake.before_part()
                yield number, self._read(split, brake)
            elif kept.tells_tables(number):
                yield number, takewhile(lambda batch: not batch.records, source.read(split))
        self._at = point

    def planned(self, parts: int) -> Sequence[Split]:
        """The parts of all rows, about so many, for others to read; the log goes on from the point that was taken."""
        source = self._opened
        start = source.initial_offset()
        self._at = source.latest_offset(start)
        return source.plan(start, self._at, parts)

    def marks(self, splits: Sequence[Split]) -> Iterator[TableMark]:
        """The marks that tell of the tables, which come before all rows."""
        for split in splits:
            for batch in self._opened.read(split):
                yield from batch.marks
                if batch.records:
                    return

    @property
    def pipeline(self) -> ResolvedPipeline:
        """The pipeline with the options of this reading."""
        return self._pipeline

    def _read(self, split: Split, brake: Brake) -> Iterator[Batch]:
        for batch in self._opened.read(split):
            yield batch
            brake.took(len(batch.records))

    def end(self) -> Offset:
        """Where the log ends now."""
        return self._opened.latest_offset(self._at)

    def changes(self, end: Offset) -> Iterator[Batch]:
        """The log up to `end`, from where it was read to."""
        source = self._opened
        if end == self._at:
            return
        for split in source.plan(self._at, None):
            for part in source.bounded(split, end):
                yield from source.read(part)
        self._at = end

    @property
    def looks_up(self) -> bool:
        """Whether rows that the log tells of are as they were when it was read."""
        return self._pipeline.source_config.looks_up_rows

    def met(self, place: Offset) -> Iterator[tuple[Batch, bool]]:
        """What brings all that was read to a place behind it; with true what the sink may have instead.

        A log that looks rows up is read by whoever asked for the place a moment later: rows may be newer than it.
        """
        if self.looks_up:
            yield from self._opened.as_it_was(self._at, place)
            self._at = place
        else:
            yield from ((batch, False) for batch in self.changes(place))

    def passed(self, offset: Offset, point: Offset) -> bool:
        """Whether all before `point` lies before `offset`."""
        return self._opened.passed(offset, point)

    def still(self, offset: Offset, point: Offset) -> bool:
        """Whether the log from `offset` to `point` tells nothing of the tables, be it that others were written."""
        beside = Beside(self._pipeline, self._tables, self._folder / "still", self._stopping, since=offset)
        try:
            with beside:
                return not any(batch.records or _settles(batch.marks) for batch in beside.changes(point))
        except StoppedError:
            raise
        except CdcError:  # such as a definition that has changed since
            return False

    @property
    def _opened(self) -> Source:
        if self._source is None:
            raise SourceError("the source is not open")
        return self._source


def _settles(marks: Sequence[TableMark]) -> bool:
    return any(mark.kind not in (MarkKind.SNAPSHOT_BEGIN, MarkKind.SNAPSHOT_END) for mark in marks)


def position_text(offset: Offset) -> str:
    """An offset in words, for people: what it names of the source's own terms."""
    shown = {name: value for name, value in offset.items() if isinstance(value, str | int) and "cdckit" not in name}
    return ", ".join(f"{name} {value}" for name, value in shown.items())
