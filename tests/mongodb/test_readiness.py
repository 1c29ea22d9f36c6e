"""What `cdc validate --connect` says of servers."""

from __future__ import annotations

from typing import Any

import pytest
from pymongo.database import Database

from cdckit.api.checks import Checks, Finding
from cdckit_mongodb.source import MongoDbSource
from mongodb.capture import Capture
from testkit.servers.mongodb import OLDEST, MongoReplicaSet

Own = Database[dict[str, Any]]


def _found(uri: str, **options: Any) -> dict[str, Finding]:
    assert isinstance(MongoDbSource, Checks)
    return {finding.name: finding for finding in MongoDbSource.check(Capture(uri, **options).config())}


def test_a_set_that_is_fit(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.create_collection("a", changeStreamPreAndPostImages={"enabled": True})
    mode = "change_streams_with_pre_image"
    found = _found(mongo.uri, database_include_list=own_database.name, capture_mode=mode)
    assert {finding.status for finding in found.values()} == {"ok"}
    assert "replica set rs0, MongoDB 6.0" in found["topology"].message
    assert found["collections"].message == "1 are captured"


def test_what_is_missing_is_named(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.create_collection("a")
    mode = "change_streams_update_full_with_pre_image"
    found = _found(mongo.uri, database_include_list=own_database.name, capture_mode=mode)
    assert found["changeStreamPreAndPostImages"].status == "warn"
    assert f"{own_database.name}.a" in found["changeStreamPreAndPostImages"].message
    assert _found(mongo.uri, database_include_list="nothing")["collections"].status == "warn"
    assert _found(mongo.uri, cursor_pipeline='[{"$nonsense": 1}]')["change stream"].status == "fail"


def test_collections_are_listed_once(
    mongo: MongoReplicaSet, own_database: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_database.create_collection("a", changeStreamPreAndPostImages={"enabled": True})
    listed: list[str] = []
    ask = Database.list_collections

    def asked(database: Own, *args: Any, **options: Any) -> Any:
        listed.append(database.name)
        return ask(database, *args, **options)

    monkeypatch.setattr(Database, "list_collections", asked)
    mode = "change_streams_update_full_with_pre_image"
    found = _found(mongo.uri, database_include_list=own_database.name, capture_mode=mode)
    assert found["changeStreamPreAndPostImages"].status == "ok"
    assert listed == [own_database.name]


def test_servers_that_cannot_be_reached(mongo: MongoReplicaSet) -> None:
    found = _found("mongodb://u:secret@127.0.0.1:1/?replicaSet=x", mongodb_server_selection_timeout_ms=300)
    assert found["connection"].status == "fail"
    assert "secret" not in found["connection"].message
    assert "cannot be used" in _found("mongodb://a:b:c")["connection"].message


@pytest.mark.nightly
def test_what_an_older_server_cannot_do() -> None:
    with MongoReplicaSet(version=OLDEST) as replica_set:
        replica_set.primary()
        found = _found(replica_set.uri, cursor_oversize_handling_mode="split")
    assert "6.0.5 has no $changeStreamSplitLargeEvent" in found["cursor.oversize.handling.mode"].message
