"""What is said of servers that are older than those that this source is tested with."""

from __future__ import annotations

from typing import Any

import pytest
from pymongo.database import Database

from cdckit.errors import SourceError
from cdckit_mongodb.source import MongoDbSource
from mongodb.capture import Capture, shown
from mongodb.router import OlderServer
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]


def test_an_older_server_is_warned_of_and_read(
    mongo: MongoReplicaSet, own_database: Own, caplog: pytest.LogCaptureFixture
) -> None:
    own_database.a.insert_one({"_id": 1})
    with OlderServer(mongo.primary().port, 5, 0, 14) as older:
        capture = Capture(older.uri, database_include_list=own_database.name)
        found = {finding.name: finding for finding in MongoDbSource.check(capture.config())}
        assert [shown(record)[:2] for record in capture.once()] == [("r", "1")]
    assert (found["version"].status, found["version"].remedy) == ("warn", "use MongoDB 6.0 or newer")
    assert "MongoDB 5.0.14 is older than 6.0, the oldest that this source is tested with" in found["version"].message
    assert found["version"].message in caplog.messages


@pytest.mark.parametrize(
    ("version", "options", "said"),
    [
        ((5, 0, 14), {"capture_mode": "change_streams_with_pre_image"}, "MongoDB 5.0.14 keeps no pre- and post-images"),
        ((5, 0, 14), {"capture_mode_full_update_type": "post_image"}, "MongoDB 5.0.14 keeps no pre- and post-images"),
        ((6, 0, 8), {"cursor_oversize_handling_mode": "split"}, "MongoDB 6.0.8 has no $changeStreamSplitLargeEvent"),
    ],
)
def test_what_an_older_server_cannot_do_is_refused(
    mongo: MongoReplicaSet, version: tuple[int, ...], options: dict[str, str], said: str
) -> None:
    with OlderServer(mongo.primary().port, *version) as older:
        capture = Capture(older.uri, **options)
        found = [finding.message for finding in MongoDbSource.check(capture.config()) if finding.status == "fail"]
        assert said in found
        with pytest.raises(SourceError) as refused:
            capture.once()
    assert said in str(refused.value)


def test_a_server_that_is_not_older_is_not_spoken_of(mongo: MongoReplicaSet) -> None:
    found = {finding.name for finding in MongoDbSource.check(Capture(mongo.uri).config())}
    assert "version" not in found
