"""Heartbeats: those that are recorded of Debezium, and what they are good for."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from pymongo.database import Database

from cdckit.api.record import Record
from cdckit.api.struct import Struct
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig
from mongodb.capture import Capture
from mysql.recordings import HEARTBEATS, Event, by_topic, recorded
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]


def _written(record: Record) -> Event:
    """A record as recordings have it, without schemas."""
    messages = JsonSerializer(JsonConfig.model_validate({"schemas.enable": False})).serialize([record])
    key, value = (part and json.loads(part) for part in (messages.keys[0], messages.values[0]))
    return {"topic": record.topic, "key": key, "value": value, "headers": []}


@pytest.mark.parametrize("scenario", ["heartbeat", "outbox"])
@pytest.mark.parametrize("part", ["snapshot", "stream"])
def test_heartbeats_are_those_recorded(mongo: MongoReplicaSet, own_database: Own, scenario: str, part: str) -> None:
    options = {"topic.prefix": "g", "database.include.list": own_database.name, "heartbeat.interval.ms": 1}
    capture = Capture(mongo.uri, **options)
    capture.follow(until=lambda: len(capture.records) >= 2)
    expected = {
        topic: lines
        for topic, lines in recorded("mongo60-3.6.3", scenario, part).items()
        if topic.startswith(HEARTBEATS)
    }
    assert expected
    assert by_topic(map(_written, capture.records)) == expected


@pytest.mark.parametrize(("event_format", "version"), [("3", 1), ("1.9", None)])
def test_their_schemas(mongo: MongoReplicaSet, own_database: Own, event_format: str, version: int | None) -> None:
    options = {"database_include_list": own_database.name, "heartbeat_interval_ms": 1, "event_format": event_format}
    capture = Capture(mongo.uri, **options)
    capture.follow(until=lambda: bool(capture.records))
    key, value = capture.records[0].key, capture.records[0].value
    assert isinstance(key, Struct)
    assert isinstance(value, Struct)
    assert (key.schema.name, key.schema.version) == ("io.debezium.connector.common.ServerNameKey", version)
    assert (value.schema.name, value.schema.version) == ("io.debezium.connector.common.Heartbeat", version)


def test_they_move_the_offset_while_only_other_collections_change(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.captured.insert_one({"_id": 1})
    options = {"collection_include_list": f"{own_database.name}.captured", "snapshot_mode": "no_data"}
    capture = Capture(mongo.uri, **options, heartbeat_interval_ms=1)
    capture.once()
    before = capture.offset or {}
    own_database.other.insert_one({"_id": 1})
    capture.follow(until=lambda: len(capture.records) >= 2)
    assert {record.topic for record in capture.records} == {f"{HEARTBEATS}t"}
    after = capture.offset or {}
    assert (after["sec"], after["ord"]) > (before["sec"], before["ord"])


def test_connections_that_are_lost_do_not_put_them_off(mongo: MongoReplicaSet, own_database: Own) -> None:
    """The source reads anew after each batch, as after a lost connection: none lasts as long as the interval."""
    own_database.create_collection("a")
    capture = Capture(mongo.uri, database_include_list=own_database.name, heartbeat_interval_ms=5000)
    capture.once()
    deadline = time.monotonic() + 60
    with capture.source(idle_seconds=0.1) as source:
        while not capture.records:
            assert time.monotonic() < deadline
            [split] = source.plan(capture.offset or {}, None)
            capture.take(next(source.read(split)))
    assert {record.topic for record in capture.records} == {"__debezium-heartbeat.t"}


def test_none_come_by_default(mongo: MongoReplicaSet, own_database: Own) -> None:
    asked = 0

    def enough() -> bool:
        nonlocal asked
        asked += 1
        return asked > 4

    capture = Capture(mongo.uri, database_include_list=own_database.name)
    capture.follow(until=enough)
    assert capture.records == []
