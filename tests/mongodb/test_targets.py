"""What a narrower `capture.scope` names is dropped or renamed: its stream ends, and a new one begins behind that."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from pymongo.database import Database

from cdckit_mongodb.splits import StreamWork
from mongodb.capture import Capture, shown
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]
Change = tuple[str | None, str, str]

END: Change = ("c", '"end"', "a")


def _of(capture: Capture) -> list[Change]:
    """Each record's operation, key and collection."""
    return [(*shown(record)[:2], record.topic.rpartition(".")[2]) for record in capture.records]


def _begun(mongo: MongoReplicaSet, database: Own, scope: str, **options: Any) -> Capture:
    """A capture of the database, or of its collection `a`, whose snapshot is done."""
    target = database.name if scope == "database" else f"{database.name}.a"
    capture = Capture(mongo.uri, capture_scope=scope, capture_target=target, **options)
    capture.once()
    capture.records.clear()
    return capture


def _drop(database: Own) -> None:
    database.a.drop()


def _rename(database: Own) -> None:
    database.a.rename("b", dropTarget=True)
    database.b.insert_one({"_id": "elsewhere"})


def _replace(database: Own) -> None:
    """Another collection takes the place of `a`: its documents come without events."""
    database.c.insert_one({"_id": "unseen"})
    database.c.rename("a", dropTarget=True)


def _drop_database(database: Own) -> None:
    database.client.drop_database(database.name)


def _by_following(capture: Capture) -> None:
    capture.follow(lambda: END in _of(capture))


def _by_catching_up(capture: Capture) -> None:
    """At each start to the log's end, as it is then."""
    while END not in _of(capture):
        capture.once()


def _by_ranges(capture: Capture) -> None:
    """As Spark's tasks read it."""
    with capture.source() as source:
        assert capture.offset is not None
        end = source.latest_offset(capture.offset)
        (split,) = source.plan(capture.offset, end)
        assert isinstance(split.payload, StreamWork)
        for batch in source.read(split):
            capture.take(batch)


READINGS: list[Callable[[Capture], None]] = [_by_following, _by_catching_up, _by_ranges]


@pytest.mark.parametrize("read", READINGS)
@pytest.mark.parametrize("change", [_drop, _rename, _replace, _drop_database])
def test_a_collection_is_followed_under_its_name(
    mongo: MongoReplicaSet, own_database: Own, change: Callable[[Own], None], read: Callable[[Capture], None]
) -> None:
    """Three times in a row; what a rename took elsewhere is not the target any more."""
    own_database.a.insert_one({"_id": "first"})
    capture = _begun(mongo, own_database, "collection")
    for number in range(3):
        own_database.a.insert_one({"_id": number})
        own_database.a.update_one({"_id": number}, {"$set": {"v": 1}})
        change(own_database)
    own_database.a.insert_one({"_id": "end"})
    read(capture)
    made = [(operation, str(number), "a") for number in range(3) for operation in ("c", "u")]
    assert _of(capture) == [*made, END]
    positions = [record.position for record in capture.records]
    assert positions == sorted(positions)


@pytest.mark.parametrize("read", READINGS)
def test_a_database_is_followed_through_what_happens_to_its_collections(
    mongo: MongoReplicaSet, own_database: Own, read: Callable[[Capture], None]
) -> None:
    """Dropping or renaming a collection leaves the database's stream open, dropping the database does not."""
    own_database.a.insert_one({"_id": "first"})
    capture = _begun(mongo, own_database, "database")
    expected: list[Change] = []
    for number in (1, 2):
        own_database.a.insert_one({"_id": number})
        _drop(own_database)
        own_database.a.insert_one({"_id": number + 10})
        own_database.a.rename("b")
        own_database.b.insert_one({"_id": number + 20})
        _drop_database(own_database)
        expected += [("c", str(number), "a"), ("c", str(number + 10), "a"), ("c", str(number + 20), "b")]
    own_database.a.insert_one({"_id": "end"})
    read(capture)
    assert _of(capture) == [*expected, END]


@pytest.mark.parametrize("read", READINGS)
def test_stages_that_leave_the_end_of_a_stream_out(
    mongo: MongoReplicaSet, own_database: Own, read: Callable[[Capture], None]
) -> None:
    """The server closes a stream even if the user's stages hide why."""
    own_database.a.insert_one({"_id": "first"})
    only_changes = json.dumps([{"$match": {"operationType": {"$in": ["insert", "update"]}}}])
    stages = {"cursor_pipeline": only_changes, "cursor_pipeline_order": "user_only"}
    capture = _begun(mongo, own_database, "collection", **stages)
    own_database.a.insert_one({"_id": 1})
    _drop(own_database)
    own_database.a.insert_one({"_id": "end"})
    read(capture)
    assert _of(capture) == [("c", "1", "a"), END]


def test_a_stop_at_the_end_of_a_stream(mongo: MongoReplicaSet, own_database: Own) -> None:
    """The target may be away for several starts."""
    own_database.a.insert_one({"_id": "first"})
    capture = _begun(mongo, own_database, "collection")
    _drop(own_database)
    for _ in range(3):
        assert capture.once() == []
    own_database.a.insert_one({"_id": "end"})
    _by_catching_up(capture)
    assert _of(capture) == [END]
