"""Places that are gone from the oplog, at the start and in the middle of the stream, and tokens that are of no use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from cdckit.api.record import Offset
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from cdckit.engine.state.runner_handover import open_state
from cdckit.errors import SnapshotDueError, SourceError, StateError
from cdckit_mongodb.source import MongoDbSource
from cdckit_mongodb.tokens import token_of, token_text
from mongodb.capture import Capture, shown
from mongodb.small_oplog import failing, fill_the_oplog, forgetful, oldest, settled
from testkit.running import Pipeline, to_file
from testkit.servers.mongodb import MongoReplicaSet
from testkit.states import state_in

Document = dict[str, Any]
BASED = "snapshot_mode_configuration_based_snapshot_"
SNAPSHOTS_AGAIN = pytest.mark.parametrize(
    "options",
    [
        {"snapshot_mode": "when_needed"},
        {
            "snapshot_mode": "configuration_based",
            BASED + "on_data_error": True,
            "snapshot_mode_configuration_based_start_stream": True,
        },
    ],
)
"""The modes that take a new snapshot where history is lost."""


@pytest.fixture(scope="module")
def forgetting() -> Iterator[MongoReplicaSet]:
    """The set."""
    with forgetful() as replica_set:
        yield replica_set


@dataclass(frozen=True, slots=True)
class Outage:
    """A pipeline that was down while the oplog moved past its place."""

    uri: str
    offset: Offset
    oldest: tuple[int, int]


@pytest.fixture(scope="module")
def outage(forgetting: MongoReplicaSet) -> Iterator[Outage]:
    """One document was captured, another came while the pipeline was away."""
    with forgetting.client() as client:
        client.d.a.insert_one({"_id": 1})
        capture = Capture(forgetting.uri, database_include_list="d")
        capture.once()
        client.d.a.insert_one({"_id": 2})
        assert capture.offset is not None
        fill_the_oplog(client, capture.offset)
        yield Outage(forgetting.uri, capture.offset, oldest(client))


def _captured(outage: Outage, **options: Any) -> Capture:
    capture = Capture(outage.uri, database_include_list="d", **options)
    capture.offset = outage.offset
    return capture


def _clock(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize("mode", ["initial", "configuration_based"])
def test_the_lost_time_is_told(outage: Outage, mode: str) -> None:
    capture = _captured(outage, snapshot_mode=mode)
    with pytest.raises(SourceError) as found:
        capture.once()
    text = str(found.value)
    since = outage.offset["sec"]
    assert f"the place after {_clock(since)} ({since}:{outage.offset['ord']}) is gone from the oplog, which" in text
    assert re.search(r"begins at \d{4}-[-0-9:T]+Z: the changes of \d+ s are lost; snapshot\.mode=when_needed", text)
    assert "`cdc offsets reset`" in text
    going_on = re.search(r"`cdc offsets set` with (\{.*?\}) goes on without what is lost", text)
    assert going_on is not None
    capture.offset = json.loads(going_on[1])
    assert capture.offset is not None
    assert capture.offset["sec"] > since


def test_the_advice_goes_on_without_what_is_lost(outage: Outage) -> None:
    capture = _captured(outage, snapshot_mode="initial")
    with MongoClient[Document](outage.uri) as client:
        sec, order = settled(client)
        capture.offset = {"sec": sec, "ord": order}
        client.d.b.insert_one({"_id": 3})
        assert [shown(record)[:2] for record in capture.once()] == [("c", "3")]


@SNAPSHOTS_AGAIN
def test_a_snapshot_is_taken_where_it_may_be(outage: Outage, options: Document, unique_name: str) -> None:
    capture = _captured(outage, **{"collection_include_list": r"d\.a", **options})
    assert _documents_in_chunks(capture) == ["1", "2"]
    assert sorted(shown(record)[:2] for record in capture.once()) == [("r", "1"), ("r", "2")]
    with MongoClient[Document](outage.uri) as client:
        client.d.a.insert_one({"_id": unique_name})
        assert [shown(record)[0] for record in capture.once()] == ["c"]
        client.d.a.delete_one({"_id": unique_name})
    positions = [record.position for record in capture.records]
    assert positions == sorted(positions)


def _documents_in_chunks(capture: Capture) -> list[str]:
    """The keys that readers side by side find in a snapshot that is taken instead of going on."""
    with capture.source() as source:
        assert capture.offset is not None
        splits = source.plan(capture.offset, source.latest_offset(capture.offset), 2)
        return sorted(shown(record)[1] for split in splits for batch in source.read(split) for record in batch.records)


def test_a_user_who_may_not_read_the_oplog_is_told_the_most_it_can_be(outage: Outage) -> None:
    with MongoClient[Document](outage.uri) as client, failing(client, "find", 13, namespace="local.oplog.rs"):
        found = _refusal(_captured(outage))
    assert re.search(r"changes of up to \d+ s, until \d{4}-[-0-9:T]+Z, are lost", found)
    assert "with the right find on local.oplog.rs" in found
    assert "goes on without" not in found


def _refusal(capture: Capture) -> str:
    with pytest.raises(SourceError) as found:
        capture.once()
    return str(found.value)


def test_an_unfinished_snapshot_begins_anew(outage: Outage) -> None:
    """Its place in the stream is gone; nothing that it would go on to is."""
    capture = _captured(outage, collection_include_list=r"d\.a")
    capture.offset = {**outage.offset, "initsync": True, "cdckit_snapshot": ["d.a", "", 1]}
    assert sorted(shown(record)[:2] for record in capture.once()) == [("r", "1"), ("r", "2")]


@pytest.mark.parametrize("mode", ["initial", "when_needed"])
def test_the_oplog_overtakes_a_stream(forgetting: MongoReplicaSet, mode: str, unique_name: str) -> None:
    with forgetting.client() as client:
        client[unique_name].a.insert_one({"_id": 1})
        capture = Capture(forgetting.uri, database_include_list=unique_name, snapshot_mode=mode)
        capture.once()
        assert capture.offset is not None
        with capture.source(idle_seconds=0.1) as source:
            batches = source.read(source.plan(capture.offset, None)[0])
            capture.take(next(batches))
            client[unique_name].a.insert_one({"_id": 2})
            fill_the_oplog(client, capture.offset)
            if mode == "initial":
                with pytest.raises(SourceError, match=r"gone from the oplog, which begins at .* of \d+ s are lost"):
                    _take_all(capture, batches)
                return
            _take_all(capture, batches)
            _take_all(capture, source.read(source.plan(capture.offset, None)[0]))
        assert sorted(shown(record)[:2] for record in capture.records[1:]) == [("r", "1"), ("r", "2")]
        client[unique_name].a.insert_one({"_id": 3})
        assert [shown(record)[:2] for record in capture.once()] == [("c", "3")]


def _take_all(capture: Capture, batches: Iterator[Any]) -> None:
    for batch in batches:
        capture.take(batch)


@pytest.mark.parametrize(("mode", "error"), [("initial", SourceError), ("when_needed", SnapshotDueError)])
def test_a_range_that_was_planned_is_gone(
    forgetting: MongoReplicaSet, mode: str, error: type[Exception], unique_name: str
) -> None:
    """The runner plans anew where a snapshot may be taken."""
    with forgetting.client() as client:
        client[unique_name].a.insert_one({"_id": 1})
        capture = Capture(forgetting.uri, database_include_list=unique_name, snapshot_mode=mode)
        capture.once()
        client[unique_name].a.insert_one({"_id": 2})
        assert capture.offset is not None
        with capture.source() as source:
            [split] = source.plan(capture.offset, source.latest_offset(capture.offset))
            fill_the_oplog(client, capture.offset)
            with pytest.raises(error, match="gone from the oplog") as found:
                list(source.read(split))
            assert isinstance(found.value, SnapshotDueError) == (mode == "when_needed")
            if mode == "when_needed":
                [again] = source.plan(capture.offset, None)
                keys = [shown(record)[1] for batch in source.read(again) for record in batch.records]
                assert sorted(keys) == ["1", "2"]


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("aggregate", 286, r"is gone from the oplog(, which|:)"),
        ("getMore", 136, r"is gone from the oplog(, which|:)"),
        ("aggregate", 260, r"resume token is damaged or of no use, which is no loss of history \(InvalidResumeToken"),
        ("getMore", 280, r"where a stage of cursor\.pipeline changes _id"),
    ],
)
def test_what_the_server_says_is_told_apart(
    forgetting: MongoReplicaSet, command: str, code: int, said: str, unique_name: str
) -> None:
    capture = Capture(forgetting.uri, database_include_list=unique_name, collection_include_list="x.y")
    capture.once()
    with forgetting.client() as client, failing(client, command, code):
        assert re.search(said, _refusal(capture))


@pytest.mark.parametrize("damage", ["no hexadecimal", "82" + "AB" * 20, "cut"])
def test_a_damaged_token_is_no_lost_history(forgetting: MongoReplicaSet, damage: str, unique_name: str) -> None:
    capture = Capture(forgetting.uri, database_include_list=unique_name)
    capture.once()
    assert capture.offset is not None
    token = token_of(capture.offset["resume_token"])["_data"][:15] if damage == "cut" else damage
    capture.offset |= {"resume_token": token_text({"_data": token})}
    found = _refusal(capture)
    assert "the offset's resume token is damaged" in found
    assert "correct the offset with `cdc offsets set`" in found
    assert "is gone" not in found
    with pytest.raises(StateError, match="resume token"):
        MongoDbSource(capture.config()).check_offset(capture.offset)


def test_a_token_of_other_servers_is_no_lost_history(forgetting: MongoReplicaSet, unique_name: str) -> None:
    with forgetting.client() as client:
        client[unique_name].a.insert_one({"_id": 1})
        capture = Capture(forgetting.uri, database_include_list=unique_name)
        capture.once()
        client[unique_name].a.insert_one({"_id": 2})
        with client.watch() as stream:
            client[unique_name].a.insert_one({"_id": 3})
            token = next(stream)["_id"]["_data"]
        client[unique_name].a.insert_one({"_id": 4})  # later than the wrong token, whichever way that sorts
        assert capture.offset is not None
        elsewhere = token[:60] + f"{int(token[60:64], 16) ^ 0xFFFF:04X}" + token[64:]
        capture.offset = {"sec": capture.offset["sec"], "ord": 1, "resume_token": token_text({"_data": elsewhere})}
        assert "the oplog has no event with the offset's resume token" in _refusal(capture)
        capture.options["snapshot.mode"] = "when_needed"
        assert len(capture.once()) == 4


def test_a_place_in_the_future_is_not_waited_for(forgetting: MongoReplicaSet, unique_name: str) -> None:
    with forgetting.client() as client:
        client[unique_name].a.insert_one({"_id": 1})
    capture = Capture(forgetting.uri, database_include_list=unique_name)
    capture.offset = {"sec": 4_000_000_000, "ord": 1}
    found = _refusal(capture)
    assert "2096-10-02T07:06:40Z (4000000000:1), lies ahead of the newest operation" in found
    assert "correct the offset with `cdc offsets set`" in found
    capture.options["snapshot.mode"] = "when_needed"
    assert [shown(record)[:2] for record in capture.once()] == [("r", "1")]


def test_a_pipeline_that_takes_the_token_away_is_named(forgetting: MongoReplicaSet, unique_name: str) -> None:
    stages = '[{"$project": {"_id": 0}}]'
    with forgetting.client() as client:
        client[unique_name].create_collection("a")
        capture = Capture(forgetting.uri, database_include_list=unique_name, cursor_pipeline=stages)
        capture.options["snapshot.mode"] = "when_needed"
        capture.once()
        client[unique_name].a.insert_one({"_id": 1})
        assert "where a stage of cursor.pipeline changes _id, the resume token, take it out" in _refusal(capture)


def _pipeline(folder: Path, outage: Outage, **options: Any) -> Pipeline:
    named = {name.replace("_", "."): value for name, value in options.items()}
    source = {"type": "mongodb", "topic.prefix": "p", "mongodb.connection.string": outage.uri, **named}
    made = to_file(folder, {**source, "collection.include.list": r"d\.a"})
    state = open_state(state_in(made.state))
    state.save_offset(outage.offset)
    state.close()
    return made


def test_the_command_ends_with_3_after_a_long_outage(outage: Outage, tmp_path: Path) -> None:
    pipeline = _pipeline(tmp_path, outage, snapshot_mode="initial")
    ended = pipeline.run("--once")
    assert ended.code == 3
    assert re.search(r"the changes of \d+ s are lost; snapshot\.mode=when_needed", ended.errors)
    assert not pipeline.output.exists() or pipeline.events() == []
    assert pipeline.offset() == outage.offset


@SNAPSHOTS_AGAIN
def test_the_command_takes_a_new_snapshot_after_a_long_outage(
    outage: Outage, tmp_path: Path, options: Document
) -> None:
    pipeline = _pipeline(tmp_path, outage, **options)
    ended = pipeline.run("--once")
    assert ended.code == 0, ended.stderr
    assert "a new snapshot is taken" in ended.stderr
    assert sorted((event["value"]["op"], event["key"]["id"]) for event in pipeline.events()) == [("r", "1"), ("r", "2")]


def test_a_bounded_run_takes_its_snapshot_at_once(
    forgetting: MongoReplicaSet, tmp_path: Path, unique_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oplog moves on between the planning of the last stretch and its reading."""
    with forgetting.client() as client:
        client[unique_name].a.insert_one({"_id": 1})
        source = {"type": "mongodb", "topic.prefix": "p", "mongodb.connection.string": forgetting.uri}
        source |= {"database.include.list": unique_name, "snapshot.mode": "when_needed"}
        pipeline = to_file(tmp_path, source)
        assert pipeline.run("--once").code == 0
        client[unique_name].a.insert_one({"_id": 2})
        end_of = MongoDbSource.latest_offset

        def moved_on(self: MongoDbSource, start: Offset, wait_seconds: float = 0.0) -> Offset:
            end = end_of(self, start, wait_seconds)
            if not filled:
                filled.append(True)
                fill_the_oplog(client, end)
            return end

        filled: list[bool] = []
        monkeypatch.setattr(MongoDbSource, "latest_offset", moved_on)
        DirectRunner(load_pipeline(pipeline.written())).run(once=True)
        seen = [(event["value"]["op"], event["key"]["id"]) for event in pipeline.events()]
        assert seen == [("r", "1"), ("r", "1"), ("r", "2")]
