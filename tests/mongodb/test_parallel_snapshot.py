"""Snapshots read by several connections: what is read, marked how, and gone on with after they were stopped."""

from __future__ import annotations

import datetime
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from bson import MaxKey, MinKey, ObjectId
from pymongo.database import Database

from cdckit.api.record import Record
from cdckit_mongodb.snapshot import chunks, collections, parallel, whole
from mongodb.capture import Capture, change, shown
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]

MIXED: list[Any] = [
    *range(250),
    *(f"s{number:03d}" for number in range(150)),
    ObjectId(),
    True,
    {"x": 1},
    MinKey(),
    MaxKey(),
]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collections of a few hundred documents are divided, and read in the order of `_id`."""
    monkeypatch.setattr(chunks, "_WORTH_DIVIDING", 50)
    monkeypatch.setattr(parallel, "IN_ORDER_FROM", 60)
    monkeypatch.setattr(whole, "IN_ORDER_FROM", 60)


@pytest.fixture
def filled(own_database: Own) -> Own:
    """Two large collections, a small one and an empty one."""
    own_database.a.insert_many({"_id": number, "v": 0} for number in MIXED)
    own_database.b.insert_many({"_id": number, "v": 0} for number in range(300))
    own_database.c.insert_many({"_id": number, "v": 0} for number in range(10))
    own_database.create_collection("d")
    return own_database


def _capture(mongo: MongoReplicaSet, database: Own, **options: Any) -> Capture:
    given = {"snapshot_max_threads": 3, "snapshot_fetch_size": 20, **options}
    return Capture(mongo.uri, database_include_list=database.name, **given)


def _names(records: list[Record]) -> Counter[tuple[str, str]]:
    """How often each document was read."""
    return Counter((record.topic, shown(record)[1]) for record in records if shown(record)[0] == "r")


def _documents_after(records: list[Record]) -> dict[tuple[str, str], Any]:
    """The documents that a consumer has after these events."""
    found: dict[tuple[str, str], Any] = {}
    for record in records:
        operation, key, document = shown(record)
        if operation in ("d", None):
            found.pop((record.topic, key), None)
        else:
            found[record.topic, key] = document["v"]
    return found


@contextmanager
def _writing(database: Own) -> Iterator[None]:
    """Others write meanwhile, at least a hundred times."""
    done = threading.Event()

    def write() -> None:
        number = 0
        while number < 100 or not done.is_set():
            number += 1
            database.b.replace_one({"_id": number % 300}, {"v": number}, upsert=True)
            database.b.delete_one({"_id": number * 7 % 300})
            database.a.insert_one({"_id": 1000 + number, "v": number})

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        done.set()
        writer.join()


def _readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("snapshot-")]


def test_each_document_is_read_once_and_the_last_one_marked(mongo: MongoReplicaSet, filled: Own) -> None:
    records = _capture(mongo, filled).once()
    names = _names(records)
    assert len(names) == len(records) == len(MIXED) + 310
    positions = [record.position for record in records]
    assert positions == sorted(set(positions))
    marks = [change(record)["source"]["snapshot"] for record in records]
    assert marks == ["true"] * (len(records) - 1) + ["last"]


def test_the_stream_goes_on_behind_what_was_read(mongo: MongoReplicaSet, filled: Own) -> None:
    capture = _capture(mongo, filled)
    with _writing(filled):
        capture.once()
    capture.once()
    expected = {
        (f"t.{filled.name}.{name}", str(document["_id"])): document["v"]
        for name in "bc"
        for document in filled[name].find()
    }
    found = _documents_after(capture.records)
    assert {name: value for name, value in found.items() if not name[0].endswith(".a")} == expected
    assert len(found) - len(expected) == filled.a.count_documents({})
    operations = [shown(record)[0] == "r" for record in capture.records]
    assert operations == sorted(operations, reverse=True)


def test_a_stopped_snapshot_goes_on_with_as_many_connections_as_there_are_then(
    mongo: MongoReplicaSet, filled: Own
) -> None:
    capture = _capture(mongo, filled)
    rounds = 0
    while capture.offset is None or capture.offset.get("initsync"):
        capture.options["snapshot.max.threads"] = (3, 1, 4, 2)[rounds % 4]
        enough = len(capture.records) + 130
        capture.once(until=lambda enough=enough: len(capture.records) >= enough)  # type: ignore[misc]
        rounds += 1
    assert rounds > 3
    reads = _names(capture.records)
    assert len(reads) == len(MIXED) + 310
    assert sum(reads.values()) - len(reads) < 130 * rounds
    positions = [record.position for record in capture.records]
    assert positions == sorted(set(positions))
    assert change(capture.records[-1])["source"]["snapshot"] == "last"


def test_it_goes_on_in_the_middle_of_a_collection_at_any_identifier(mongo: MongoReplicaSet, own_database: Own) -> None:
    """What was given out without a gap, here the begin of the first part, is not read again."""
    own_database.a.insert_many({"_id": number, "v": 0} for number in MIXED)
    capture = _capture(mongo, own_database)
    capture.once(until=lambda: bool(capture.offset and capture.offset["cdckit_snapshot"][1]))
    again = _names(capture.once())
    assert 0 < len(again) < len(MIXED)
    assert max(again.values()) == 1
    assert len(_names(capture.records)) == len(MIXED)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("after", "left"), [({"x": 1}, 3), (MaxKey(), 0)])
def test_the_greatest_identifier_is_read_and_gone_on_from(
    mongo: MongoReplicaSet, own_database: Own, after: Any, left: int, threads: int
) -> None:
    own_database.a.insert_many({"_id": number, "v": 0} for number in MIXED)
    capture = _capture(mongo, own_database, snapshot_max_threads=threads)
    capture.once(until=lambda: bool(capture.offset))
    place = [f"{own_database.name}.a", collections.identifier_text(after), 1000]
    capture.offset = {**(capture.offset or {}), "cdckit_snapshot": place}
    keys = [shown(record)[1] for record in capture.once()]
    assert len(keys) == left
    assert keys[-1:] == ['{"$maxKey": 1}'][:left]


@pytest.mark.parametrize(("options", "parts"), [({}, 6), ({"snapshot_max_threads_multiplier": 2}, 8)])
def test_into_how_many_parts_a_collection_is_cut(
    mongo: MongoReplicaSet, filled: Own, options: dict[str, Any], parts: int
) -> None:
    assert _finds(mongo, filled, **options) == parts
    assert _finds(mongo, filled, **options, legacy_snapshot_max_threads=True) == 1


def _finds(mongo: MongoReplicaSet, database: Own, **options: Any) -> int:
    """How many queries a snapshot of the two collections `a` and `b` asks of `a`."""
    collections = f"{database.name}.a,{database.name}.b"
    database.drop_collection("system.profile")
    database.command("profile", 2)
    try:
        assert len(_capture(mongo, database, collection_include_list=collections, **options).once()) > 500
    finally:
        database.command("profile", 0)
    return database["system.profile"].count_documents({"op": "query", "ns": f"{database.name}.a"})


def test_connections_read_at_the_same_time_and_none_outlives_the_snapshot(mongo: MongoReplicaSet, filled: Own) -> None:
    capture = _capture(mongo, filled, snapshot_fetch_size=5)
    most = 0

    def stop() -> bool:
        nonlocal most
        most = max(most, len(_readers()))
        return len(capture.records) > 50

    capture.once(until=stop)
    assert most == 3
    assert _readers() == []
    capture.once()
    assert _readers() == []


@pytest.mark.parametrize("threads", [1, 3])
def test_time_series_are_read_in_one_part(mongo: MongoReplicaSet, own_database: Own, threads: int) -> None:
    """They have no index of `_id` that there could be ranges of."""
    own_database.create_collection("series", timeseries={"timeField": "at"})
    begin = datetime.datetime(2020, 1, 1)
    own_database.series.insert_many({"_id": n, "at": begin + datetime.timedelta(seconds=n)} for n in range(200))
    records = _capture(mongo, own_database, snapshot_max_threads=threads).once()
    assert len(_names(records)) == len(records) == 200


def test_nothing_to_read(mongo: MongoReplicaSet, own_database: Own) -> None:
    capture = _capture(mongo, own_database)
    assert capture.once() == []
    own_database.a.insert_one({"_id": 1})
    assert [shown(record)[0] for record in capture.once()] == ["c"]
