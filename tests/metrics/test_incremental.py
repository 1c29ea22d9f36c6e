"""The figures of an incremental snapshot, out of the notifications that a source sends of it."""

from __future__ import annotations

from typing import Any

import pytest

from cdckit.api.notification import Notification
from cdckit.engine.metrics.collector import FiguresCollector
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.listener import FiguresListener


@pytest.fixture
def figures() -> Figures:
    return Figures("p", "mysql", "p", "direct")


def after(figures: Figures, *notices: tuple[str, dict[str, str]]) -> dict[str, Any]:
    """The samples without labels of their own, and the labels of infos, after some notifications."""
    listener = FiguresListener(figures, lambda: None)
    for kind, data in notices:
        listener.cdckit_notification("p", Notification("Incremental Snapshot", kind, data, "1"))
        listener.cdckit_notification("another", Notification("Incremental Snapshot", "ABORTED", {}, "1"))
    found: dict[str, Any] = {}
    for family in FiguresCollector(figures, {}).collect():
        for sample in family.samples:
            found[sample.name] = dict(sample.labels) if family.type == "info" else sample.value
    return found


STARTED = ("STARTED", {"data_collections": "db.a,db.b"})


def progress(table: str, key: str, last: str) -> tuple[str, dict[str, str]]:
    data = {"current_collection_in_progress": table, "last_processed_key": key, "maximum_key": last}
    return "IN_PROGRESS", data


def test_chunks_have_the_key_before_them(figures: Figures) -> None:
    now = after(figures, STARTED, progress("db.a", "10", "25"))
    assert now["cdckit_snapshot_tables_remaining"] == 2
    assert now["cdckit_snapshot_running"] == 1
    assert now["cdckit_snapshot_chunk_info"] == {
        "data_collection": "db.a", "chunk_from": "", "chunk_to": "10", "table_to": "25",
    }  # fmt: skip
    now = after(figures, progress("db.a", "20", "25"))
    assert now["cdckit_snapshot_chunk_info"]["chunk_from"] == "10"
    now = after(figures, progress("db.b", "5", "5"))
    assert now["cdckit_snapshot_chunk_info"]["chunk_from"] == ""


def test_a_table_that_is_read_and_the_end(figures: Figures) -> None:
    done = ("TABLE_SCAN_COMPLETED", {"scanned_collection": "db.a", "total_rows_scanned": "25", "status": "SUCCEEDED"})
    now = after(figures, STARTED, done)
    assert (now["cdckit_snapshot_events"], now["cdckit_snapshot_tables_remaining"]) == (25, 1)
    now = after(figures, ("COMPLETED", {}))
    assert (now["cdckit_snapshot_completed"], now["cdckit_snapshot_running"]) == (1, 0)


def test_pauses(figures: Figures) -> None:
    now = after(figures, STARTED, ("PAUSED", {}))
    assert (now["cdckit_snapshot_paused"], now["cdckit_snapshot_running"]) == (1, 1)
    now = after(figures, ("RESUMED", {}))
    assert now["cdckit_snapshot_paused"] == 0
    assert now["cdckit_snapshot_paused_duration_seconds"] > 0
    now = after(figures, ("ABORTED", {}))
    assert now["cdckit_snapshot_aborted"] == 1
