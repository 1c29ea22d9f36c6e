"""A sharded cluster is one stream, through its routers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pymongo.database import Database
from pymongo.hello import Hello
from pymongo.server_description import ServerDescription

from cdckit_mongodb.server.connection import OneRouter
from cdckit_mongodb.source import MongoDbSource
from cdckit_mongodb.splits import StreamWork
from mongodb.capture import Capture, shown
from mongodb.router import Router
from mongodb.signalling import Signalled
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]


@pytest.fixture
def router(mongo: MongoReplicaSet) -> Iterator[Router]:
    with Router(mongo.primary().port) as router:
        yield router


def test_a_router_is_known_for_one(router: Router) -> None:
    found = {finding.name: finding for finding in MongoDbSource.check(Capture(router.uri).config())}
    assert "sharded cluster, MongoDB 6.0." in found["topology"].message
    assert "each shard" in found["oplog window"].message
    assert all(finding.status != "fail" for finding in found.values())


def test_everything_comes_by_one_stream(router: Router, own_database: Own) -> None:
    own_database.a.insert_one({"_id": 1})
    capture = Capture(router.uri, database_include_list=own_database.name)
    assert [shown(record) for record in capture.once()] == [("r", "1", {"_id": 1})]
    own_database.b.insert_one({"_id": 2})
    own_database.a.update_one({"_id": 1}, {"$set": {"v": 3}})
    own_database.b.delete_one({"_id": 2})
    streams = router.streams
    capture.follow(lambda: len(capture.records) == 5)
    assert router.streams == streams + 2, "one to look whether the place is there, one to read"
    assert [shown(record)[:2] for record in capture.records[1:]] == [("c", "2"), ("u", "1"), ("d", "2"), (None, "2")]
    positions = [record.position for record in capture.records]
    assert positions == sorted(set(positions))


def test_a_stream_stays_at_the_router_that_opened_it(mongo: MongoReplicaSet, router: Router, own_database: Own) -> None:
    """Only that one knows its cursor; the driver alone would choose one of both for each command."""
    with Router(mongo.primary().port) as other:
        uri = f"mongodb://127.0.0.1:{router.port},127.0.0.1:{other.port}/"
        capture = Capture(uri, database_include_list=own_database.name, snapshot_mode="no_data", poll_interval_ms=10)
        capture.once()
        own_database.a.insert_one({"_id": 1})
        asked_often = iter([False] * 20)
        capture.follow(until=lambda: next(asked_often, True))
    assert [shown(record)[:2] for record in capture.records] == [("c", "1")]
    asked = [sum("getMore" in command for command in each.commands) for each in (router, other)]
    assert min(asked) == 0
    assert max(asked) > 5


def test_where_that_router_is_gone_another_one_is_taken() -> None:
    hello = Hello({"ok": 1, "msg": "isdbgrid", "maxWireVersion": 17})
    slow, fast = (ServerDescription(("router", number), hello, number / 1000) for number in (20, 10))
    member = ServerDescription(("member", 1), Hello({"ok": 1, "setName": "s", "maxWireVersion": 17}))
    chosen = OneRouter()
    assert chosen([slow, fast]) == [fast]
    assert chosen([slow]) == [slow]
    assert chosen([slow, fast]) == [slow]
    assert chosen([]) == []
    assert chosen([member, member]) == [member, member]


def test_neither_readers_nor_shards_divide_the_stream(router: Router, own_database: Own) -> None:
    capture = Capture(router.uri, database_include_list=own_database.name)
    capture.once()
    own_database.a.insert_one({"_id": 1})
    with capture.source() as source:
        assert capture.offset is not None
        ends = [None, source.latest_offset(capture.offset)]
        planned = [source.plan(capture.offset, end, 4) for end in ends]
    assert [[split.payload for split in splits] for splits in planned] == [[StreamWork()], [StreamWork(closed=True)]]


@pytest.mark.parametrize("kind", ["incremental", "blocking"])
def test_snapshots_that_signals_ask_for(mongo: MongoReplicaSet, router: Router, own_database: Own, kind: str) -> None:
    own_database.a.insert_many({"_id": number} for number in range(20))
    signalled = Signalled(mongo, own_database, mongodb_connection_string=router.uri)
    signalled.once()
    signalled.signal(data_collections=[signalled.name("a")], type=kind)
    signalled.once()
    assert [int(shown(record)[1]) for record in signalled.reads()] == list(range(20))
