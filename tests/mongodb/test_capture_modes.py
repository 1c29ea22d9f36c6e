"""What an update shows in each `capture.mode`, and where the whole document comes from."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pymongo.database import Database

from mongodb.capture import Capture, change
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]

BEGIN, BETWEEN, END = ({"_id": 1, "v": number} for number in range(3))


def _updated(mongo: MongoReplicaSet, database: Own, collection: str, **options: Any) -> tuple[list[Any], list[Any]]:
    """`before` and `after` of two updates that are read when both are made."""
    database[collection].insert_one(BEGIN)
    capture = Capture(mongo.uri, database_include_list=database.name, **options)
    capture.once()
    for document in (BETWEEN, END):
        database[collection].update_one({"_id": 1}, {"$set": {"v": document["v"]}})
    updates = [change(record) for record in capture.once()]
    assert [update["updateDescription"]["updatedFields"] for update in updates] == ['{"v": 1}', '{"v": 2}']
    before, after = ([_document(update[name]) for update in updates] for name in ("before", "after"))
    return before, after


def _document(text: str | None) -> Any:
    return None if text is None else json.loads(text)


@pytest.mark.parametrize("origin", ["lookup", "post_image"])
@pytest.mark.parametrize(
    ("mode", "with_before", "with_after"),
    [
        ("change_streams", False, False),
        ("change_streams_update_full", False, True),
        ("change_streams_with_pre_image", True, False),
        ("change_streams_update_full_with_pre_image", True, True),
    ],
)
def test_what_an_update_shows(
    mongo: MongoReplicaSet, own_database: Own, mode: str, origin: str, with_before: bool, with_after: bool
) -> None:
    """A document that is looked up is as it is now; a post-image is as it was right after the update."""
    own_database.create_collection("a", changeStreamPreAndPostImages={"enabled": True})
    options = {"capture_mode": mode, "capture_mode_full_update_type": origin}
    before, after = _updated(mongo, own_database, "a", **options)
    assert before == ([BEGIN, BETWEEN] if with_before else [None, None])
    whole = [BETWEEN, END] if origin == "post_image" else [END, END]
    assert after == (whole if with_after else [None, None])


def test_images_that_a_collection_does_not_keep_are_null(mongo: MongoReplicaSet, own_database: Own) -> None:
    options = {
        "capture_mode": "change_streams_update_full_with_pre_image",
        "capture_mode_full_update_type": "post_image",
    }
    assert _updated(mongo, own_database, "b", **options) == ([None, None], [None, None])
