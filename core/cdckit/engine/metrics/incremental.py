"""The figures of a snapshot that runs beside the log, out of the notifications of it."""

from __future__ import annotations

from cdckit.api.notification import Notification
from cdckit.engine.metrics.snapshot_figures import ChunkFigures, SnapshotFigures, TableFigures, now


def take_notification(snapshot: SnapshotFigures, notification: Notification) -> None:
    """Brings the figures up to date."""
    data = notification.additional_data
    match notification.type:
        case "STARTED":
            snapshot.begin(dict.fromkeys(filter(None, data.get("data_collections", "").split(","))))
            snapshot.incremental = True
        case "IN_PROGRESS":
            _chunk(snapshot, data["current_collection_in_progress"], data["last_processed_key"], data["maximum_key"])
        case "TABLE_SCAN_COMPLETED":
            rows = int(data["total_rows_scanned"])
            snapshot.tables[data["scanned_collection"]] = TableFigures(rows, None, finished=True)
        case "PAUSED" | "RESUMED" as what:
            snapshot.pause(paused=what == "PAUSED")
        case "COMPLETED" | "ABORTED" as how:
            snapshot.end(completed=how == "COMPLETED")


def _chunk(snapshot: SnapshotFigures, table: str, reached: str, table_end: str) -> None:
    """A chunk of a table was read; it began where the one before it ended."""
    before = snapshot.chunk
    begun = before.chunk_to if before is not None and before.data_collection == table else ""
    snapshot.chunk = ChunkFigures(table, begun, reached, table_end)
    snapshot.told = now()
