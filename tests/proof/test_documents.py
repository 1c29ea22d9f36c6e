"""`cdc diff` with MongoDB as the source."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from proof.shop import deliver, proved
from testkit.running import Pipeline
from testkit.servers.mongodb import MongoReplicaSet


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
            assert (moving.outcome, moving.note, moving.differences) == ("equal", "", ())
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
