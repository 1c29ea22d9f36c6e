"""Notifications as records, in the log and for plugins."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from cdckit.api.batch import Batch
from cdckit.api.notices import UNHEARD, Notices
from cdckit.api.record import Record
from cdckit.connector.notifications import Notification, NotificationOptions, Notifications
from cdckit.connector.notifications.listener import ReadInPartsListener, SnapshotListener
from cdckit.connector.notifications.snapshots import BlockingSnapshotNotices
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.testing.notices import RecordedNotices


def _notifications(told: Notices, **options: str) -> Notifications:
    named = {name.replace("_", "."): value for name, value in options.items()}

    return Notifications(NotificationOptions.load(named, "source")[0], "shop", told)


def test_a_notification_is_a_record_as_debezium_makes_it() -> None:
    """With its schemas: Debezium's documentation, "Debezium notification format"."""
    record = Notification("Initial Snapshot", "STARTED", {"connector_name": "shop"}, "1", 5).record("told")
    config, _ = JsonConfig.load({"schemas.enable": "true"}, "serializer")
    messages = JsonSerializer(config).serialize([record])
    key, value = json.loads(messages.keys[0] or b""), json.loads(messages.values[0] or b"")
    assert key["payload"] == {"id": "1"}
    assert key["schema"]["name"] == "io.debezium.connector.common.NotificationKey"
    assert value["payload"] == {
        "id": "1",
        "type": "STARTED",
        "aggregate_type": "Initial Snapshot",
        "additional_data": {"connector_name": "shop"},
        "timestamp": 5,
    }
    assert value["schema"]["name"] == "io.debezium.connector.common.Notification"
    text = {"type": "string", "optional": False}
    details = {"type": "map", "keys": text, "values": text, "optional": True, "field": "additional_data"}
    assert value["schema"]["fields"][3] == details


def test_channels_are_those_that_are_enabled(caplog: pytest.LogCaptureFixture) -> None:
    """Plugins are told whatever is enabled."""
    caplog.set_level(logging.INFO)
    told = RecordedNotices()
    silent = _notifications(told)
    silent.send("Initial Snapshot", "STARTED")
    assert (silent.take(), caplog.text, len(told.notifications)) == ([], "", 1)
    loud = _notifications(told, notification_enabled_channels="sink,log", notification_sink_topic_name="told")
    loud.send("Initial Snapshot", "STARTED", "mine", data_collections="a,b")
    [record] = loud.take()
    assert (record.topic, loud.take()) == ("told", [])
    assert 'Initial Snapshot STARTED: {"connector_name": "shop", "data_collections": "a,b"}' in caplog.text
    second = told.notifications[1]
    assert (second.id, second.additional_data["data_collections"]) == ("mine", "a,b")


@pytest.mark.parametrize(("last", "ends_as"), [({"done": True}, "COMPLETED"), ({"done": False}, "ABORTED")])
def test_a_snapshot_tells_how_it_ends(last: dict[str, bool], ends_as: str) -> None:
    """Its batches carry the notifications; the names come from what the source tells the hooks."""
    told = RecordedNotices()
    options = {"notification_enabled_channels": "sink", "notification_sink_topic_name": "told"}
    notifications = _notifications(told, **options)
    listener = SnapshotListener(notifications, UNHEARD, "d.signals")

    def batches() -> Any:
        listener.snapshot_started({"d.a": 3})
        listener.snapshot_progress("d.a", rows=2, estimate=3, finished=False)
        yield Batch([Record("d.a", None, None)], {"done": False})
        listener.snapshot_progress("d.a", rows=3, estimate=3, finished=True)
        yield Batch([], last)

    found = list(listener.snapshot(batches(), lambda offset: offset["done"]))
    assert [one.type for one in told.notifications] == ["STARTED", "IN_PROGRESS", "TABLE_SCAN_COMPLETED", ends_as]
    assert [[record.topic for record in batch.records] for batch in found] == [
        ["d.a", "told", "told"],
        ["told"],
        ["told"],
    ]
    assert told.notifications[2].additional_data["data_collections"] == "d.a,d.signals"


def test_a_snapshot_in_parts_tells_of_each_table_once_and_how_it_ends() -> None:
    """One that begins anew was broken off. Of a blocking one the source itself sends what there is to tell."""
    told = RecordedNotices()
    listener = ReadInPartsListener(_notifications(told), told)
    listener.snapshot_started({"d.a": 3, "d.b": 1})
    listener.snapshot_progress("d.a", rows=0, estimate=3, finished=False)
    listener.snapshot_progress("d.b", rows=0, estimate=1, finished=False)
    listener.snapshot_progress("d.a", rows=2, estimate=3, finished=False)
    listener.snapshot_started({"d.a": 3})
    listener.snapshot_progress("d.a", rows=3, estimate=3, finished=True)
    listener.snapshot_ended(completed=True)
    blocking = BlockingSnapshotNotices(_notifications(listener), ["d.b"])
    blocking.started()
    blocking.begins("d.b")
    blocking.ends("d.b")
    blocking.completed()
    listener.snapshot_started({"d.b": 1})
    listener.snapshot_ended(completed=False)
    scan = ["IN_PROGRESS", "TABLE_SCAN_COMPLETED"]
    assert [one.type for one in told.notifications] == [
        "STARTED", "IN_PROGRESS", "ABORTED", "STARTED", *scan, "COMPLETED",
        "STARTED", *scan, "COMPLETED", "STARTED", "ABORTED",
    ]  # fmt: skip
    assert len(told.of("snapshot_started")) == 4
