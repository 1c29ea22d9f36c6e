"""Where a source's log is, asked for by the driver while the planner holds the state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from cdckit.api.record import Offset
from cdckit.api.source import Source, SourceContext
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_source
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.viewed import ViewedState


class AskedLog:
    """Asks by a source of its own, each time anew: that is seldom, and the state is another one by then.

    Args:
        pipeline: whose source it is.
    """

    def __init__(self, pipeline: ResolvedPipeline) -> None:
        self._pipeline = pipeline

    def log_end(self, offset: Offset) -> Offset:
        """Where it ends now, behind an offset that may not be saved yet; raises as the source does."""
        with self._source() as source:
            return source.log_end(offset)

    def passed(self, offset: Offset, point: Offset) -> bool:
        """Whether all before `point` lies before `offset`."""
        with self._source() as source:
            return source.passed(offset, point)

    @contextmanager
    def _source(self) -> Iterator[Source]:
        with (
            closing(make_source(self._pipeline)) as source,
            closing(StatePlace.of(self._pipeline).backend.view(self._pipeline.name)) as view,
        ):
            source.open(SourceContext(self._pipeline.name, ViewedState(view)))
            yield source
