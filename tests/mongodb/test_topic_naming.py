"""`topic.naming.strategy`: topics and keys of collections, as Debezium's classes name them."""

from __future__ import annotations

from typing import Any

import pytest
from pymongo.database import Database

from cdckit.connector.topics import Topics
from cdckit.errors import ConfigError
from cdckit_mongodb.config import MongoDbConfig
from mongodb.capture import Capture, change
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]

COLLECTIONS = [("d", "orders_1"), ("my db", "a.b-é"), ("d", "x_y")]
SHARDS = {"topic.regex": r"(.*)orders_\d+", "topic.replacement": "$1orders"}
TOPICS: dict[tuple[str, str], list[str]] = {
    ("Default", "."): ["p.d.orders_1", "p.my_db.a.b-_", "p.d.x_y"],
    ("Default", "_"): ["p_d_orders_1", "p_my_db_a.b-_", "p_d_x_y"],
    ("DefaultUnicode", "."): ["p.d.orders_u005f1", "p.my_u0020db.a.b-_u00e9", "p.d.x_u005fy"],
    ("DefaultUnicode", "_"): [
        "p_u005fd_u005forders_u005f1",
        "p_u005fmy_u0020db_u005fa.b-_u00e9",
        "p_u005fd_u005fx_u005fy",
    ],
    ("DefaultRegex", "."): ["p.d.orders", "p.my_db.a.b-_", "p.d.x_y"],
    ("DefaultRegex", "_"): ["p_d_orders", "p_my_db_a.b-_", "p_d_x_y"],
    **{(f"Schema{style}", delimiter): ["p", "p", "p"] for style in ("", "Unicode", "Regex") for delimiter in "._"},
}
"""What the classes of Debezium 3.6.3 gave for `COLLECTIONS`, called in a JVM, by their names and the delimiter."""


def topics(**options: str) -> Topics:
    given = {"topic.prefix": "p", "mongodb.connection.string": "mongodb://h", **options}
    config, _ = MongoDbConfig.load(given, "source")
    return Topics(config, config.topic_prefix)


@pytest.mark.parametrize(("strategy", "delimiter"), TOPICS)
def test_topics_are_those_of_debezium_s_classes(strategy: str, delimiter: str) -> None:
    found = topics(
        **{"topic.naming.strategy": f"io.debezium.schema.{strategy}TopicNamingStrategy", "topic.delimiter": delimiter},
        **SHARDS,
    )
    assert [found.data(name) for name in COLLECTIONS] == TOPICS[strategy, delimiter]
    assert (found.transaction, found.heartbeat) == (f"p{delimiter}transaction", f"__debezium-heartbeat{delimiter}p")


@pytest.mark.parametrize(
    ("options", "topic"),
    [
        ({"topic.naming.strategy": "table"}, "p.x_y"),
        ({"topic.naming.strategy": "unified_regex", "topic.regex": "p", "topic.replacement": "all"}, "all"),
        ({}, "p.d.x_y"),
    ],
)
def test_names_of_our_own(options: dict[str, str], topic: str) -> None:
    assert topics(**options).data(("d", "x_y")) == topic


def test_the_topic_of_transactions_by_its_whole_name() -> None:
    assert topics(**{"transaction.topic": "all.${database.server.name}.tx"}).transaction == "all.p.tx"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"topic.naming.strategy": "com.example.Mine"}, "topic.naming.strategy: should be"),
        ({"topic.naming.strategy": "unified_regex"}, "topic.regex: required with topic.naming.strategy=unified_regex"),
        ({"topic.regex": "a"}, "topic.replacement: required with topic.regex"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        topics(**options)
    assert said in str(caught.value)


def _sharing(mongo: MongoReplicaSet, database: Own, **options: Any) -> Capture:
    """A capture of `t_1` and `t_2`, which go to one topic, of a snapshot and one insert into each."""
    database.t_1.insert_one({"_id": 1})
    database.t_2.insert_one({"_id": 1})
    naming = {
        "topic.naming.strategy": "DefaultRegexTopicNamingStrategy",
        "topic.regex": r"(.*)_\d",
        "topic.replacement": "$1",
    }
    capture = Capture(mongo.uri, database_include_list=database.name, **naming, **options)
    capture.once()
    database.t_1.insert_one({"_id": 2})
    database.t_2.delete_one({"_id": 1})
    capture.once()
    topic = f"t.{database.name}.t"
    assert {record.topic for record in capture.records} == {topic}
    assert {record.key.schema.name for record in capture.records} == {f"{topic}.Key"}  # type: ignore[union-attr]
    assert {change(record).schema.name for record in capture.records if record.value} == {f"{topic}.Envelope"}
    return capture


def test_collections_that_share_a_topic_are_no_collision(mongo: MongoReplicaSet, own_database: Own) -> None:
    """And their keys are as Debezium has them."""
    capture = _sharing(mongo, own_database)
    assert [record.key.values for record in capture.records] == [("1",), ("1",), ("2",), ("1",), ("1",)]  # type: ignore[union-attr]


def test_keys_may_tell_the_collection(mongo: MongoReplicaSet, own_database: Own) -> None:
    capture = _sharing(
        mongo,
        own_database,
        topic_key_enforce_uniqueness=True,
        topic_key_field_name="shard",
        topic_key_field_regex=r".*_(\d)",
        topic_key_field_replacement="$1",
    )
    keys = [record.key.to_dict() for record in capture.records]  # type: ignore[union-attr]
    assert [(key["id"], key["shard"]) for key in keys] == [("1", "1"), ("1", "2"), ("2", "1"), ("1", "2"), ("1", "2")]


def test_everything_in_one_topic(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.a.insert_one({"_id": 1})
    own_database.b.insert_one({"_id": 1})
    capture = Capture(
        mongo.uri,
        database_include_list=own_database.name,
        topic_naming_strategy="io.debezium.schema.SchemaTopicNamingStrategy",
    )
    capture.once()
    own_database.b.insert_one({"_id": 2})
    capture.once()
    assert [(record.topic, change(record)["source"]["collection"]) for record in capture.records] == [
        ("t", "a"),
        ("t", "b"),
        ("t", "b"),
    ]
