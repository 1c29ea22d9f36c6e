"""`cdc diff` with MongoDB as the source."""

from __future__ import annotations

import json
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from cdckit import Batch, Struct
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.proof.beside import Beside
from proof.shop import deliver, proved
from testkit.running import Pipeline
from testkit.servers.mongodb import MongoReplicaSet

FILE = {"type": "file"}
MIRROR = {"type": "delta", "mode": "mirror"}


def test_collections_are_compared_while_they_change(mongo: MongoReplicaSet, unique_name: str, tmp_path: Path) -> None:
    source = {
        "type": "mongodb", "topic.prefix": "m", "mongodb.connection.string": mongo.uri,
        "collection.include.list": f"{unique_name}.things",
    }  # fmt: skip
    others = {"serializer": {"schemas.enable": False}, "offset.flush.interval.ms": 100, "runner": "direct"}
    pipeline = Pipeline(tmp_path, source, {"type": "file", "path": str(tmp_path / "out.jsonl")}, others)
    ended = threading.Event()
    with mongo.client() as client:
        things = client[unique_name]["things"]
        things.insert_many([{"_id": number, "n": number / 3, "in": {"b": 1, "a": [number]}} for number in range(200)])

        def write() -> None:
            number = 0
            while not ended.is_set():
                number += 1
                things.update_one({"_id": number % 5}, {"$set": {"n": number}})
                things.replace_one({"_id": 1000 + number % 7}, {"n": str(number)}, upsert=True)
                things.delete_one({"_id": 1000 + (number * 3) % 7})
                ended.wait(0.01)

        with pipeline.running() as process:
            process.wait_until(lambda: pipeline.offset() is not None)
            writer = threading.Thread(target=write)
            writer.start()
            try:
                moving = proved(pipeline)["things"]
            finally:
                ended.set()
                writer.join()
            assert (moving.outcome, moving.note, moving.differences, moving.exact) == ("equal", "", (), True)
        deliver(pipeline)
        lines = pipeline.output.read_text().splitlines()
        at = next(number for number, line in enumerate(lines) if json.loads(line)["key"]["id"] == "77")
        faulty = lines.pop(at).replace("[77]", "[78]").replace("[ 77 ]", "[ 78 ]")
        pipeline.output.write_text("\n".join([*lines, faulty]) + "\n")
        still = proved(pipeline)["things"]
        client.drop_database(unique_name)
    [one] = still.differences
    assert (still.outcome, json.loads(one.key), one.fault, one.columns) == ("unequal", {"id": "77"}, "changed", ("in",))


def test_updates_that_carry_only_what_changed_cannot_be_compared(
    mongo: MongoReplicaSet, unique_name: str, tmp_path: Path
) -> None:
    source = {
        "type": "mongodb", "topic.prefix": "m", "mongodb.connection.string": mongo.uri,
        "collection.include.list": f"{unique_name}.things", "capture.mode": "change_streams",
    }  # fmt: skip
    pipeline = Pipeline(tmp_path, source, {"type": "file", "path": str(tmp_path / "out.jsonl")}, {"runner": "direct"})
    with mongo.client() as client:
        client[unique_name]["things"].insert_one({"_id": 1})
        deliver(pipeline)
        found = proved(pipeline)["things"]
        client.drop_database(unique_name)
    assert (found.outcome, "carry only what has changed" in found.note) == ("undecided", True)


@pytest.mark.parametrize("form", ["1.9", "3"])
def test_what_an_update_changed_is_no_part_of_the_document(
    mongo: MongoReplicaSet, unique_name: str, tmp_path: Path, form: str
) -> None:
    source = {
        "type": "mongodb", "topic.prefix": "m", "mongodb.connection.string": mongo.uri,
        "collection.include.list": f"{unique_name}.things", "event.format": form,
    }  # fmt: skip
    pipeline = Pipeline(tmp_path, source, {"type": "file", "path": str(tmp_path / "out.jsonl")}, {"runner": "direct"})
    with mongo.client() as client:
        things = client[unique_name]["things"]
        things.insert_many([{"_id": 1}, {"_id": 2}, {"_id": 3}])
        deliver(pipeline)
        things.update_one({"_id": 1}, {"$set": {"n": 1}})
        things.delete_one({"_id": 2})
        deliver(pipeline)
        found = proved(pipeline)["things"]
        client.drop_database(unique_name)
    assert (found.outcome, found.rows, found.note) == ("equal", 2, "")


