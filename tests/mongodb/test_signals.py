"""Signals: incremental and blocking snapshots, and what they are told to do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pymongo.database import Database

from cdckit.api.record import Record
from cdckit.connector.signals import Signal, send
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from cdckit.errors import ConfigError
from mongodb import workload
from mongodb.capture import Capture, change, shown
from mysql.recordings import DATA, by_topic, read_events, recorded
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]


def test_events_equal_the_recording(mongo: MongoReplicaSet, tmp_path: Path) -> None:
    """But for the marks' random identifiers, and the order inside a chunk, which is by `_id` here."""
    target, scenario = "mongo60-3.6.3", "signal"
    output = tmp_path / "out.jsonl"
    overrides = [f"sink.path={output}", f"state={tmp_path}/state", f"source.mongodb.connection.string={mongo.uri}"]
    pipeline = load_pipeline(DATA / target / scenario / "conf.properties", overrides, runner="direct", sink="file")
    snapshot, stream = (recorded(target, scenario, part) for part in ("snapshot", "stream"))
    with mongo.client() as client:
        workload.set_up(client)
        DirectRunner(pipeline).run(once=True)
        assert by_topic(read_events(output)) == snapshot
        workload.change(client)
    DirectRunner(pipeline).run(once=True)
    found = by_topic(read_events(output))
    chunks = [found["g.g_m.big"][7 + 2 :], stream["g.g_m.big"][2:]]
    assert sorted(chunks[0]) == sorted(chunks[1])
    assert [_kind(line) for line in found["g.g_m.sig"]] == [_kind(line) for line in stream["g.g_m.sig"]]


def _kind(line: str) -> tuple[str, str]:
    event = json.loads(line)
    return event["value"]["op"], json.loads(event["value"]["after"])["type"]


@pytest.fixture
def capture(mongo: MongoReplicaSet, own_database: Own) -> Iterator[Capture]:
    """A capture of collections `a` and `b` that has come to the end of the stream; 100 documents are in `a`."""
    own_database.a.insert_many({"_id": number, "half": number % 2} for number in range(100))
    own_database.b.insert_one({"_id": 1})
    own_database.create_collection("signals")
    capture = Capture(
        mongo.uri,
        collection_include_list=rf"{own_database.name}\.(a|b)",
        signal_data_collection=f"{own_database.name}.signals",
        incremental_snapshot_chunk_size=7,
        snapshot_mode="no_data",
    )
    capture.once()
    yield capture


def _signal(database: Own, kind: str = "execute-snapshot", **data: Any) -> None:
    names = {name.replace("_", "-"): value for name, value in data.items()}
    database.signals.insert_one({"type": kind, "data": names})


def _reads(capture: Capture) -> list[Record]:
    return [record for record in capture.records if shown(record)[0] == "r"]


@pytest.mark.parametrize("strategy", ["insert_insert", "insert_delete", "INSERT_INSERT"])
def test_a_collection_is_read_again(capture: Capture, own_database: Own, strategy: str) -> None:
    capture.options["incremental.snapshot.watermarking.strategy"] = strategy
    _signal(own_database, data_collections=[f"{own_database.name}.a"])
    capture.follow(until=lambda: len(_reads(capture)) >= 100)
    assert [int(shown(record)[1]) for record in _reads(capture)] == list(range(100))
    assert {change(record)["source"]["snapshot"] for record in capture.records} == {"incremental"}
    positions = [record.position for record in capture.records]
    assert positions == sorted(set(positions))
    left = own_database.signals.count_documents({"type": {"$regex": "^snapshot-window"}})
    assert (left == 0) == (strategy == "insert_delete")


def test_it_goes_on_after_restarts_while_documents_change(capture: Capture, own_database: Own) -> None:
    """The newest state of each document comes last, whatever is written meanwhile."""
    _signal(own_database, data_collections=[".*a"], type="incremental")
    _signal(own_database, data_collections=[f'"{own_database.name}"."b"'])
    count = 0
    while len(_keys(capture)) < 101:
        seen = len(_reads(capture))
        own_database.a.update_one({"_id": count * 7 % 100}, {"$set": {"v": count}})
        count += 1
        capture.follow(until=lambda seen=seen: len(_reads(capture)) > seen)  # type: ignore[misc]
    capture.once()
    newest = {(record.topic, shown(record)[1]): shown(record)[2] for record in capture.records}
    for name in ("a", "b"):
        for document in own_database[name].find():
            assert newest[f"t.{own_database.name}.{name}", str(document["_id"])] == document


def _keys(capture: Capture) -> set[tuple[str, str]]:
    return {(record.topic, shown(record)[1]) for record in _reads(capture)}


def test_conditions_are_query_documents(capture: Capture, own_database: Own, caplog: pytest.LogCaptureFixture) -> None:
    name = f"{own_database.name}.a"
    sql = {"data-collection": name, "filter": "half=1"}
    _signal(own_database, data_collections=[name], additional_conditions=[sql])
    odd = {"data-collection": name, "filter": '{"half": 1}'}
    _signal(own_database, data_collections=[name], additional_conditions=[odd])
    capture.follow(until=lambda: len(_reads(capture)) >= 50)
    assert [int(shown(record)[1]) for record in _reads(capture)] == list(range(1, 100, 2))
    assert "a collection has no SQL" in caplog.text


