"""The tail of a pipeline of MongoDB on Spark in a direct process, without a JVM."""

from __future__ import annotations

from pathlib import Path

from testkit.running import to_file
from testkit.servers.mongodb import MongoReplicaSet

COUNT = 500


def test_what_is_small_needs_no_jvm(mongo: MongoReplicaSet, unique_name: str, tmp_path: Path) -> None:
    """A small snapshot and the changes behind it, each told once, in the collection's order."""
    with mongo.client() as client:
        client[unique_name].a.insert_many({"_id": number} for number in range(COUNT))
        client[unique_name].b.insert_one({"_id": 0})
    source = {
        "type": "mongodb",
        "topic.prefix": "p",
        "mongodb.connection.string": mongo.uri,
        "database.include.list": unique_name,
    }
    tail = {"runner": "spark", "tail": "direct", "tail.max.lag.ms": 600_000}
    pipeline = to_file(tmp_path, source, **tail)
    first = pipeline.run("--once")
    with mongo.client() as client:
        client[unique_name].a.update_one({"_id": 7}, {"$set": {"v": 1}})
        client[unique_name].b.delete_one({"_id": 0})
    last = pipeline.run("--once")
    assert (first.code, last.code, "Spark" in first.stderr + last.stderr) == (0, 0, False), first.stderr + last.stderr
    told = [
        (event["topic"][-1], event["value"]["op"], event["key"]["id"]) for event in pipeline.events() if event["value"]
    ]
    assert told[:COUNT] == [("a", "r", str(number)) for number in range(COUNT)]
    assert told[COUNT:] == [("b", "r", "0"), ("a", "u", "7"), ("b", "d", "0")]
