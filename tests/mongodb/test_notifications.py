"""What the source tells of its snapshots: in a topic, in the log, to plugins."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from pymongo.database import Database

from cdckit.api.record import Record
from mongodb.capture import change
from mongodb.signalling import Signalled
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]
Told = tuple[str, str, dict[str, str]]


@pytest.fixture
def signalled(mongo: MongoReplicaSet, own_database: Own) -> Signalled:
    """A capture with three documents in `a` and none in `b`, which notifies by every channel."""
    own_database.a.insert_many({"_id": number} for number in range(3))
    own_database.create_collection("b")
    own_database.create_collection("signals")
    channels = {"notification_enabled_channels": "sink,log", "notification_sink_topic_name": "told"}
    return Signalled(mongo, own_database, snapshot_mode="initial", incremental_snapshot_chunk_size=2, **channels)


def _in_topic(records: list[Record]) -> list[Told]:
    """Aggregate type, type, and the additional data but for the source's name."""
    found = [change(record).to_dict() for record in records if record.topic == "told"]
    assert {one["additional_data"].pop("connector_name") for one in found} <= {"t"}
    return [(one["aggregate_type"], one["type"], one["additional_data"]) for one in found]


def _in_log(caplog: pytest.LogCaptureFixture) -> list[Told]:
    lines = [record.getMessage() for record in caplog.records if record.name == "cdckit.notifications"]
    found = []
    for line in lines:
        head, _, data = line.partition(": ")
        aggregate, kind = head.rsplit(" ", 1)
        found.append((aggregate, kind, {name: text for name, text in json.loads(data).items() if name[:4] != "conn"}))
    return found


def test_of_the_initial_snapshot(signalled: Signalled, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "cdckit.notifications")
    records = signalled.once()
    a, b = signalled.name("a"), signalled.name("b")
    scan = {"data_collections": f"{a},{b}", "status": "SUCCEEDED"}
    expected = [
        ("STARTED", {}),
        ("IN_PROGRESS", {"data_collections": f"{a},{b}", "current_collection_in_progress": a}),
        ("TABLE_SCAN_COMPLETED", {**scan, "scanned_collection": a, "total_rows_scanned": "3"}),
        ("IN_PROGRESS", {"data_collections": f"{a},{b}", "current_collection_in_progress": b}),
        ("TABLE_SCAN_COMPLETED", {**scan, "scanned_collection": b, "total_rows_scanned": "0"}),
        ("COMPLETED", {}),
    ]
    assert _in_topic(records) == _in_log(caplog) == [("Initial Snapshot", *one) for one in expected]
    assert signalled.told("Initial Snapshot") == [kind for kind, _ in expected]
    assert _in_topic(signalled.once()) == [("Initial Snapshot", "SKIPPED", {})]


def test_of_one_that_is_broken_off(signalled: Signalled) -> None:
    signalled.options["snapshot.fetch.size"] = 1
    signalled.once(until=lambda: bool(signalled.reads()))
    assert signalled.told("Initial Snapshot")[-1] == "ABORTED"


def test_of_incremental_snapshots(signalled: Signalled, caplog: pytest.LogCaptureFixture) -> None:
    signalled.once()
    caplog.set_level(logging.INFO, "cdckit.notifications")
    a, b = signalled.name("a"), signalled.name("b")
    signalled.signal(key="mine", data_collections=[a, b])
    records = signalled.once()
    progress = {"data_collections": f"{a},{b}", "current_collection_in_progress": a, "maximum_key": "2"}
    scan = {"scanned_collection": a, "total_rows_scanned": "3", "status": "SUCCEEDED"}
    nothing = {"scanned_collection": b, "total_rows_scanned": "0", "status": "EMPTY"}
    expected = [
        ("STARTED", {"data_collections": f"{a},{b}"}),
        ("IN_PROGRESS", {**progress, "last_processed_key": "1"}),
        ("IN_PROGRESS", {**progress, "last_processed_key": "2"}),
        ("TABLE_SCAN_COMPLETED", {"data_collections": f"{a},{b}", **scan}),
        ("TABLE_SCAN_COMPLETED", {"data_collections": b, **scan, **nothing}),
        ("COMPLETED", {}),
    ]
    told = [("Incremental Snapshot", *one) for one in expected]
    assert [one for one in _in_topic(records) if one[0] != "Initial Snapshot"] == told
    assert [one for one in _in_log(caplog) if one[0] != "Initial Snapshot"] == told
    assert {one.id for one in signalled.notifications[-6:]} == {"mine"}


def test_of_blocking_snapshots(signalled: Signalled) -> None:
    signalled.once()
    before = len(signalled.notifications)
    signalled.signal(data_collections=[signalled.name("a")], type="blocking")
    signalled.once()
    name = signalled.name("a")
    data = [(one.type, {**one.additional_data}) for one in signalled.notifications[before:] if one.type != "SKIPPED"]
    assert [kind for kind, _ in data] == ["STARTED", "IN_PROGRESS", "TABLE_SCAN_COMPLETED", "COMPLETED"]
    marks = [str(change(record)["source"]["snapshot"]) for record in signalled.reads("a")[-3:]]
    assert marks == ["true", "true", "last"]
    assert data[2][1] == {
        "connector_name": "t",
        "data_collections": name,
        "scanned_collection": name,
        "total_rows_scanned": "3",
        "status": "SUCCEEDED",
    }
