"""A backlog that is read range by range, as a runner for many machines reads it."""

from __future__ import annotations

from typing import Any

from pymongo.database import Database

from cdckit.api.record import Offset
from cdckit_mongodb.source import MongoDbSource
from mongodb.capture import Capture, shown
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]
TEXT = "x" * 1000


def _begun(mongo: MongoReplicaSet, database: Own, **options: Any) -> Capture:
    capture = Capture(mongo.uri, database_include_list=database.name, snapshot_mode="no_data", **options)
    capture.once()
    return capture


def _ranges(source: MongoDbSource, start: Offset, max_bytes: int) -> list[list[tuple[str | None, str, Any]]]:
    """What each range has, up to the stream's end as it is now."""
    end, at = source.latest_offset(start), start
    found: list[list[tuple[str | None, str, Any]]] = []
    while at != end:
        until = source.cut(at, end, max_bytes)
        batches = [batch for split in source.plan(at, until, 2) for batch in source.read(split)]
        found.append([shown(record) for batch in batches for record in batch.records])
        at = until
    return found


def _small_entries(own_database: Own, count: int) -> None:
    """Leaves entries in the oplog that have a small part of the size of those that the tests ask for."""
    for _ in range(count // 10_000):
        own_database.small.insert_many([{} for _ in range(10_000)])
        own_database.small.delete_many({})


def test_a_backlog_is_cut_between_operations(mongo: MongoReplicaSet, own_database: Own) -> None:
    """By the bytes behind the place where it begins, whatever else the oplog holds."""
    own_database.create_collection("a")
    _small_entries(own_database, 20_000)
    capture = _begun(mongo, own_database)
    for number in range(1500):
        own_database.a.insert_one({"_id": number, "text": TEXT})
        if number == 700:
            with own_database.client.start_session() as session, session.start_transaction():
                own_database.a.update_many({}, {"$set": {"seen": True}}, session=session)
    with capture.source() as source:
        assert capture.offset is not None
        ranges = _ranges(source, capture.offset, 200_000)
        everything = _ranges(source, capture.offset, 10**9)
    assert len(everything) == 1
    assert [one for each in ranges for one in each] == everything[0]
    assert len(everything[0]) == 1500 + 701
    assert len([each for each in ranges if each]) > 4
    assert [sum(operation == "u" for operation, _, _ in each) for each in ranges if each].count(701) == 1
