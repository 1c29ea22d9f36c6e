"""Spans of what a pipeline does: each batch that is safe, each snapshot, and what a run has ended by."""

from __future__ import annotations

import time
from collections.abc import Mapping

from opentelemetry.trace import Span, Status, StatusCode, Tracer

from cdckit.api.hookspecs import hookimpl
from cdckit.engine.metrics.figures import Figures

BATCH, SNAPSHOT, FAILURE = "cdckit batch", "cdckit snapshot", "cdckit failure"

Attribute = str | int | float | bool


class SpanListener:
    """Makes the spans of one pipeline; other pipelines of the process have their own.

    Args:
        tracer: makes spans.
        figures: the pipeline's.
        tags: attributes of every span.
    """

    def __init__(self, tracer: Tracer, figures: Figures, tags: Mapping[str, str]) -> None:
        self._tracer = tracer
        self._figures = figures
        self._attributes: dict[str, Attribute] = {
            "cdckit.pipeline": figures.pipeline,
            "cdckit.server": figures.server,
            "cdckit.runner": figures.runner,
            "cdckit.source": figures.source,
            "cdckit.sink": figures.place.sink,
            **{f"cdckit.tag.{name}": value for name, value in tags.items()},
        }
        self._snapshot: Span | None = None

    @hookimpl
    def cdckit_batch_committed(
        self, pipeline: str, records: int, log_time_ms: int | None, log_bytes: int, lag_bytes: int | None
    ) -> None:
        """Records are safe: a span from when the first of them was read."""
        pace = self._figures.pace
        if pipeline != self._figures.pipeline or not records:
            return
        begun, pace.begun_at = pace.begun_at, None
        told: dict[str, Attribute | None] = {
            "cdckit.records": records,
            "cdckit.log.bytes": log_bytes,
            "cdckit.lag.bytes": lag_bytes,
            "cdckit.lag.ms": None if log_time_ms is None else max(0, int(time.time() * 1000) - log_time_ms),
        }
        known = {name: value for name, value in told.items() if value is not None}
        span = self._tracer.start_span(
            BATCH, start_time=None if begun is None else int(begun * 1e9), attributes={**self._attributes, **known}
        )
        span.end()

    @hookimpl
    def cdckit_snapshot_started(self, pipeline: str, data_collections: Mapping[str, int | None]) -> None:
        """A snapshot begins."""
        if pipeline == self._figures.pipeline:
            self._end_snapshot(completed=False)
            attributes = {**self._attributes, "cdckit.tables": len(data_collections)}
            self._snapshot = self._tracer.start_span(SNAPSHOT, attributes=attributes)

    @hookimpl
    def cdckit_snapshot_ended(self, pipeline: str, completed: bool) -> None:
        """It is over."""
        if pipeline == self._figures.pipeline:
            self._end_snapshot(completed=completed)

    @hookimpl
    def cdckit_stopped(self, pipeline: str, error: BaseException | None) -> None:
        """The run is over; an error is told without the errors below it, whose words are a driver's."""
        if pipeline != self._figures.pipeline:
            return
        self._end_snapshot(completed=False)
        if error is not None:
            said = {"exception.type": type(error).__name__, "exception.message": str(error)}
            span = self._tracer.start_span(FAILURE, attributes=self._attributes)
            span.add_event("exception", said)
            span.set_status(Status(StatusCode.ERROR, str(error)))
            span.end()

    def _end_snapshot(self, *, completed: bool) -> None:
        span, self._snapshot = self._snapshot, None
        if span is not None:
            span.set_attribute("cdckit.rows", self._figures.snapshot.rows)
            span.set_status(Status(StatusCode.OK if completed else StatusCode.ERROR))
            span.end()
