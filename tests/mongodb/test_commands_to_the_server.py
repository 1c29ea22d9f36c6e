"""Options that show in the commands which the server gets: sizes, waits, the order of stages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pymongo.database import Database

from cdckit_mongodb.server.connection import connect
from mongodb.capture import Capture, shown
from mongodb.router import Router
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]
Document = dict[str, Any]


@pytest.fixture
def router(mongo: MongoReplicaSet) -> Iterator[Router]:
    with Router(mongo.primary().port) as router:
        yield router


@pytest.mark.parametrize(
    ("options", "wait_ms"),
    [({"cursor_max_await_time_ms": 37}, 37), ({"poll_interval_ms": 23}, 23), ({"cursor_max_await_time_ms": 0}, 100)],
)
def test_how_long_the_server_waits_for_events(
    router: Router, own_database: Own, options: dict[str, int], wait_ms: int
) -> None:
    """No longer than the runner may be idle, which is 100 ms here."""
    capture = Capture(router.uri, database_include_list=own_database.name, max_batch_size=11, **options)

    def asked() -> list[Document]:
        return [command for command in router.commands if "getMore" in command]

    capture.follow(until=lambda: len(asked()) >= 2)
    assert {(command["maxTimeMS"], command["batchSize"]) for command in asked()} == {(wait_ms, 11)}


@pytest.mark.parametrize(("options", "size"), [({"snapshot_fetch_size": 3}, 3), ({"max_batch_size": 5}, 5)])
def test_how_many_documents_a_snapshot_fetches(
    router: Router, own_database: Own, options: dict[str, int], size: int
) -> None:
    own_database.a.insert_many({"_id": number} for number in range(10))
    assert len(Capture(router.uri, database_include_list=own_database.name, **options).once()) == 10
    found = [command for command in router.commands if "a" in (command.get("find"), command.get("collection"))]
    assert [command["batchSize"] for command in found] == [size] * len(found)
    assert len(found) > 1


@pytest.mark.parametrize(
    ("order", "operations", "filtered"),
    [
        ("internal_first", [("c", "1")], 0),
        ("user_first", [("c", "1"), ("c", "2")], 0),
        ("user_only", [("c", "1"), ("c", "2")], 1),
    ],
)
def test_the_users_stages_stand_before_behind_or_instead_of_the_own(
    mongo: MongoReplicaSet, own_database: Own, order: str, operations: list[Any], filtered: int
) -> None:
    """The user's stage tells of events in `b` as if they were in `a`, the one captured collection."""
    renamed = {"$cond": [{"$eq": ["$ns.coll", "b"]}, "a", "$ns.coll"]}
    capture = Capture(
        mongo.uri,
        collection_include_list=f"{own_database.name}.a",
        snapshot_mode="no_data",
        cursor_pipeline=json.dumps([{"$set": {"ns.coll": renamed}}]),
        cursor_pipeline_order=order,
    )
    capture.once()
    for number, name in enumerate("abc", 1):
        own_database[name].insert_one({"_id": number})
    assert [shown(record)[:2] for record in capture.once()] == operations
    assert capture.counts.filtered == filtered


def test_the_drivers_own_waits() -> None:
    waits = {
        "mongodb_connect_timeout_ms": 1500,
        "mongodb_socket_timeout_ms": 2500,
        "mongodb_server_selection_timeout_ms": 3500,
        "mongodb_heartbeat_frequency_ms": 4500,
    }
    with connect(Capture("mongodb://127.0.0.1:1", **waits).config()) as client:
        given = client.options
        pool = given.pool_options
        found = (pool.connect_timeout, pool.socket_timeout, given.server_selection_timeout, given.heartbeat_frequency)
        assert found == (1.5, 2.5, 3.5, 4.5)
    with connect(Capture("mongodb://127.0.0.1:1").config()) as client:
        assert client.options.pool_options.socket_timeout == 600
