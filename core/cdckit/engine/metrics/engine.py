"""The engine's own metrics, the same for every source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cdckit.api.sink import QueueFill
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.metric import Metric, counter, counters, gauge, info


def operations(figures: Figures) -> dict[str, float]:
    """Events by operation: of the log those that the source counted, of snapshots the rows."""
    return {**dict.fromkeys("cudt", 0.0), **dict(figures.counts.operations), "r": figures.snapshot.rows_ever}


def _pipeline(figures: Figures) -> Iterator[Mapping[str, Any]]:
    yield {"runner": figures.runner, "source": figures.source}


def _queue(figures: Figures, value: str) -> float | None:
    fill: QueueFill | None = figures.queue()
    return None if fill is None else float(getattr(fill, value))


ENGINE: tuple[Metric, ...] = (
    info("cdckit_pipeline", "The pipeline: its runner and its source.", _pipeline),
    gauge("cdckit_running", "Whether the pipeline runs.", lambda f: f.state == "running"),
    gauge("cdckit_start_time_seconds", "When the pipeline was started, in seconds since 1970.", lambda f: f.started),
    counters("cdckit_events", "Events by operation: r, c, u, d, t.", "operation", operations),
    counter("cdckit_delivered_records", "Records that are safe in the sink, or in quarantine.", lambda f: f.records),
    counter("cdckit_log_bytes", "How much of the source's log was read, in bytes.", lambda f: f.log_bytes),
    gauge(
        "cdckit_lag_seconds", "How old the newest delivered change was; 0 at the log's end.", lambda f: f.lag_seconds
    ),
    gauge("cdckit_lag_bytes", "How much of the log lay behind the saved offset, in bytes.", lambda f: f.lag_bytes),
    gauge("cdckit_lag_messages", "The same in messages, for logs that consist of them.", lambda f: f.lag_messages),
    gauge(
        "cdckit_log_purge_time_seconds",
        "When the log that is to be read may be purged at the earliest, in seconds since 1970.",
        lambda f: None if f.forecast is None else f.forecast.purged_at,
    ),
    gauge(
        "cdckit_catch_up_seconds",
        "In how many seconds the pipeline is at the log's end; infinite: never, at its present pace.",
        lambda f: None if f.forecast is None else f.forecast.needs,
    ),
    gauge(
        "cdckit_last_event_time_seconds",
        "When the newest delivered change was made at the source, in seconds since 1970.",
        lambda f: f.log_time,
    ),
    gauge(
        "cdckit_offset_saved_time_seconds", "When the offset was last saved, in seconds since 1970.", lambda f: f.saved
    ),
    counters(
        "cdckit_errors", "Errors by class: lost connections, and what ended the pipeline.", "error", lambda f: f.errors
    ),
    counters(
        "cdckit_skipped_events",
        "Events that could not be decoded and were left out, as the options ask.",
        "data_collection",
        lambda f: f.counts.skipped,
    ),
    counters(
        "cdckit_quarantined_records",
        "Records that could not be delivered and went to the quarantine, by stage.",
        "stage",
        lambda f: f.faults.quarantined,
    ),
    counters(
        "cdckit_left_out_records",
        "Records that could not be delivered and were left out, as the options ask, by stage.",
        "stage",
        lambda f: f.faults.left_out,
    ),
    gauge("cdckit_quarantine_records", "Records that the quarantine holds.", lambda f: f.faults.kept),
    gauge(
        "cdckit_queue_messages",
        "Messages in the sink's buffer, not acknowledged yet.",
        lambda f: _queue(f, "messages"),
    ),
    gauge("cdckit_queue_capacity_messages", "How many there may be.", lambda f: _queue(f, "capacity")),
    gauge("cdckit_queue_capacity_bytes", "How many bytes they may take.", lambda f: _queue(f, "capacity_bytes")),
)
