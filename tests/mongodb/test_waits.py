"""Where a capture begins, and what it waits for."""

from __future__ import annotations

import logging
import socket
from typing import Any

import pytest
from pymongo.database import Database

from cdckit.errors import RetriableSourceError, SourceError
from mongodb.capture import Capture, shown
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]

HOUR = 3_600_000


class _Asked:
    """Says stop when it was asked often enough for a pipeline that does not wait to have gone on."""

    def __init__(self, times: int) -> None:
        self._left = times

    def __call__(self) -> bool:
        self._left -= 1
        return self._left < 0


def test_a_pause_before_the_snapshot(
    mongo: MongoReplicaSet, own_database: Own, caplog: pytest.LogCaptureFixture
) -> None:
    own_database.a.insert_one({"_id": 1})
    capture = Capture(mongo.uri, database_include_list=own_database.name, snapshot_delay_ms=HOUR)
    caplog.set_level(logging.INFO, "cdckit.mongodb")
    capture.follow(until=_Asked(5))
    assert capture.records == []
    assert "waiting 3600 s before the snapshot (snapshot.delay.ms)" in caplog.text
    capture.options["snapshot.delay.ms"] = 1
    assert [shown(record)[0] for record in capture.once()] == ["r"]


def test_a_pause_before_the_stream(mongo: MongoReplicaSet, own_database: Own, caplog: pytest.LogCaptureFixture) -> None:
    own_database.a.insert_one({"_id": 1})
    capture = Capture(mongo.uri, database_include_list=own_database.name, streaming_delay_ms=HOUR)
    caplog.set_level(logging.INFO, "cdckit.mongodb")
    behind = _Asked(5)

    def stop() -> bool:
        if not capture.records:
            return False
        own_database.a.update_one({"_id": 2}, {"$set": {"seen": True}}, upsert=True)
        return behind()

    capture.follow(until=stop)
    assert [shown(record)[:2] for record in capture.records] == [("r", "1")]
    assert "waiting 3600 s before the stream (streaming.delay.ms)" in caplog.text
    assert ("c", "2") in [shown(record)[:2] for record in capture.once()]


def test_the_stream_starts_at_a_time_of_the_past(mongo: MongoReplicaSet, own_database: Own) -> None:
    """With the change of that very time; where there are documents to read, or an offset, it means nothing."""
    own_database.create_collection("a")
    times = []
    for number in range(3):
        with own_database.client.start_session(causal_consistency=True) as session:
            own_database.a.insert_one({"_id": number}, session=session)
            assert session.operation_time is not None
            times.append(session.operation_time)
    begin = times[1].time << 32 | times[1].inc
    own = {"database_include_list": own_database.name, "capture_start_op_time": begin}
    capture = Capture(mongo.uri, **own, snapshot_mode="no_data")
    assert [shown(record)[:2] for record in capture.once()] == [("c", "1"), ("c", "2")]
    assert capture.once() == []
    assert [shown(record)[0] for record in Capture(mongo.uri, **own).once()] == ["r", "r", "r"]


def test_an_answer_that_takes_too_long(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.a.insert_one({"_id": 1})
    name = f"{own_database.name}.a"
    capture = Capture(
        mongo.uri,
        database_include_list=own_database.name,
        snapshot_collection_filter_overrides=name,
        mongodb_socket_timeout_ms=300,
    )
    capture.options[f"snapshot.collection.filter.overrides.{name}"] = '{"$where": "sleep(1500) || true"}'
    with pytest.raises(RetriableSourceError, match=r"timed out .*socketTimeoutMS: 300\.0ms"):
        capture.once()


def test_servers_that_do_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        capture = Capture(
            f"mongodb://127.0.0.1:{silent.getsockname()[1]}/?directConnection=true",
            mongodb_connect_timeout_ms=250,
            mongodb_server_selection_timeout_ms=600,
        )
        with pytest.raises(SourceError, match=r"timed out .*250\.0ms.*; check mongodb\.connection\.string"):
            capture.once()
