"""The metrics of Debezium's connectors: those of snapshots, of streaming and of the schema history.

What each means stands in the tables "Monitoring" of the connectors' manuals; `docs/metrics.md` has their names side by
side. Times that Debezium gives as "milliseconds since" are points in time here, from which Prometheus reckons. What the
engine tells of every source anyway (events by operation, lag, queue) is not told again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from cdckit.engine.metrics.figures import Figures, HistoryStatus
from cdckit.engine.metrics.metric import Metric, counter, gauge, gauges, info

_HISTORY: tuple[HistoryStatus, ...] = ("STOPPED", "RECOVERING", "RUNNING")


def _taken(figures: Figures, value: float | None) -> float | None:
    """A figure of the snapshot; as with Debezium there is none before the first."""
    return None if figures.snapshot.state == "none" else value


def _is(figures: Figures, state: str) -> float | None:
    return _taken(figures, figures.snapshot.state == state)


def _finished(figures: Figures) -> int:
    return sum(table.finished for table in list(figures.snapshot.tables.values()))


def _chunk(figures: Figures) -> Iterator[Mapping[str, Any]]:
    chunk = figures.snapshot.chunk
    if chunk is not None:
        yield asdict(chunk)


def _last_read(figures: Figures) -> Iterator[Mapping[str, Any]]:
    name, table = next(reversed(list(figures.snapshot.tables.items())), ("", None))
    if table is not None and table.rows:
        yield {"data_collection": name, "row": table.rows}


SNAPSHOT: tuple[Metric, ...] = (
    info("cdckit_snapshot_last_event", "The last row that was read: its table, and its number there.", _last_read),
    gauge(
        "cdckit_snapshot_last_event_time_seconds",
        "When rows were last read, in seconds since 1970.",
        lambda f: _taken(f, f.snapshot.told),
    ),
    gauge("cdckit_snapshot_events", "Rows read by the newest snapshot.", lambda f: _taken(f, f.snapshot.rows)),
    gauges(
        "cdckit_snapshot_rows_scanned",
        "Rows read, by table.",
        "data_collection",
        lambda f: {name: table.rows for name, table in list(f.snapshot.tables.items())},
    ),
    gauge("cdckit_snapshot_tables", "Tables in the snapshot.", lambda f: _taken(f, len(f.snapshot.tables))),
    gauge(
        "cdckit_snapshot_tables_remaining",
        "Tables that are not read to their end.",
        lambda f: _taken(f, len(f.snapshot.tables) - _finished(f)),
    ),
    gauge("cdckit_snapshot_running", "Whether a snapshot runs.", lambda f: _is(f, "running")),
    gauge(
        "cdckit_snapshot_paused",
        "Whether the snapshot is paused.",
        lambda f: _taken(f, f.snapshot.paused_since is not None),
    ),
    gauge("cdckit_snapshot_aborted", "Whether the snapshot was broken off.", lambda f: _is(f, "aborted")),
    gauge("cdckit_snapshot_completed", "Whether the snapshot is complete.", lambda f: _is(f, "completed")),
    gauge(
        "cdckit_snapshot_duration_seconds",
        "How long the snapshot has taken, pauses included.",
        lambda f: _taken(f, f.snapshot.seconds),
    ),
    gauge(
        "cdckit_snapshot_paused_duration_seconds",
        "How long it was paused.",
        lambda f: _taken(f, f.snapshot.seconds_paused),
    ),
    gauge(
        "cdckit_snapshot_holding_global_lock",
        "Whether the snapshot locks writers out.",
        lambda f: _taken(f, f.snapshot.locked),
    ),
    info("cdckit_snapshot_chunk", "The last chunk that an incremental snapshot has read, and its table's end.", _chunk),
)


def _captured(figures: Figures) -> Iterable[Mapping[str, Any]]:
    return ({"data_collection": name} for name in figures.captured)


def _position(figures: Figures) -> Iterable[Mapping[str, Any]]:
    return [figures.offset] if figures.offset else []


def _text(name: str, value: str | None) -> Iterable[Mapping[str, Any]]:
    return [] if value is None else [{name: value}]


STREAMING: tuple[Metric, ...] = (
    info("cdckit_streaming_last_event", "The position of the last event.", lambda f: _text("position", f.counts.event)),
    gauge(
        "cdckit_streaming_last_event_time_seconds",
        "When the last event was delivered, in seconds since 1970.",
        lambda f: f.delivered,
    ),
    counter(
        "cdckit_streaming_events_filtered", "Events of the log that the filters left out.", lambda f: f.counts.filtered
    ),
    info("cdckit_streaming_captured_table", "The tables that are captured, one series each.", _captured),
    gauge("cdckit_streaming_connected", "Whether the source's connection stands.", lambda f: f.connected),
    counter("cdckit_streaming_transactions_committed", "Committed transactions read.", lambda f: f.counts.transactions),
    counter(
        "cdckit_streaming_transactions_rolled_back",
        "Transactions read that end with a ROLLBACK.",
        lambda f: f.counts.rolled_back,
    ),
    info("cdckit_streaming_source_position", "The members of the saved offset.", _position),
    info(
        "cdckit_streaming_last_transaction",
        "The id of the last transaction.",
        lambda f: _text("transaction", f.counts.transaction),
    ),
    counter(
        "cdckit_streaming_primary_elections",
        "How often the source's servers chose another primary.",
        lambda f: f.counts.elections,
    ),
    counter("cdckit_streaming_disconnects", "How often the connection was lost.", lambda f: f.disconnects),
)

HISTORY: tuple[Metric, ...] = (
    gauges(
        "cdckit_schema_history_status",
        "1 for the present status of the schema history, 0 for the others.",
        "status",
        lambda f: {status: f.history.status == status for status in _HISTORY},
    ),
    gauge(
        "cdckit_schema_history_recovery_start_time_seconds",
        "When the history was last read, in seconds since 1970.",
        lambda f: f.history.recovery_began,
    ),
    gauge("cdckit_schema_history_changes_recovered", "Changes read then.", lambda f: f.history.recovered),
    counter("cdckit_schema_history_changes_applied", "Changes read, or met in the log.", lambda f: f.history.applied),
    gauge(
        "cdckit_schema_history_last_recovered_time_seconds",
        "When the last of them was read, in seconds since 1970.",
        lambda f: f.history.recovered_at,
    ),
    gauge(
        "cdckit_schema_history_last_applied_time_seconds",
        "When the last change was met in the log, in seconds since 1970.",
        lambda f: f.history.applied_at,
    ),
    info(
        "cdckit_schema_history_last_recovered_change",
        "The position of the last change that was read.",
        lambda f: _text("position", f.history.last_recovered),
    ),
    info(
        "cdckit_schema_history_last_applied_change",
        "The statement of the last change that was met.",
        lambda f: _text("ddl", f.history.last_applied),
    ),
)
