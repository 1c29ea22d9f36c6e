"""Signals where Spark's planner reads the change stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pymongo.database import Database

from cdckit.connector.signals import Signal
from cdckit.connector.signals.inbox import leave
from cdckit.engine.config.loading import load_pipeline
from mysql.planned_in_order import InOrder
from testkit.running import to_file
from testkit.servers.mongodb import MongoReplicaSet


def test_a_collection_is_read_again(
    mongo: MongoReplicaSet, own_database: Database[dict[str, Any]], tmp_path: Path
) -> None:
    """Also where its batch is delivered and not committed, and the collection is another by then."""
    name = own_database.name
    own_database.t.insert_many({"_id": number, "v": 0} for number in range(30))
    source = {
        "type": "mongodb",
        "topic.prefix": "p",
        "mongodb.connection.string": mongo.uri,
        "collection.include.list": rf"{name}\.t",
        "signal.data.collection": f"{name}.signals",
        "signal.enabled.channels": "source,in-process",
        "signal.poll.interval.ms": 10,
        "incremental.snapshot.chunk.size": 7,
        "snapshot.mode": "no_data",
    }
    pipeline = load_pipeline(to_file(tmp_path, source).written(), runner="spark")
    batches = InOrder(pipeline, ends=True, wait_seconds=0.2)
    batches.run()
    data = {"data-collections": [f"{name}.t"]}
    leave(tmp_path / "state", Signal("s1", "execute-snapshot", data))
    own_database.t.update_one({"_id": 3}, {"$set": {"v": 5}})
    batches.run(most=2, dies=True)  # the first one knows of the signal, and the chunks come behind it
    before = list(batches.events)
    own_database.t.update_many({}, {"$inc": {"v": 1}})
    batches.events.clear()
    batches.run(most=1)
    assert batches.events and batches.events == before[-len(batches.events) :]
    batches.run()
    own_database.t.delete_one({"_id": 29})
    batches.run()
    read = [event["value"] for event in batches.events if event["topic"].endswith(".t") and event["value"]]
    again = [one for one in read if one["source"]["snapshot"] == "incremental"]
    assert len(again) > 0
    assert len({one["after"] for one in again}) == len(again)
    assert not list((tmp_path / "state" / "signals").iterdir())
