"""What records are called and carry besides the change: topics, schemas' names, headers, tombstones."""

from __future__ import annotations

from typing import Any

import pytest
from pymongo.database import Database

from mongodb.capture import Capture, change, shown
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]


def _topics(mongo: MongoReplicaSet, database: Own, **options: Any) -> set[str]:
    """The topics of heartbeats, of a transaction, and of its changes in `a` and in `naïve`."""
    database.create_collection("a")
    database.create_collection("naïve")
    capture = Capture(
        mongo.uri,
        database_include_list=database.name,
        provide_transaction_metadata=True,
        heartbeat_interval_ms=1,
        **options,
    )
    capture.once()
    with database.client.start_session() as session, session.start_transaction():
        database.a.insert_one({"_id": 1}, session=session)
        database["naïve"].insert_one({"_id": 2}, session=session)
    topics: set[str] = set()

    def found() -> bool:
        topics.update(record.topic for record in capture.records)
        return len(topics) >= 4

    capture.follow(until=found)
    return topics


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["t.transaction", "t.{}.a", "t.{}.na_ve", "__debezium-heartbeat.t"]),
        (
            {"topic_delimiter": "-", "topic_transaction": "tx", "topic_heartbeat_prefix": "beat"},
            ["t-tx", "t-{}-a", "t-{}-na_ve", "beat-t"],
        ),
        ({"topic_heartbeat_name": "beats"}, ["t.transaction", "t.{}.a", "t.{}.na_ve", "beats"]),
    ],
)
def test_topics(mongo: MongoReplicaSet, own_database: Own, options: dict[str, str], expected: list[str]) -> None:
    assert _topics(mongo, own_database, **options) == {topic.format(own_database.name) for topic in expected}


@pytest.mark.parametrize(
    ("mode", "key"),
    [
        ("none", "9-t.{}.na-ve.Key"),
        ("avro", "_9_t.{}.na_ve.Key"),
        ("avro_unicode", "_u0039_u002dt.{}.na_u002dve.Key"),
    ],
)
def test_schemas_have_names_that_avro_allows(mongo: MongoReplicaSet, own_database: Own, mode: str, key: str) -> None:
    own_database["na-ve"].insert_one({"_id": 1})
    options = {"topic_prefix": "9-t", "schema_name_adjustment_mode": mode}
    capture = Capture(mongo.uri, database_include_list=own_database.name, **options)
    capture.once()
    own_database["na-ve"].insert_one({"_id": 2})
    capture.once()
    escape = (lambda name: name.replace("_", "_u005f")) if mode == "avro_unicode" else str
    name = key.format(escape(own_database.name))
    assert [record.key.schema.name for record in capture.records] == [name, name]  # type: ignore[union-attr]
    assert {change(record).schema.name for record in capture.records} == {name.replace("Key", "Envelope")}
    assert {record.topic for record in capture.records} == {f"9-t.{own_database.name}.na-ve"}


@pytest.mark.parametrize("enabled", [True, False])
def test_headers_tell_of_the_source(mongo: MongoReplicaSet, own_database: Own, enabled: bool) -> None:
    own_database.a.insert_one({"_id": 1})
    capture = Capture(mongo.uri, database_include_list=own_database.name, extended_headers_enabled=enabled)
    capture.once()
    own_database.a.delete_one({"_id": 1})
    assert [shown(record)[0] for record in capture.once()] == ["d", None]
    told = {"connectorLogicalName": "t", "taskId": "0", "connectorName": "mongodb"} if enabled else {}
    for record in capture.records:
        headers = {header.key.removeprefix("__debezium.context."): header.value for header in record.headers}
        assert bool(headers.pop("runId", None)) == enabled
        assert headers == told


@pytest.mark.parametrize(("enabled", "operations"), [(True, ["d", None]), (False, ["d"])])
def test_tombstones(mongo: MongoReplicaSet, own_database: Own, enabled: bool, operations: list[str | None]) -> None:
    own_database.a.insert_one({"_id": 1})
    capture = Capture(mongo.uri, database_include_list=own_database.name, tombstones_on_delete=enabled)
    capture.once()
    own_database.a.delete_one({"_id": 1})
    assert [shown(record)[0] for record in capture.once()] == operations
