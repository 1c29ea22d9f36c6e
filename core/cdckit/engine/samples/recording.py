"""A source read beside its pipeline, for a sample of its records."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from cdckit.api.batch import Batch
from cdckit.api.source import Source, SourceContext
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_source
from cdckit.engine.runners.next_splits import next_splits
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.errors import SnapshotDueError, StoppedError


def sampled(pipeline: ResolvedPipeline, stopping: Callable[[], bool], *, follow: bool) -> Generator[Batch]:
    """The batches of a pipeline's source from where a new pipeline would start.

    The pipeline's own state is not touched: what the source keeps meanwhile is gone at the end.

    Args:
        pipeline: whose source is read.
        stopping: once true, reading ends.
        follow: whether the log is followed, else it ends where the log ends when the snapshot is over.

    Raises:
        SourceError: the source refuses, or is gone.
        DecodeError: an event cannot be understood.
    """
    beside = replace(pipeline, source=replace(pipeline.source, config=pipeline.source_config.beside()))
    with TemporaryDirectory(prefix="cdckit-") as folder, ExitStack() as stack:
        state = SqliteStateStore(Path(folder))
        stack.callback(state.close)
        source = make_source(beside)
        stack.callback(source.close)
        try:
            source.open(SourceContext(pipeline.name, state, stopping=stopping))
            yield from _batches(source, stopping, follow=follow)
        except StoppedError:
            return


def _batches(source: Source, stopping: Callable[[], bool], *, follow: bool) -> Iterator[Batch]:
    offset = source.initial_offset()
    last = False
    while not (last or stopping()):
        try:
            splits, last = next_splits(source, offset, once=not follow)
            if not splits:
                return
            for batch in (batch for split in splits for batch in source.read(split)):
                yield batch
                offset = offset if batch.offset is None else batch.offset
                if stopping():
                    return
        except SnapshotDueError:
            last = False
