"""Collections read again: their documents come as a snapshot, behind the stream so far, and the others go on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest
from pymongo.database import Database

from cdckit.api.record import Record
from cdckit.connector.resnapshot import ask, pending
from cdckit.engine.state.sqlite import SqliteStateStore
from mongodb.capture import Capture, change, shown
from testkit.servers.mongodb import MongoReplicaSet

Documents = Database[dict[str, Any]]


@pytest.fixture
def shop(mongo: MongoReplicaSet, unique_name: str) -> Iterator[Documents]:
    """A database with two collections, dropped after the test."""
    with mongo.client() as client:
        shop = client[unique_name]
        shop.a.insert_many([{"_id": 1, "v": "old"}, {"_id": 2, "v": "gone"}])
        shop.b.insert_one({"_id": 1, "v": "old"})
        yield shop
        client.drop_database(unique_name)


def _change(shop: Documents) -> None:
    shop.a.replace_one({"_id": 1}, {"v": "new"})
    shop.a.delete_one({"_id": 2})
    shop.b.insert_one({"_id": 2, "v": "later"})


def _told(records: Sequence[Record]) -> list[tuple[str, str | None, str]]:
    return [
        (change(record)["source"]["collection"], *shown(record)[:2]) for record in records if record.value is not None
    ]


def _asked(reading: Capture, *collections: str) -> None:
    with closing(SqliteStateStore(reading.folder)) as state:
        ask(state, reading.offset or {}, collections)


def _left(reading: Capture) -> bool:
    with closing(SqliteStateStore(reading.folder)) as state:
        return pending(state, reading.offset) is not None


LATER = [("a", "u", "1"), ("a", "d", "2"), ("b", "c", "2")]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_stream_comes_first_and_then_the_documents(mongo: MongoReplicaSet, shop: Documents, threads: int) -> None:
    reading = Capture(mongo.uri, database_include_list=shop.name, snapshot_max_threads=threads)
    reading.once()
    _change(shop)
    _asked(reading, f"{shop.name}.a")
    assert _told(reading.once()) == [*LATER, ("a", "r", "1")]
    assert not _left(reading)
    shop.a.insert_one({"_id": 3})
    assert _told(reading.once()) == [("a", "c", "3")]


def test_it_goes_on_where_it_was_stopped(mongo: MongoReplicaSet, shop: Documents) -> None:
    shop.a.insert_many({"_id": number} for number in range(10, 60))
    reading = Capture(mongo.uri, database_include_list=shop.name, snapshot_fetch_size=10)
    reading.once()
    _asked(reading, f"{shop.name}.a", f"{shop.name}.b")
    stopped = len(reading.records) + 21
    reading.once(until=lambda: len(reading.records) > stopped)
    assert (reading.offset or {})["initsync"]
    assert _left(reading)
    reading.once()
    reads = [row for row in _told(reading.records) if row[1] == "r"]
    assert len({row for row in reads if row[0] == "a"}) == 52
    assert ("b", "r", "1") in reads
    assert not _left(reading)


def test_parts_of_a_batch_hold_these_collections_alone(mongo: MongoReplicaSet, shop: Documents) -> None:
    """As Spark plans: the stream first, up to where it ended; a batch that is planned again reads the same."""
    reading = Capture(mongo.uri, database_include_list=shop.name)
    reading.once()
    _change(shop)
    _asked(reading, f"{shop.name}.a")
    with reading.source() as source:
        told: list[list[tuple[str, str | None, str]]] = []
        at = reading.offset or {}
        for _ in range(2):
            assert source.owes_rows(at)
            start, at = at, source.latest_offset(at)
            told.append(_read(source, start, at))
        assert told == [LATER, [("a", "r", "1")]]
        assert not source.owes_rows(at)
        shop.b.delete_one({"_id": 2})
        end = source.latest_offset(at, 5)
        assert _read(source, start, at) == [("a", "r", "1")]
        assert _read(source, at, end) == [("b", "d", "2")]


def test_what_one_runner_has_begun_the_other_ends(mongo: MongoReplicaSet, shop: Documents) -> None:
    reading = Capture(mongo.uri, database_include_list=shop.name, snapshot_fetch_size=1)
    reading.once()
    _asked(reading, f"{shop.name}.a")
    reading.once(until=lambda: len(reading.records) > 3)
    assert (reading.offset or {})["initsync"]
    with reading.source() as source:
        at, told = reading.offset or {}, []
        while source.owes_rows(at):
            start, at = at, source.latest_offset(at)
            told += _read(source, start, at)
        assert told == [("a", "r", "1"), ("a", "r", "2")]


def _read(source: Any, start: Any, end: Any) -> list[tuple[str, str | None, str]]:
    found = [record for split in source.plan(start, end, 2) for batch in source.read(split) for record in batch.records]
    return _told(found)
