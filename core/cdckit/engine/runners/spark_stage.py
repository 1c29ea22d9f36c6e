"""How long a stage on Spark lasts, of a pipeline whose tail a direct process has (`tail: direct`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cdckit.engine.metrics.figures import Figures
from cdckit.engine.runners.stop import StopSignal

if TYPE_CHECKING:
    from cdckit.engine.spark.notices import QueryNotices

_BACK = 0.5
"""Spark gives the tail back once it is behind by this share of what a direct process may be."""
_POLL_SECONDS = 0.25


class SparkStage(StopSignal):
    """Ends a stage on Spark: once that has caught up, or the pipeline is to stop.

    Args:
        outer: says when the pipeline is to stop.
        figures: tell how far it is behind.
        limit_seconds: how far a direct process may be.

    Attributes:
        caught_up: whether it has.
        settled: whether Spark has left no batch that it had begun.
    """

    def __init__(self, outer: StopSignal, figures: Figures, limit_seconds: float) -> None:
        super().__init__()
        self.caught_up = False
        self.settled = False
        self._outer = outer
        self._figures = figures
        self._limit = limit_seconds * _BACK
        self._told: QueryNotices | None = None

    def watch(self, told: QueryNotices) -> None:
        """Takes what the query's processes tell from now on."""
        self._told = told

    def __call__(self) -> bool:
        """Whether it is to end."""
        self.caught_up = self.caught_up or self._has_caught_up()
        return self.caught_up or self._outer()

    def wait(self, seconds: float) -> bool:
        """Waits up to `seconds`; true as soon as the pipeline is to stop, or soon after Spark has caught up."""
        while seconds > 0 and not self():
            self._outer.wait(min(seconds, _POLL_SECONDS))
            seconds -= _POLL_SECONDS
        return self()

    def _has_caught_up(self) -> bool:
        told, lag = self._told, self._figures.lag_seconds
        if told is None:
            return False
        return told.is_idle or (lag is not None and lag <= self._limit and not told.rows_left)