@pytest.mark.parametrize("sink", [FILE, MIRROR, {**MIRROR, "mode": "changelog"}], ids=["file", "mirror", "changelog"])
def test_where_an_event_shows_the_identifier_is_no_part_of_the_document(
    mongo: MongoReplicaSet, unique_name: str, tmp_path: Path, afterwards: ExitStack, sink: dict[str, Any]
) -> None:
    """The collection has it first; the other fields count in their order."""
    afterwards.callback(mongo.drop_database, unique_name)
    source = {
        "type": "mongodb", "topic.prefix": "m", "mongodb.connection.string": mongo.uri,
        "collection.include.list": f"{unique_name}.things",
    }  # fmt: skip
    pipeline = Pipeline(tmp_path, source, {"path": str(tmp_path / "out"), **sink}, {"runner": "direct"})
    with mongo.client() as client:
        things = client[unique_name]["things"]
        things.insert_many([{"_id": number, "in": {"z": 1, "a": [number]}} for number in range(3)])
        deliver(pipeline)
        things.update_one({"_id": 1}, [{"$replaceWith": {"$mergeObjects": ["$in", {"_id": "$_id"}]}}])
        deliver(pipeline)
        assert _arrived(pipeline, '{"z": 1,"a": [1],"_id": 1}')
        assert list(things.find_one({"_id": 1}) or ()) == ["_id", "z", "a"]
        equal = proved(pipeline)["things"]
        assert (equal.outcome, equal.rows, equal.note) == ("equal", 3, "")
        if sink["type"] == "file":
            content = (tmp_path / "out").read_text()
            (tmp_path / "out").write_text(content.replace('{\\"z\\": 1,\\"a\\": [1],', '{\\"a\\": [1],\\"z\\": 1,'))
            [other] = proved(pipeline)["things"].differences
            assert (json.loads(other.key), other.fault) == ({"id": "1"}, "changed")


def _arrived(pipeline: Pipeline, document: str) -> bool:
    """Whether the sink has got a document in just these words."""
    path = Path(pipeline.sink["path"])
    if path.is_file():
        after = (json.loads(line)["value"] for line in path.read_text().splitlines())
        return document in {(value.get("payload") or value)["after"] for value in after}
    [table] = path.glob("*.things")
    return document in DeltaTable(table).to_pyarrow_table().column("document").to_pylist()


def test_what_stages_of_ones_own_may_have_left_out_is_not_called_a_fault(
    mongo: MongoReplicaSet, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    afterwards.callback(mongo.drop_database, unique_name)
    source = {
        "type": "mongodb", "topic.prefix": "m", "mongodb.connection.string": mongo.uri,
        "database.include.list": unique_name,
        "cursor.pipeline": '[{"$match": {"operationType": {"$ne": "delete"}}}]',
    }  # fmt: skip
    pipeline = Pipeline(tmp_path, source, {"type": "file", "path": str(tmp_path / "out.jsonl")}, {"runner": "direct"})
    with mongo.client() as client:
        for name in ("kept", "cut"):
            client[unique_name][name].insert_many([{"_id": 1}, {"_id": 2}])
        deliver(pipeline)
        for name in ("kept", "cut"):
            client[unique_name][name].update_one({"_id": 1}, {"$set": {"n": 1}})
        client[unique_name]["cut"].delete_one({"_id": 2})
        deliver(pipeline)
        found = proved(pipeline)
    kept, cut = found["kept"], found["cut"]
    assert (kept.outcome, kept.note) == ("equal", "")
    assert (cut.outcome, cut.extra) == ("undecided", 1)
    assert "source.cursor.pipeline may leave changes out" in cut.note


def test_documents_are_read_as_they_were(mongo: MongoReplicaSet, unique_name: str, tmp_path: Path) -> None:
    source = {
        "type": "mongodb", "topic.prefix": "m", "mongodb.connection.string": mongo.uri,
        "collection.include.list": f"{unique_name}.things",
    }  # fmt: skip
    others = {"serializer": {"schemas.enable": False}, "runner": "direct"}
    pipeline = Pipeline(tmp_path, source, {"type": "file", "path": str(tmp_path / "out.jsonl")}, others)
    with mongo.client() as client, ExitStack() as stack:
        things = client[unique_name]["things"]
        stack.callback(client.drop_database, unique_name)
        things.insert_many([{"_id": number, "n": 0} for number in range(3)])
        beside = stack.enter_context(Beside(load_pipeline(pipeline.written()), (), tmp_path / "beside", lambda: False))
        assert [_told(batch) for batch in beside.rows()][-1] == [(0, 0), (1, 0), (2, 0)]
        things.update_one({"_id": 0}, {"$set": {"n": 1}})
        point = beside.end()
        things.update_one({"_id": 1}, {"$set": {"n": 1}})
        place = beside.end()
        things.update_one({"_id": 0}, {"$set": {"n": 2}})
        things.update_one({"_id": 1}, {"$set": {"n": 2}})
        things.update_one({"_id": 1}, {"$set": {"n": 3}})
        things.delete_one({"_id": 2})
        things.insert_one({"_id": 4, "n": 0})
        looked_up = [row for batch in beside.changes(point) for row in _told(batch)]
        assert looked_up == [(0, 2)], "the server has looked it up later than it was"
        met = [(later, row) for batch, later in beside.met(place) for row in _told(batch)]
    assert sorted(met[:4]) == [(False, (0, 1)), (False, (1, 1)), (False, (2, 0)), (False, (4, None))]
    assert met[4:] == [(True, row) for row in ((0, 2), (1, 2), (1, 3), (2, None), (4, 0))]


def _told(batch: Batch) -> list[tuple[int, int | None]]:
    """The numbers of documents, and what they hold; None: they are gone."""
    rows = []
    for record in batch.records:
        if isinstance(record.value, Struct) and isinstance(record.key, Struct):
            after = record.value["after"]
            rows.append((int(record.key["id"]), None if after is None else json.loads(after)["n"]))
    return rows
