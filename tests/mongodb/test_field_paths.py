"""Fields that are left out or renamed, in what updates tell."""

from __future__ import annotations

import json
from typing import Any

from bson import Timestamp

from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.events.collection_events import Collections
from mongodb.capture import change

OPTIONS = {
    "topic.prefix": "t",
    "mongodb.connection.string": "mongodb://localhost",
    "field.exclude.list": "*.c.secret,*.c.inner.secret",
    "field.renames": "*.c.old:new,*.c.inner.old:new",
}


def _described(**description: Any) -> Any:
    """The `updateDescription` of an event of the collection `d.c`."""
    event = {
        "operationType": "update",
        "documentKey": {"_id": 1},
        "clusterTime": Timestamp(1, 1),
        "updateDescription": {"updatedFields": {}, "removedFields": [], "truncatedArrays": [], **description},
    }
    config, _ = MongoDbConfig.load(OPTIONS, "source")
    [record] = Collections(config).of("d", "c").change(event, "u", "", None, None)
    return change(record)["updateDescription"].to_dict()


def test_renamed_fields_come_last_as_in_documents() -> None:
    found = _described(
        updatedFields={"10": {"old": 6}, "old": 1, "secret": 2, "inner.old.0": 3, "inner.secret": 4, "a": 5}
    )
    assert list(json.loads(found["updatedFields"]).items()) == [
        ("10", {"old": 6}),
        ("a", 5),
        ("new", 1),
        ("inner.new.0", 3),
    ]


def test_names_of_removed_fields_keep_their_order() -> None:
    found = _described(removedFields=["secret.a", "old", "a", "inner.old", "inner"])
    assert found["removedFields"] == ["new", "a", "inner.new", "inner"]


def test_truncated_arrays_are_told_under_their_new_names() -> None:
    arrays = [{"field": name, "newSize": 1} for name in ("secret", "old", "a", "inner.old", "inner.secret")]
    found = _described(truncatedArrays=arrays)
    assert [array["field"] for array in found["truncatedArrays"]] == ["new", "a", "inner.new"]
