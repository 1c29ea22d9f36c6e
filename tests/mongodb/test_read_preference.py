"""`readPreference` in the connection string, which the stream does not follow."""

from __future__ import annotations

from typing import Any

import pytest
from pymongo.database import Database

from cdckit_mongodb.source import MongoDbSource
from mongodb.capture import Capture, shown
from servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]


def _capture(mongo: MongoReplicaSet, own_database: Own, preference: str, mode: str = "initial") -> Capture:
    uri = f"{mongo.uri}{'&' if '?' in mongo.uri else '?'}readPreference={preference}"
    return Capture(uri, database_include_list=own_database.name, snapshot_mode=mode)


@pytest.mark.parametrize("preference", ["secondaryPreferred", "nearest"])
def test_another_member_than_the_primary_is_warned_of(
    mongo: MongoReplicaSet, own_database: Own, caplog: pytest.LogCaptureFixture, preference: str
) -> None:
    own_database.a.insert_one({"_id": 1})
    capture = _capture(mongo, own_database, preference)
    assert [shown(record)[0] for record in capture.once()] == ["r"]
    told = f"readPreference={preference}: snapshots follow it, the stream is read from the primary"
    assert caplog.text.count(told) == 1
    [found] = [finding for finding in MongoDbSource.check(capture.config()) if finding.name == "readPreference"]
    assert found.status == "warn"
    assert told in found.message


@pytest.mark.parametrize(
    ("preference", "mode"),
    [("primary", "initial"), ("primaryPreferred", "initial"), ("secondaryPreferred", "initial_only")],
)
def test_where_nothing_differs_nothing_is_said(
    mongo: MongoReplicaSet, own_database: Own, caplog: pytest.LogCaptureFixture, preference: str, mode: str
) -> None:
    """As in a mode that reads no stream."""
    own_database.a.insert_one({"_id": 1})
    capture = _capture(mongo, own_database, preference, mode)
    capture.once()
    assert "readPreference" not in caplog.text
    assert "readPreference" not in {finding.name for finding in MongoDbSource.check(capture.config())}
