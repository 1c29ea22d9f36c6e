"""Groups of collections (`capture.collection.groups`): which changes each one's stream tells, and from where on."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from pymongo.database import Database

from cdckit.api.record import Record
from cdckit.errors import ConfigError
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.tokens import is_event, token_of
from mongodb.capture import Capture, change, shown
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]
BASE = {"topic.prefix": "t", "mongodb.connection.string": "mongodb://localhost"}
NAMES = ("a", "b", "c", "É")


def _capture(mongo: MongoReplicaSet, database: Own, groups: Sequence[str], **options: Any) -> Capture:
    given = {"snapshot_mode": "no_data", "database_include_list": database.name, **options}
    capture = Capture(mongo.uri, capture_collection_groups=list(groups), **given)
    if capture.offset is None:
        capture.once()
    return capture


def _by_groups(capture: Capture) -> list[list[Record]]:
    """The records of each group's split up to the stream's end, as a runner for many machines reads them."""
    assert capture.offset is not None
    with capture.source() as source:
        end = source.latest_offset(capture.offset)
        splits = source.plan(capture.offset, end, 4)
        read = [[record for batch in source.read(split) for record in batch.records] for split in splits]
    capture.offset = end
    return read


def _collections(records: Sequence[Record]) -> list[str]:
    return [change(record)["source"]["collection"] for record in records]


def _insert_everywhere(database: Own, number: int) -> None:
    for name in NAMES:
        database[name].insert_one({"_id": number})


@pytest.mark.parametrize(
    ("groups", "match", "expected"),
    [
        ([r"{}\.a"], "regex", [{"a"}, {"b", "c", "É"}]),
        ([r"{0}\.a,{0}\.[bx]", r".*\.[ac]"], "regex", [{"a", "b"}, {"c"}, {"É"}]),
        ([r"{}\.é"], "regex", [set(), set(NAMES)]),
        ([r"(?i).*\.B", r"\Q{}.c\E"], "regex", [{"b"}, {"c"}, {"a", "É"}]),
        (["{0}.c,{0}.É", "{0}.c,{0}.b"], "literal", [{"c", "É"}, {"b"}, {"a"}]),
    ],
)
def test_each_collection_belongs_to_the_first_group_that_names_it(
    mongo: MongoReplicaSet, own_database: Own, groups: list[str], match: str, expected: list[set[str]]
) -> None:
    named = [group.format(own_database.name) for group in groups]
    capture = _capture(mongo, own_database, named, filters_match_mode=match)
    _insert_everywhere(own_database, 1)
    read = _by_groups(capture)
    assert [set(_collections(records)) for records in read] == expected
    assert sum(map(len, read)) == len(NAMES)


def test_one_stream_reads_all_groups_where_splits_are_not_read_together(
    mongo: MongoReplicaSet, own_database: Own
) -> None:
    capture = _capture(mongo, own_database, [rf"{own_database.name}\.a", rf"{own_database.name}\.b"])
    for number in range(3):
        _insert_everywhere(own_database, number)
    records = capture.once()
    assert _collections(records) == [*NAMES] * 3
    with capture.source() as source:
        assert capture.offset is not None
        assert len(source.plan(capture.offset, None)) == 1


def test_groups_go_on_in_the_middle_of_a_transaction_and_may_change(mongo: MongoReplicaSet, own_database: Own) -> None:
    """A server resumes at an event only in streams that show it: those of other groups must do so, too."""
    for name in NAMES:
        own_database.create_collection(name)
    names = random.Random(1).choices(NAMES, k=40)
    capture = _capture(mongo, own_database, [r".*\.a"], max_batch_size=3)
    with mongo.client() as client, client.start_session() as session, session.start_transaction():
        for number, name in enumerate(names):
            client[own_database.name][name].insert_one({"_id": number}, session=session)
    for least, groups in ((1, ["a"]), (4, ["[ab]", "c"]), (9, ["c", "b", "a"])):
        capture.once(until=lambda least=least: len(capture.records) >= least)  # type: ignore[misc]
        assert capture.offset is not None
        assert is_event(token_of(capture.offset["resume_token"]))
        again = _capture_from(capture, [rf".*\.{group}" for group in groups])
        rest = [shown(record)[1] for records in _by_groups(again) for record in records]
        assert sorted(map(int, rest)) == list(range(len(capture.records), len(names)))


def _capture_from(other: Capture, groups: list[str]) -> Capture:
    """Another capture at the same place, with other groups."""
    capture = Capture("", **{**other.options, "capture.collection.groups": groups})
    capture.offset = other.offset
    return capture


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"capture.collection.groups": "("}, r"capture\.collection\.groups: a group is not closed"),
        ({"capture.collection.groups": ["a", " , "]}, "a group names no collection"),
        (
            {"capture.collection.groups": "a", "provide.transaction.metadata": True},
            "exclude each other: begin, end and order of a transaction",
        ),
        (
            {"capture.collection.groups": "a", "capture.scope": "collection", "capture.target": "a.b"},
            "has one collection, and no groups",
        ),
    ],
)
def test_groups_that_cannot_be_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        MongoDbConfig.load({**BASE, **options}, "source")


def test_groups_are_a_list_or_a_text() -> None:
    for given in (["a.b,a.c", "d.e"], [["a.b", "a.c"], "d.e"], "a.b,a.c;d.e"):
        config, _ = MongoDbConfig.load({**BASE, "capture.collection.groups": given}, "source")
        assert config.capture_collection_groups == ["a.b,a.c", "d.e"]
