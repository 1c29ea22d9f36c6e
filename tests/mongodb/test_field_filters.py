"""`field.exclude.list` and `field.renames`, sentence by sentence of the manual, on a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pymongo.database import Database

from cdckit.api.struct import Struct
from cdckit.errors import ConfigError
from mongodb.capture import Capture, change
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]
Update = dict[str, Any] | list[dict[str, Any]]

DATABASE = "field_filters"
PADDING = {"padding": "x" * 200}
"""The server tells of shortened arrays only where a whole document would be longer."""


@dataclass(frozen=True)
class Case:
    """What becomes of the changes of one document, in a collection of its own.

    Attributes:
        paths: the collection's, `excluded` or `old:new`.
        document: it is inserted.
        shown: that in `after`.
        update: then it is changed so.
        updated: what `updatedFields` shows of it.
        removed: what `removedFields` shows.
        truncated: what `truncatedArrays` shows.
        then: the document in `after` then.
    """

    paths: str
    document: dict[str, Any]
    shown: dict[str, Any]
    update: Update
    updated: dict[str, Any]
    then: dict[str, Any]
    removed: list[str] | None = None
    truncated: list[tuple[str, int]] | None = None


LONG = list(range(20))
"""The server tells of shortened arrays only where what is left is longer to tell."""

CASES = {
    "a field": Case(
        paths="secret",
        document={"a": 1, "secret": 2},
        shown={"a": 1},
        update={"$set": {"a": 2, "secret": 3}},
        updated={"a": 2},
        then={"a": 2},
    ),
    "a nested field": Case(
        paths="sub.secret",
        document={"sub": {"a": 1, "secret": 2}, "secret": 3},
        shown={"sub": {"a": 1}, "secret": 3},
        update={"$set": {"sub.a": 2, "sub.secret": 3}, "$unset": {"secret": ""}},
        updated={"sub.a": 2},
        then={"sub": {"a": 2}},
        removed=["secret"],
    ),
    "a nested field of what is set whole": Case(
        paths="sub.secret",
        document={"sub": 1},
        shown={"sub": 1},
        update={"$set": {"sub": {"a": 1, "secret": 2}}},
        updated={"sub": {"a": 1}},
        then={"sub": {"a": 1}},
    ),
    "a document around": Case(
        paths="sub",
        document={"a": 1, "sub": {"b": 1, "c": 1}},
        shown={"a": 1},
        update={"$set": {"sub.b": 2}, "$unset": {"sub.c": ""}},
        updated={},
        then={"a": 1},
    ),
    "fields of documents in an array": Case(
        paths="list.secret",
        document={"list": [{"secret": 1, "a": 1}, {"secret": 2}, 7]},
        shown={"list": [{"a": 1}, {}, 7]},
        update={"$set": {"list.0.secret": 5, "list.0.a": 6, "list.1": {"secret": 7, "b": 8}}},
        updated={"list.0.a": 6, "list.1": {"b": 8}},
        then={"list": [{"a": 6}, {"b": 8}, 7]},
    ),
    "removed fields": Case(
        paths="secret,sub.secret",
        document={"secret": 1, "a": 1, "sub": {"secret": 1, "b": 1}},
        shown={"a": 1, "sub": {"b": 1}},
        update={"$unset": {"secret": "", "a": "", "sub.secret": "", "sub.b": ""}},
        updated={},
        then={"sub": {}},
        removed=["a", "sub.b"],
    ),
    "a shortened array": Case(
        paths="secret",
        document={"secret": LONG, "list": LONG},
        shown={"list": LONG},
        update=[{"$set": {"secret": {"$slice": ["$secret", 1]}, "list": {"$slice": ["$list", 3]}}}],
        updated={},
        then={"list": [0, 1, 2]},
        truncated=[("list", 3)],
    ),
    "a shortened array under a new name": Case(
        paths="list:items",
        document={"list": LONG},
        shown={"items": LONG},
        update=[{"$set": {"list": {"$slice": ["$list", 2]}}}],
        updated={},
        then={"items": [0, 1]},
        truncated=[("items", 2)],
    ),
    "a shortened array inside": Case(
        paths="sub.list:items",
        document={"sub": {"list": LONG, **PADDING}},
        shown={"sub": {"items": LONG, **PADDING}},
        update=[{"$set": {"sub.list": {"$slice": ["$sub.list", 9]}}}],
        updated={},
        then={"sub": {"items": LONG[:9], **PADDING}},
        truncated=[("sub.items", 9)],
    ),
    "a new name": Case(
        paths="old:new",
        document={"old": 1, "a": 1},
        shown={"a": 1, "new": 1},
        update={"$set": {"old": 2, "a": 2}},
        updated={"a": 2, "new": 2},
        then={"a": 2, "new": 2},
    ),
    "a new name of a nested field": Case(
        paths="sub.old:new",
        document={"sub": {"old": 1}, "old": 1},
        shown={"sub": {"new": 1}, "old": 1},
        update={"$set": {"sub.old": 2, "old": 2}},
        updated={"old": 2, "sub.new": 2},
        then={"sub": {"new": 2}, "old": 2},
    ),
    "a new name of a document around": Case(
        paths="sub:part",
        document={"sub": {"a": 1, "b": 1}},
        shown={"part": {"a": 1, "b": 1}},
        update={"$set": {"sub.a": 2}, "$unset": {"sub.b": ""}},
        updated={"part.a": 2},
        then={"part": {"a": 2}},
        removed=["part.b"],
    ),
    "a new name of what an array holds": Case(
        paths="list.old:new",
        document={"list": [{"old": 1}, {"a": 1}]},
        shown={"list": [{"new": 1}, {"a": 1}]},
        update={"$set": {"list.0.old": 2, "list.1.a": 2}},
        updated={"list.1.a": 2, "list.0.new": 2},
        then={"list": [{"new": 2}, {"a": 2}]},
    ),
    "a new name of a removed field": Case(
        paths="old:new",
        document={"old": 1},
        shown={"new": 1},
        update={"$unset": {"old": ""}},
        updated={},
        then={},
        removed=["new"],
    ),
    "a replacement of what another has replaced": Case(
        paths="a:b,b:c",
        document={"a": 1},
        shown={"c": 1},
        update={"$set": {"a": 2}},
        updated={"c": 2},
        then={"c": 2},
    ),
    "a replacement under the new name of what is around": Case(
        paths="sub:part,part.old:new",
        document={"sub": {"old": 1}},
        shown={"part": {"new": 1}},
        update={"$set": {"sub.old": 2}},
        updated={"part.new": 2},
        then={"part": {"new": 2}},
    ),
    "an excluded field inside a renamed one": Case(
        paths="sub.secret,sub:part",
        document={"sub": {"secret": 1, "a": 1}},
        shown={"part": {"a": 1}},
        update={"$set": {"sub.secret": 2, "sub.a": 2}},
        updated={"part.a": 2},
        then={"part": {"a": 2}},
    ),
    "a new name that is taken": Case(
        paths="old:new",
        document={"new": 0, "old": 1},
        shown={"new": 1},
        update={"$set": {"old": 2}},
        updated={"new": 2},
        then={"new": 2},
    ),
    "names that are numbers": Case(
        paths="5",
        document={"5": 1, "a": {"5": 1}},
        shown={"a": {"5": 1}},
        update={"$set": {"5": 2, "a.5": 2}},
        updated={"a.5": 2},
        then={"a": {"5": 2}},
    ),
    "what is not there": Case(
        paths="no.such,neither:nor",
        document={"no": 1},
        shown={"no": 1},
        update={"$set": {"no": 2}},
        updated={"no": 2},
        then={"no": 2},
    ),
    "nulls": Case(
        paths="sub.secret,old:new",
        document={"sub": None, "old": None},
        shown={"sub": None, "new": None},
        update={"$set": {"old": 1}},
        updated={"new": 1},
        then={"sub": None, "new": 1},
    ),
}


@pytest.fixture(scope="module")
def database(mongo: MongoReplicaSet) -> Iterator[Own]:
    with mongo.client() as client:
        client.drop_database(DATABASE)
        yield client[DATABASE]
        client.drop_database(DATABASE)


def _options(paths: dict[str, str]) -> dict[str, str]:
    """The options of paths by their collections."""
    parts = [f"{name}.{path}" for name, one in paths.items() for path in one.split(",")]
    return {
        "field.exclude.list": ",".join(part for part in parts if ":" not in part),
        "field.renames": ",".join(part for part in parts if ":" in part),
    }


@pytest.fixture(scope="module")
def events(mongo: MongoReplicaSet, database: Own) -> dict[str, list[Any]]:
    """The three events of each case: of a snapshot, an insert and an update."""
    images: dict[str, Any] = {"changeStreamPreAndPostImages": {"enabled": True}}
    collections = {name: database.create_collection(name.replace(" ", "_"), **images) for name in CASES}
    paths = {f"{DATABASE}.{collections[name].name}": case.paths for name, case in CASES.items()}
    more: dict[str, Any] = {
        "database.include.list": DATABASE,
        "capture.mode": "change_streams_update_full_with_pre_image",
        "capture.mode.full.update.type": "post_image",
    }
    capture = Capture(mongo.uri, **_options(paths), **more)
    for name, case in CASES.items():
        collections[name].insert_one({"_id": 0, **case.document, **PADDING})
    capture.once()
    for name, case in CASES.items():
        collections[name].insert_one({"_id": 1, **case.document, **PADDING})
        collections[name].update_one({"_id": 1}, case.update)
    capture.once()
    names = {collection.name: name for name, collection in collections.items()}
    found: dict[str, list[Any]] = {name: [] for name in CASES}
    for record in capture.records:
        found[names[record.topic.rpartition(".")[2]]].append(change(record))
    return found


@pytest.mark.parametrize("name", CASES)
def test_fields_are_left_out_and_renamed(events: dict[str, list[Any]], name: str) -> None:
    case = CASES[name]
    read, created, updated = events[name]
    assert json.loads(read["after"]) == {"_id": 0, **case.shown, **PADDING}
    assert json.loads(created["after"]) == {"_id": 1, **case.shown, **PADDING}
    assert updated["before"] == created["after"]
    assert json.loads(updated["after"]) == {"_id": 1, **case.then, **PADDING}
    description = updated["updateDescription"].to_dict()
    truncated = [(one["field"], one["size"]) for one in description["truncatedArrays"] or ()]
    assert list(json.loads(description["updatedFields"]).items()) == list(case.updated.items())
    assert (description["removedFields"], truncated or None) == (case.removed, case.truncated)


@pytest.mark.parametrize(
    ("path", "concerned"),
    [
        ("wild_one.orders.x", {"wild_one.orders"}),
        ("wild_*.orders.x", {"wild_one.orders", "wild_two.orders"}),
        ("wild_one.*.x", {"wild_one.orders", "wild_one.order-items", "wild_one.orders.old"}),
        ("*.order*s.x", {"wild_one.orders", "wild_one.order-items", "wild_two.orders"}),
        ("WILD_TWO.Orders.x", {"wild_two.orders"}),
        (" wild_one.orders.x , wild_two.orders.x ", {"wild_one.orders", "wild_two.orders"}),
    ],
)
@pytest.mark.parametrize("option", ["field.exclude.list", "field.renames"])
def test_databases_and_collections_by_wildcards(wild_uri: str, option: str, path: str, concerned: set[str]) -> None:
    given = path if option == "field.exclude.list" else path.replace(".x", ".x:y")
    capture = Capture(wild_uri, **{"database.include.list": "wild_.*", "snapshot.mode": "initial_only", option: given})
    found = {record.topic.removeprefix("t."): json.loads(change(record)["after"]) for record in capture.once()}
    shown = {} if option == "field.exclude.list" else {"y": 1}
    assert found == {name: {"_id": 1, **(shown if name in concerned else {"x": 1})} for name in found}
    assert found.keys() == {"wild_one.orders", "wild_one.order-items", "wild_one.orders.old", "wild_two.orders"}


@pytest.fixture(scope="module")
def wild_uri(mongo: MongoReplicaSet) -> Iterator[str]:
    """A server with some databases and collections, each with one document."""
    with mongo.client() as client:
        for database, names in {"wild_one": ("orders", "order-items", "orders.old"), "wild_two": ("orders",)}.items():
            client.drop_database(database)
            for name in names:
                client[database][name].insert_one({"_id": 1, "x": 1})
        yield mongo.uri
        for database in ("wild_one", "wild_two"):
            client.drop_database(database)


def test_the_identifier_may_be_left_out_of_values_but_not_of_keys(mongo: MongoReplicaSet, database: Own) -> None:
    database.keyed.insert_one({"_id": 1, "x": 1})
    options = {"collection.include.list": f"{DATABASE}.keyed", "field.exclude.list": "*.keyed._id"}
    [record] = Capture(mongo.uri, **options).once()
    assert change(record)["after"] == '{"x": 1}'
    assert isinstance(record.key, Struct)
    assert record.key["id"] == "1"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("field.exclude.list", "db.collection"),
        ("field.exclude.list", "field"),
        ("field.exclude.list", "db..x"),
        ("field.renames", "db.c.x"),
        ("field.renames", "db.c.x:"),
        ("field.renames", "db.c.x:y:z"),
        ("field.renames", "c.x:y"),
    ],
)
def test_what_names_no_field_is_refused(option: str, value: str) -> None:
    with pytest.raises(ConfigError, match=rf"{option}: '.*' does not look like database\.collection\.field"):
        Capture(
            "mongodb://localhost", **{option: f"db.c.fine{':x' if option == 'field.renames' else ''},{value}"}
        ).config()
