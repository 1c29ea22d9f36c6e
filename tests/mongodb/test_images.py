"""Pre- and post-images that collections lack: null, or the end of the pipeline; it is said before."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from pymongo.database import Database

from cdckit.api.checks import Finding
from cdckit.errors import ConfigError, SourceError
from cdckit_mongodb.source import MongoDbSource
from mongodb.capture import Capture, change
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]
MODE = "change_streams_update_full_with_pre_image"
REQUIRED = {"capture_mode_pre_image": "required", "capture_mode_full_update_type": "post_image_required"}


def _capture(mongo: MongoReplicaSet, database: Own, **options: Any) -> Capture:
    return Capture(mongo.uri, **{"database_include_list": database.name, "capture_mode": MODE, **options})


def _finding(capture: Capture) -> Finding | None:
    found = [one for one in MongoDbSource.check(capture.config()) if one.name == "changeStreamPreAndPostImages"]
    return found[0] if found else None


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ({}, "warn", "before of updates and deletes will be null there"),
        ({"capture_mode_full_update_type": "post_image"}, "warn", "before and after of updates and deletes will be"),
        ({"capture_mode": "change_streams_update_full", "capture_mode_full_update_type": "post_image"}, "warn",
         ": after of updates will be null there"),
        ({"capture_mode_pre_image": "required"}, "fail", "the first update there ends the pipeline"),
    ],
)  # fmt: skip
def test_collections_without_images_are_named(
    mongo: MongoReplicaSet,
    own_database: Own,
    caplog: pytest.LogCaptureFixture,
    options: dict[str, str],
    status: str,
    message: str,
) -> None:
    """By `cdc validate --connect`, and in the log where a pipeline starts."""
    own_database.create_collection("with", changeStreamPreAndPostImages={"enabled": True})
    own_database.create_collection("without")
    capture = _capture(mongo, own_database, **options)
    found = _finding(capture)
    assert found is not None
    assert found.status == status
    assert found.message.startswith(f"not enabled on {own_database.name}.without: ")
    assert message in found.message
    with caplog.at_level(logging.WARNING, logger="cdckit.mongodb"):
        capture.once()
    assert f"changeStreamPreAndPostImages is {found.message}" in caplog.messages


def test_nothing_is_said_where_no_images_are_asked_for(
    mongo: MongoReplicaSet, own_database: Own, caplog: pytest.LogCaptureFixture
) -> None:
    own_database.create_collection("without")
    capture = _capture(mongo, own_database, capture_mode="change_streams_update_full")
    assert _finding(capture) is None
    capture.once()
    assert "changeStreamPreAndPostImages" not in caplog.text


def test_required_images_come_as_available_ones_do(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.create_collection("a", changeStreamPreAndPostImages={"enabled": True})
    own_database.a.insert_one({"_id": 1, "v": 0})
    capture = _capture(mongo, own_database, **REQUIRED)
    capture.once()
    for number in (1, 2):
        own_database.a.update_one({"_id": 1}, {"$set": {"v": number}})
    own_database.a.delete_one({"_id": 1})
    first, second, deleted = [change(record) for record in capture.once() if record.value is not None]
    assert [json.loads(event["before"])["v"] for event in (first, second, deleted)] == [0, 1, 2]
    assert [json.loads(event["after"])["v"] for event in (first, second)] == [1, 2]


@pytest.mark.parametrize(
    ("snapshot_mode", "options"),
    [
        ("initial", {"capture_mode": "change_streams_with_pre_image", "capture_mode_pre_image": "required"}),
        (
            "when_needed",
            {"capture_mode": "change_streams_update_full", "capture_mode_full_update_type": "post_image_required"},
        ),
    ],
)
def test_a_required_image_that_is_not_there_ends_the_pipeline(
    mongo: MongoReplicaSet, own_database: Own, snapshot_mode: str, options: dict[str, str]
) -> None:
    """No snapshot helps: it is no lost history."""
    own_database.create_collection("a")
    own_database.a.insert_one({"_id": 1})
    capture = _capture(mongo, own_database, snapshot_mode=snapshot_mode, **options)
    capture.once()
    own_database.a.insert_one({"_id": 2})
    assert len(capture.once()) == 1
    own_database.a.update_one({"_id": 1}, {"$set": {"v": 1}})
    for _ in range(2):
        with pytest.raises(SourceError, match=r"enable changeStreamPreAndPostImages on the collection") as found:
            capture.once()
        assert "snapshot" not in str(found.value)


@pytest.mark.parametrize("option", list(REQUIRED))
def test_images_are_required_only_where_the_mode_shows_them(option: str) -> None:
    capture = Capture("mongodb://127.0.0.1/", capture_mode="change_streams", **{option: REQUIRED[option]})
    with pytest.raises(ConfigError, match=r"required needs a capture\.mode with"):
        capture.config()
