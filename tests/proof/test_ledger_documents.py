"""The ledger of pipelines that capture MongoDB."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from bson import Binary, Decimal128, Int64, MaxKey, MinKey, ObjectId, Timestamp

from cdckit.cli.main import call
from proof.shop import deliver, proved
from proof.test_ledger import said
from testkit.running import Pipeline
from testkit.servers.mongodb import MongoReplicaSet

pytestmark = pytest.mark.timeout(600)

_IDENTIFIERS: tuple[Any, ...] = (
    ObjectId("650000000000000000000001"), 1, Int64(1 << 40), 2.5, "text", "",
    datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC),
    Binary(b"\x00\xff", 0), Binary(uuid.UUID(int=5).bytes, 4), {"b": 1, "a": {"c": "x"}}, True, None,
    Decimal128("1.500"), MinKey(), MaxKey(), Timestamp(1, 2),
)  # fmt: skip


def kept(mongo: MongoReplicaSet, database: str, folder: Path, sink: dict[str, Any], **options: Any) -> Pipeline:
    source = {
        "type": "mongodb", "topic.prefix": "p", "mongodb.connection.string": mongo.uri,
        "collection.include.list": f"{database}.things",
        "capture.mode": "change_streams_update_full_with_pre_image", "capture.mode.full.update.type": "post_image",
        **options,
    }  # fmt: skip
    return Pipeline(folder, source, sink, {"runner": "direct", "ledger": True, "offset.flush.interval.ms": 100})


def to_file(folder: Path) -> dict[str, Any]:
    return {"type": "file", "path": str(folder / "out.jsonl")}


def to_lake(folder: Path) -> dict[str, Any]:
    return {"type": "delta", "mode": "mirror", "path": str(folder / "lake")}


@pytest.mark.parametrize("sink", [to_file, to_lake])
def test_the_sums_are_those_of_the_documents_whatever_their_identifiers(
    mongo: MongoReplicaSet, unique_name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], sink: Any
) -> None:
    pipeline = kept(mongo, unique_name, tmp_path, sink(tmp_path))
    with mongo.client() as client:
        database = client[unique_name]
        things = database.create_collection("things", changeStreamPreAndPostImages={"enabled": True})
        things.insert_many([{"_id": one, "n": 1.50, "in": [one]} for one in _IDENTIFIERS[:10]])
        deliver(pipeline)
        assert said(pipeline, capfd, "things") == ("equal", 10, "")
        things.insert_many([{"_id": one, "n": Int64(2)} for one in _IDENTIFIERS[10:]])
        for one in _IDENTIFIERS[::2]:
            things.update_one({"_id": one}, {"$set": {"n": Decimal128("3.10"), "more": {"z": 1, "a": 2}}})
        things.replace_one({"_id": "text"}, {"n": None})
        things.delete_many({"_id": {"$in": [1, {"b": 1, "a": {"c": "x"}}]}})
        deliver(pipeline)
        assert said(pipeline, capfd, "things") == ("equal", len(_IDENTIFIERS) - 2, "")
        assert proved(pipeline)["things"].outcome == "equal"
        client.drop_database(unique_name)


@pytest.mark.parametrize("sink", [to_file, to_lake])
def test_what_the_stream_tells_again_of_a_snapshot_counts_once(
    mongo: MongoReplicaSet, unique_name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], sink: Any
) -> None:
    pipeline = kept(mongo, unique_name, tmp_path, sink(tmp_path), **{"max.batch.size": 10})
    with mongo.client() as client:
        things = client[unique_name].create_collection("things", changeStreamPreAndPostImages={"enabled": True})
        things.insert_many([{"_id": number, "n": number} for number in range(4000)])
        with pipeline.running() as process:
            process.wait_until(lambda: _begun(pipeline, tmp_path))
            process.kill()
        things.update_many({"_id": {"$lt": 20}}, {"$set": {"n": "between"}})
        things.delete_many({"_id": {"$gte": 3990}})
        things.insert_one({"_id": 5000})
        deliver(pipeline)
        assert said(pipeline, capfd, "things") == ("equal", 3991, "")
        things.update_many({"_id": {"$lt": 10}}, {"$set": {"n": "behind"}})
        deliver(pipeline)
        assert said(pipeline, capfd, "things") == ("equal", 3991, "")
        client.drop_database(unique_name)


@pytest.mark.parametrize("sink", [to_file, to_lake])
def test_where_an_event_shows_the_identifier_does_not_count(
    mongo: MongoReplicaSet, unique_name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], sink: Any
) -> None:
    """What a change has put may show it behind other fields; what the next one takes away has it first."""
    pipeline = kept(mongo, unique_name, tmp_path, sink(tmp_path))
    moved = [{"$replaceWith": {"$mergeObjects": ["$in", {"_id": "$_id"}]}}]
    with mongo.client() as client:
        things = client[unique_name].create_collection("things", changeStreamPreAndPostImages={"enabled": True})
        things.insert_many([{"_id": number, "in": {"z": 1, "a": [number]}} for number in range(3)])
        deliver(pipeline)
        things.insert_one({"_id": 3, "in": {"b": 1}})
        things.update_many({"_id": {"$gt": 0}}, moved)
        deliver(pipeline)
        assert said(pipeline, capfd, "things") == ("equal", 4, "")
        things.update_one({"_id": 1}, {"$set": {"z": 2}})
        things.delete_one({"_id": 2})
        deliver(pipeline)
        assert said(pipeline, capfd, "things") == ("equal", 3, "")
        assert proved(pipeline)["things"].outcome == "equal"
        client.drop_database(unique_name)


def _begun(pipeline: Pipeline, folder: Path) -> bool:
    """Whether the place in the stream is kept, from which it is followed."""
    return (folder / "lake").exists() or pipeline.offset() is not None


def test_changes_without_the_document_before_are_told(
    mongo: MongoReplicaSet, unique_name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pipeline = kept(mongo, unique_name, tmp_path, to_file(tmp_path))
    with mongo.client() as client:
        things = client[unique_name]["things"]
        things.insert_many([{"_id": number} for number in range(5)])
        deliver(pipeline)
        things.delete_one({"_id": 1})
        deliver(pipeline)
        outcome, _, note = said(pipeline, capfd, "things")
        client.drop_database(unique_name)
    assert (outcome, "does not tell the row before" in note) == ("undecided", True)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"capture.mode": "change_streams"}, "change_streams_update_full_with_pre_image"),
        ({"capture.mode.full.update.type": "lookup"}, "post_image"),
        ({"cursor.pipeline": '[{"$match": {}}]'}, "may leave changes out"),
    ],
)
def test_it_is_refused_where_changes_do_not_show_both_documents(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], options: dict[str, Any], why: str
) -> None:
    source = {
        "type": "mongodb", "topic.prefix": "p", "mongodb.connection.string": "mongodb://h",
        "capture.mode": "change_streams_update_full_with_pre_image", "capture.mode.full.update.type": "post_image",
        **options,
    }  # fmt: skip
    if options.get("capture.mode") == "change_streams":
        del source["capture.mode.full.update.type"]
    content = {"runner": "direct", "source": source, "sink": to_file(tmp_path), "ledger": True}
    (tmp_path / "p.json").write_text(json.dumps(content))
    assert call(["validate", str(tmp_path / "p.json")]) == 2
    refused = capfd.readouterr().err
    assert ("ledger: " in refused, why in refused) == (True, True), refused
