"""Collections whose names make the same topic: refused by name, unless that is wanted."""

from __future__ import annotations

from typing import Any

import pytest
from pymongo.database import Database

from cdckit.errors import ConfigError
from mongodb.capture import Capture
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]


def _message(database: Own) -> str:
    name = database.name
    return rf"'{name}.a.b' and '{name}.a.b' would both go to topic 't.{name}.a_b'"


def test_two_collections_in_one_topic_are_refused(mongo: MongoReplicaSet, own_database: Own) -> None:
    """By the snapshot of either runner."""
    own_database["a b"].insert_one({"_id": 1})
    own_database["a+b"].insert_one({"_id": 1})
    with pytest.raises(ConfigError, match=_message(own_database)):
        Capture(mongo.uri, database_include_list=own_database.name).once()
    spark = Capture(mongo.uri, database_include_list=own_database.name)
    with spark.source() as source, pytest.raises(ConfigError, match=_message(own_database)):
        start = source.initial_offset()
        source.plan(start, source.latest_offset(start), 2)


def test_the_stream_refuses_the_second_one_when_it_comes(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.create_collection("a b")
    capture = Capture(mongo.uri, database_include_list=own_database.name, snapshot_mode="no_data")
    capture.once()
    own_database["a b"].insert_one({"_id": 2})
    own_database["a+b"].insert_one({"_id": 2})
    with pytest.raises(ConfigError, match=_message(own_database)):
        capture.follow(until=lambda: False)


def test_groups_of_collections_are_looked_at_together(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.create_collection("a b")
    own_database.create_collection("a_b")
    capture = Capture(
        mongo.uri,
        database_include_list=own_database.name,
        snapshot_mode="no_data",
        capture_collection_groups=[rf"{own_database.name}\.a b"],
    )
    with pytest.raises(ConfigError, match="would both go to topic"):
        capture.once()


def test_collections_may_share_a_topic_where_that_is_wanted(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database["a b"].insert_one({"_id": 1})
    own_database["a_b"].insert_one({"_id": 2})
    capture = Capture(mongo.uri, database_include_list=own_database.name, topic_collisions="merge")
    capture.once()
    assert [record.topic for record in capture.records] == [f"t.{own_database.name}.a_b"] * 2