@pytest.mark.parametrize("kind", ["incremental", "blocking"])
def test_conditions_run_no_code(
    capture: Capture, own_database: Own, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    name = f"{own_database.name}.a"
    code = [
        {"$where": "sleep(1000) || true"},
        {"$or": [{"half": 1}, {"$expr": {"$function": {"body": "function() { return 1 }", "args": [], "lang": "js"}}}]},
    ]
    for attack in code:
        condition = {"data-collection": name, "filter": json.dumps(attack)}
        _signal(own_database, type=kind, data_collections=[name], additional_conditions=[condition])
    fine = {"data-collection": name, "filter": {"$expr": {"$lt": ["$_id", 5]}}}
    _signal(own_database, type=kind, data_collections=[name], additional_conditions=[fine])
    capture.follow(until=lambda: len(_reads(capture)) >= 5)
    assert [int(shown(record)[1]) for record in _reads(capture)] == [0, 1, 2, 3, 4]
    assert caplog.text.count("is refused; signal.conditions=free") == 2


@pytest.mark.parametrize("kind", ["incremental", "blocking"])
def test_a_condition_that_takes_too_long_is_left(
    capture: Capture, own_database: Own, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    capture.options |= {"signal.conditions": "free", "signal.statement.timeout.ms": 200}
    name = f"{own_database.name}.a"
    slow = {"data-collection": name, "filter": {"$where": "sleep(100) || true"}}
    _signal(own_database, type=kind, data_collections=[name], additional_conditions=[slow])
    own_database.a.insert_one({"_id": 1000})
    capture.follow(until=lambda: "took longer than signal.statement.timeout.ms=200" in caplog.text)
    capture.once()
    assert any(shown(record)[:2] == ("c", "1000") for record in capture.records)
    assert "signal.conditions=free" in caplog.text


def test_pausing_and_stopping(capture: Capture, own_database: Own) -> None:
    _signal(own_database, data_collections=[f"{own_database.name}.a", f"{own_database.name}.b"])
    _signal(own_database, "pause-snapshot")
    own_database.b.insert_one({"_id": 2})
    capture.follow(until=lambda: len(capture.records) >= 1)
    assert _reads(capture) == []
    _signal(own_database, "stop-snapshot", data_collections=[f"{own_database.name}.a"], type="incremental")
    _signal(own_database, "resume-snapshot")
    capture.follow(until=lambda: len(_reads(capture)) >= 2)
    assert _keys(capture) == {(f"t.{own_database.name}.b", "1"), (f"t.{own_database.name}.b", "2")}


def test_a_blocking_snapshot_holds_the_stream(capture: Capture, own_database: Own) -> None:
    """Broken off in the middle, it begins anew."""
    _signal(own_database, data_collections=[f"{own_database.name}.a"], type="blocking")
    own_database.b.insert_one({"_id": 2})
    capture.once(until=lambda: bool(_reads(capture)))
    assert len(_reads(capture)) < 100 or (capture.offset and "cdckit_incremental" in capture.offset)
    capture.once()
    assert len(_keys(capture)) == 100
    assert [one.type for one in capture.notifications[-4:]] == [
        "STARTED",
        "IN_PROGRESS",
        "TABLE_SCAN_COMPLETED",
        "COMPLETED",
    ]


def test_a_blocking_snapshot_is_read_once(capture: Capture, own_database: Own) -> None:
    """Also where nothing comes behind it before the run ends."""
    capture.once()
    _signal(own_database, data_collections=[f"{own_database.name}.a"], type="blocking")
    capture.once()
    assert len(_reads(capture)) == 100
    capture.once()
    assert len(_reads(capture)) == 100


def test_a_snapshot_tells_of_itself(capture: Capture, own_database: Own) -> None:
    """In the topic of notifications, with the id of the signal."""
    topics = {"notification.enabled.channels": "sink,log", "notification.sink.topic.name": "told"}
    capture.options |= {**topics, "incremental.snapshot.chunk.size": "60"}
    own_database.signals.insert_one(
        {"_id": "s1", "type": "execute-snapshot", "data": {"data-collections": [f"{own_database.name}.a"]}}
    )
    capture.once()
    told = [change(record).to_dict() for record in capture.records if record.topic == "told"]
    kinds = [(one["type"], one["id"]) for one in told if one["aggregate_type"] == "Incremental Snapshot"]
    assert kinds == [
        (kind, "s1") for kind in ("STARTED", "IN_PROGRESS", "IN_PROGRESS", "TABLE_SCAN_COMPLETED", "COMPLETED")
    ]
    assert told[-2]["additional_data"] == {
        "connector_name": "t",
        "data_collections": f"{own_database.name}.a",
        "scanned_collection": f"{own_database.name}.a",
        "total_rows_scanned": "100",
        "status": "SUCCEEDED",
    }


def test_other_channels(capture: Capture, own_database: Own, tmp_path: Path) -> None:
    """A file, whose lines are taken out, and this process itself."""
    file = tmp_path / "signals"
    capture.options |= {
        "signal.enabled.channels": "file,in-process",
        "signal.file": str(file),
        "signal.poll.interval.ms": "10",
    }
    request = {"data-collections": [f"{own_database.name}.b"]}
    file.write_text(json.dumps({"id": "1", "type": "execute-snapshot", "data": request}) + "\nnonsense\n")
    capture.follow(until=lambda: len(_reads(capture)) >= 1)
    assert file.read_text() == ""
    send("t", Signal("2", "execute-snapshot", request))
    capture.follow(until=lambda: len(_reads(capture)) >= 2)


def test_a_stream_that_cannot_see_the_signals_is_refused() -> None:
    options: dict[str, str] = {"capture_scope": "collection", "capture_target": "d.c", "signal_data_collection": "d.s"}
    with pytest.raises(ConfigError, match=r"capture\.scope=collection the stream does not see"):
        Capture("mongodb://x", **options).config()
    with pytest.raises(ConfigError, match="there is no JVM and so no 'jmx'"):
        Capture("mongodb://x", signal_enabled_channels="jmx").config()
