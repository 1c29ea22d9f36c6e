"""Following the change stream: scopes, filters, transactions, large events, what drops and renames do."""

from __future__ import annotations

from typing import Any

import pytest
from pymongo.database import Database

from cdckit.api.record import Record
from cdckit.connector.envelope import NEW_KEY, OLD_KEY
from cdckit.errors import ConfigError, DecodeError, SourceError
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.extended_json import Dialect
from cdckit_mongodb.tokens import is_event, token_of
from mongodb.capture import Capture, change, shown
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]

MEGABYTE = "x" * 2**20


def _begun(mongo: MongoReplicaSet, database: Own, **options: Any) -> Capture:
    """A capture that stands at the present end of the stream."""
    capture = Capture(mongo.uri, **{"database_include_list": database.name, **options})
    capture.once()
    return capture


def _operations(records: list[Record]) -> list[tuple[str | None, str]]:
    return [shown(record)[:2] for record in records]


@pytest.mark.parametrize(
    ("skipped", "expected"),
    [
        ("t", [("c", "1"), ("u", "1"), ("u", "1"), ("d", "1"), (None, "1")]),
        ("none", [("c", "1"), ("u", "1"), ("u", "1"), ("d", "1"), (None, "1")]),
        ("c", [("u", "1"), ("u", "1"), ("d", "1"), (None, "1")]),
        ("u", [("c", "1"), ("d", "1"), (None, "1")]),
        ("d,t", [("c", "1"), ("u", "1"), ("u", "1")]),
    ],
)
def test_skipped_operations(mongo: MongoReplicaSet, own_database: Own, skipped: str, expected: list[Any]) -> None:
    capture = _begun(mongo, own_database, skipped_operations=skipped)
    own_database.a.insert_one({"_id": 1})
    own_database.a.update_one({"_id": 1}, {"$set": {"x": 1}})
    own_database.a.replace_one({"_id": 1}, {"y": 1})
    own_database.a.delete_one({"_id": 1})
    assert _operations(capture.once()) == expected


def test_an_id_that_is_written_otherwise_is_another_key(mongo: MongoReplicaSet, own_database: Own) -> None:
    """For the server 4 and 4.0 are one `_id`, and each later event has the new one."""
    capture = _begun(mongo, own_database)
    own_database.a.insert_one({"_id": 4})
    own_database.a.replace_one({"_id": 4.0}, {"_id": 4.0, "x": 1})
    own_database.a.update_one({"_id": 4}, {"$set": {"x": 2}})
    records = capture.once()
    assert _operations(records) == [("c", "4"), ("d", "4"), (None, "4"), ("c", "4.0"), ("u", "4.0")]
    assert [record.position for record in records] == sorted({str(record.position) for record in records})
    told = [record.header(name) for record, name in zip(records[1:4:2], (NEW_KEY, OLD_KEY), strict=True)]
    assert [header and header.value["id"] for header in told] == ["4.0", "4"]


WITHOUT = {"database_include_list": "", "collection_include_list": "{db}.a"}
"""A list of databases to leave out is the only one of databases; other tests' collections are no concern."""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"collection_include_list": "{db}.a.*,{db}[.]B"}, ["a", "ab", "b"]),
        ({"collection_include_list": "{db}.a,{db}.(?<name>b)"}, ["a", "b"]),
        ({"collection_exclude_list": "{db}.a+b?"}, ["b"]),
        ({"collection_exclude_list": r"{db}.\Qa\E"}, ["ab", "b"]),
        ({"collection_include_list": "{db}.a,{db}.B", "filters_match_mode": "literal"}, ["a"]),
        ({"collection_exclude_list": "{db}.a,{db}.B", "filters_match_mode": "literal"}, ["ab", "b"]),
        ({"database_include_list": "nothing"}, []),
        ({**WITHOUT, "database_exclude_list": "t_.*,g_.*"}, []),
        ({"database_include_list": "other,{db}", "filters_match_mode": "literal"}, ["a", "ab", "b"]),
        ({"database_include_list": "{db}.*", "filters_match_mode": "literal"}, []),
        ({**WITHOUT, "database_exclude_list": "other,{db}", "filters_match_mode": "literal"}, []),
        ({**WITHOUT, "database_exclude_list": "{db}.*", "filters_match_mode": "literal"}, ["a"]),
        ({"capture_scope": "database", "capture_target": "{db}"}, ["a", "ab", "b"]),
        ({"capture_scope": "collection", "capture_target": "{db}.ab"}, ["ab"]),
    ],
)
def test_what_is_captured(
    mongo: MongoReplicaSet, own_database: Own, options: dict[str, str], expected: list[str]
) -> None:
    """The same collections, in the snapshot and in the stream."""
    named = {name: value.replace("{db}", own_database.name) for name, value in options.items()}
    for name in ("a", "ab", "b"):
        own_database[name].insert_one({"_id": name})
    capture = Capture(mongo.uri, **{"database_include_list": own_database.name, **named})
    assert sorted(shown(record)[1] for record in capture.once()) == [f'"{name}"' for name in expected]
    for name in ("a", "ab", "b"):
        own_database[name].insert_one({"_id": f"{name}2"})
    assert sorted(shown(record)[1] for record in capture.once()) == [f'"{name}2"' for name in expected]


@pytest.mark.parametrize("changed", [{"collection_include_list": "{db}.b"}, {"skipped_operations": "c"}])
def test_what_is_captured_may_change_where_the_last_event_is_not_captured_any_more(
    mongo: MongoReplicaSet, own_database: Own, changed: dict[str, str]
) -> None:
    """A server resumes behind an event only if the stages let that event pass."""
    capture = Capture(mongo.uri, snapshot_mode="no_data", collection_include_list=f"{own_database.name}.a")
    capture.once()
    own_database.a.insert_many([{"_id": 1}, {"_id": 2}])
    capture.options["max.batch.size"] = "1"
    capture.once(until=lambda: bool(capture.records))
    assert capture.offset is not None
    assert is_event(token_of(capture.offset["resume_token"]))
    named = {name.replace("_", "."): value.replace("{db}", own_database.name) for name, value in changed.items()}
    capture.options.update(named)
    own_database.b.insert_one({"_id": 3})
    own_database.a.update_one({"_id": 2}, {"$set": {"x": 1}})
    expected = [("c", "3")] if "collection_include_list" in changed else [("u", "2")]
    assert _operations(capture.once()) == expected


def test_fields_are_left_out_and_renamed_everywhere(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.create_collection("a", changeStreamPreAndPostImages={"enabled": True})
    capture = _begun(
        mongo,
        own_database,
        capture_mode="change_streams_update_full_with_pre_image",
        field_exclude_list=f"{own_database.name}.*.secret,*.a.list.inner",
        field_renames=f"{own_database.name}.a.list.old:new,*.*.top:bottom",
    )
    own_database.a.insert_one({"_id": 1, "secret": 1, "top": 2, "list": [{"inner": 1, "old": 2, "z": 3}, 7]})
    own_database.a.update_one({"_id": 1}, {"$set": {"list.0.old": 5, "list.0.inner": 6, "secret": 9}})
    own_database.a.update_one(
        {"_id": 1}, {"$set": {"list": [{"inner": 1, "old": 3}]}, "$unset": {"top": 1, "secret": 1}}
    )
    created, first, second = map(change, capture.once())
    assert created["after"] == '{"_id": 1,"list": [{"z": 3,"new": 2},7],"bottom": 2}'
    assert first["updateDescription"]["updatedFields"] == '{"list.0.new": 5}'
    assert first["before"] == created["after"]
    assert second["updateDescription"]["updatedFields"] == '{"list": [{"new": 3}]}'
    assert second["updateDescription"]["removedFields"] == ["bottom"]


def test_the_users_stages_come_before_behind_or_instead(mongo: MongoReplicaSet, own_database: Own) -> None:
    pipeline = '[{"$match": {"operationType": {"$in": ["insert", "delete"]}, "documentKey._id": {"$gt": 1}}}]'
    found = {}
    for order in ("internal_first", "user_first", "user_only"):
        capture = _begun(
            mongo,
            own_database,
            cursor_pipeline=pipeline,
            cursor_pipeline_order=order,
            skipped_operations="d",
            capture_mode="change_streams",
            tombstones_on_delete=False,
        )
        own_database.a.insert_many([{"_id": 1}, {"_id": 2}])
        own_database.a.delete_many({})
        found[order] = _operations(capture.once())
    assert found["internal_first"] == found["user_first"] == [("c", "2")]
    assert found["user_only"] == [("c", "2"), ("d", "2")], "the source's own stages skip operations"


def test_stages_that_are_none_are_refused(mongo: MongoReplicaSet) -> None:
    for text in ("[{", '{"match": 1}', "[1]"):
        with pytest.raises(ConfigError, match=r"source\.cursor\.pipeline"):
            Capture(mongo.uri, cursor_pipeline=text).config()
    with pytest.raises(SourceError, match="Unrecognized pipeline stage name"):
        Capture(mongo.uri, cursor_pipeline='[{"$nonsense": {}}]').once()


def test_transactions_of_debezium_1_9_have_its_schemas(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.create_collection("a")
    capture = _begun(mongo, own_database, provide_transaction_metadata=True, event_format=1.9)
    with own_database.client.start_session() as session, session.start_transaction():
        own_database.a.insert_one({"_id": 1}, session=session)
    own_database.a.insert_one({"_id": "after"})
    capture.once(until=lambda: len(capture.records) >= 4)
    begin, event, end, _ = capture.records
    fields = ["status", "id", "event_count", "data_collections"]
    assert list(change(begin).schema.index) == list(change(end).schema.index) == fields
    assert {change(record).schema.version for record in (begin, event, end)} == {None}
    assert change(event)["transaction"]["total_order"] == 1
    [counted] = change(end)["data_collections"]
    assert counted.to_dict() == {"data_collection": f"rs0.{own_database.name}.a", "event_count": 1}


def test_transactions_are_told_and_resumed_in_their_middle(mongo: MongoReplicaSet, own_database: Own) -> None:
    """Every event's position is unique although a transaction's events share their time."""
    own_database.create_collection("a")
    capture = _begun(mongo, own_database, provide_transaction_metadata=True, max_batch_size=7)
    client = own_database.client
    with client.start_session() as session, session.start_transaction():
        for number in range(20):
            own_database.a.insert_one({"_id": number}, session=session)
    own_database.a.insert_one({"_id": "after"})
    for _ in range(40):
        seen = len(capture.records)
        capture.once(until=lambda seen=seen: len(capture.records) > seen)  # type: ignore[misc]
    positions = [record.position for record in capture.records]
    assert positions == sorted(set(positions))
    begin, *events, end, alone = capture.records
    assert [shown(record)[1] for record in events] == [str(number) for number in range(20)]
    assert [change(record)["transaction"]["total_order"] for record in events] == list(range(1, 21))
    assert (change(begin)["status"], change(end)["status"], change(end)["event_count"]) == ("BEGIN", "END", 20)
    assert change(alone)["transaction"] is None


def test_a_transaction_ends_when_another_event_comes_or_where_its_range_is_closed(
    mongo: MongoReplicaSet, own_database: Own
) -> None:
    """What goes on behind a closed range does not know what was in hand there."""
    own_database.create_collection("a")
    capture = _begun(mongo, own_database, provide_transaction_metadata=True)
    _insert_together(own_database, 0, 3)
    capture.once()
    assert _markers(capture) == [("BEGIN", None)]
    _insert_together(own_database, 10, 4)
    capture.once()
    assert _markers(capture) == [("BEGIN", None), ("END", 3), ("BEGIN", None)]
    for inserted in (0, 2):
        if inserted:
            _insert_together(own_database, 20, inserted)
        else:
            own_database.create_collection("what is no change moves the stream's end, too")
        with capture.source() as source:
            assert capture.offset is not None
            for split in source.plan(capture.offset, source.latest_offset(capture.offset)):
                for batch in source.read(split):
                    capture.take(batch)
    closed = [("END", 4), ("BEGIN", None), ("END", 2)]
    assert _markers(capture) == [("BEGIN", None), ("END", 3), ("BEGIN", None), *closed]
    positions = [record.position for record in capture.records]
    assert positions == sorted(set(positions))


def _insert_together(database: Own, first: int, number: int) -> None:
    with database.client.start_session() as session, session.start_transaction():
        database.a.insert_many([{"_id": first + each} for each in range(number)], session=session)


def _markers(capture: Capture) -> list[tuple[str, int | None]]:
    """The begins and ends of transactions."""
    told = [change(record) for record in capture.records if "status" in change(record).schema.index]
    return [(one["status"], one["event_count"]) for one in told]


def test_an_event_too_large_stops_with_what_to_do(mongo: MongoReplicaSet, own_database: Own) -> None:
    _with_images(own_database)
    capture = _begun(mongo, own_database, **IMAGES)
    _write_large(own_database)
    with pytest.raises(SourceError, match=r"cursor\.oversize\.handling\.mode=split"):
        capture.once()


def test_an_event_too_large_is_joined_of_fragments(mongo: MongoReplicaSet, own_database: Own) -> None:
    _with_images(own_database)
    capture = _begun(mongo, own_database, cursor_oversize_handling_mode="split", **IMAGES)
    _write_large(own_database)
    own_database.a.insert_one({"_id": 2})
    created, updated, last = capture.once()
    assert shown(updated)[2] == {"_id": 1, "text": MEGABYTE * 9, "other": 1}
    assert shown(created)[2] == {"_id": 1, "text": MEGABYTE * 9}
    assert change(updated)["before"] == change(created)["after"]
    assert change(updated)["updateDescription"]["updatedFields"] == '{"other": 1}'
    assert shown(last) == ("c", "2", {"_id": 2})


def test_documents_beyond_the_threshold_are_skipped(mongo: MongoReplicaSet, own_database: Own) -> None:
    _with_images(own_database)
    capture = _begun(
        mongo, own_database, cursor_oversize_handling_mode="skip", cursor_oversize_skip_threshold=2**20, **IMAGES
    )
    _write_large(own_database)
    own_database.a.insert_one({"_id": 2})
    assert [shown(record) for record in capture.once()] == [("c", "2", {"_id": 2})]


IMAGES = {
    "capture_mode": "change_streams_update_full_with_pre_image",
    "capture_mode_full_update_type": "post_image",
}


def _with_images(database: Own) -> None:
    database.create_collection("a", changeStreamPreAndPostImages={"enabled": True})


def _write_large(database: Own) -> None:
    database.a.insert_one({"_id": 1, "text": MEGABYTE * 9})
    database.a.update_one({"_id": 1}, {"$set": {"other": 1}})


@pytest.mark.parametrize("scope", ["database", "collection"])
def test_a_dropped_target_is_followed_when_it_comes_back(mongo: MongoReplicaSet, own_database: Own, scope: str) -> None:
    """Dropping what a narrower scope names invalidates its stream; a new one starts after that."""
    target = own_database.name if scope == "database" else f"{own_database.name}.a"
    own_database.a.insert_one({"_id": 0})
    capture = _begun(mongo, own_database, capture_scope=scope, capture_target=target)
    own_database.a.insert_one({"_id": 1})
    own_database.a.drop()
    own_database.client.drop_database(own_database.name)
    assert _operations(capture.once()) == [("c", "1")]
    assert capture.once() == []
    own_database.a.insert_one({"_id": 2})
    assert _operations(capture.once()) == [("c", "2")]
    own_database.client.drop_database(own_database.name)
    own_database.a.insert_one({"_id": 3})
    capture.follow(until=lambda: len(capture.records) == 4)
    assert _operations(capture.records)[-1] == ("c", "3")


def test_a_renamed_collection_goes_on_under_its_new_name(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.a.insert_one({"_id": 0})
    capture = _begun(mongo, own_database)
    own_database.a.insert_one({"_id": 1})
    own_database.a.rename("b")
    own_database.b.insert_one({"_id": 2})
    assert [(record.topic.rpartition(".")[2], shown(record)[1]) for record in capture.once()] == [
        ("a", "1"),
        ("b", "2"),
    ]


def test_documents_that_come_with_another_collections_name_are_told_of(
    mongo: MongoReplicaSet, own_database: Own, caplog: pytest.LogCaptureFixture
) -> None:
    """No event has them: neither those of a renamed collection nor those that $out has written into one of its own."""
    own_database.a.insert_many([{"_id": 1}, {"_id": 2}])
    own_database.b.insert_one({"_id": 3})
    captured = rf"{own_database.name}\.(b|c)"
    capture = Capture(mongo.uri, database_include_list=own_database.name, collection_include_list=captured)
    capture.once()
    capture.records.clear()
    list(own_database.a.aggregate([{"$match": {"_id": 1}}, {"$out": "b"}]))
    own_database.a.rename("c")
    own_database.c.insert_one({"_id": 4})
    assert [(record.topic.rpartition(".")[2], shown(record)[1]) for record in capture.once()] == [("c", "4")]
    for name in ("b", "c"):
        assert f" to {own_database.name}.{name}: the documents that came there so" in caplog.text


def test_heartbeats_come_while_nothing_changes(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.create_collection("a")
    capture = Capture(mongo.uri, database_include_list=own_database.name, heartbeat_interval_ms=50)
    capture.follow(until=lambda: len(capture.records) >= 3)
    assert {record.topic for record in capture.records} == {"__debezium-heartbeat.t"}
    assert all(record.value for record in capture.records)


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents with a member `broken` cannot be shown."""
    write = Dialect.document

    def failing(self: Dialect, document: dict[str, Any]) -> str:
        if document.get("broken"):
            raise DecodeError("broken on purpose")
        return write(self, document)

    monkeypatch.setattr(Dialect, "document", failing)


FOUR = [{"_id": 1}, {"_id": 2, "broken": True}, {"_id": 3, "broken": True}, {"_id": 4}]


@pytest.mark.usefixtures("breaking")
def test_an_event_that_cannot_be_decoded_stops(mongo: MongoReplicaSet, own_database: Own) -> None:
    """Each time, until the user says otherwise; then nothing of what can be decoded is missing."""
    own_database.create_collection("a")
    capture = _begun(mongo, own_database)
    own_database.a.insert_many(FOUR)
    for _ in range(2):
        with pytest.raises(
            DecodeError, match=rf"\d+:\d+: an event of {own_database.name}\.a cannot be decoded: broken"
        ):
            capture.once()
    capture.options["event.processing.failure.handling.mode"] = "skip"
    capture.once()
    assert [key for _, key in dict.fromkeys(_operations(capture.records))] == ["1", "4"]


@pytest.mark.usefixtures("breaking")
@pytest.mark.parametrize(("mode", "told"), [("warn", 2), ("skip", 1), ("ignore", 1)])
def test_an_event_that_cannot_be_decoded_is_left_out_and_counted(
    mongo: MongoReplicaSet, own_database: Own, caplog: pytest.LogCaptureFixture, mode: str, told: int
) -> None:
    own_database.create_collection("a")
    capture = _begun(mongo, own_database, event_processing_failure_handling_mode=mode)
    own_database.a.insert_many(FOUR)
    assert _operations(capture.once()) == [("c", "1"), ("c", "4")]
    assert caplog.text.count("broken on purpose; left out") == told
    assert capture.counts.skipped == {f"{own_database.name}.a": 2}


def test_debeziums_offsets_are_taken_over(mongo: MongoReplicaSet, own_database: Own) -> None:
    """With the token in BSON, as its text alone as older versions had it, or with the time alone."""
    own_database.create_collection("a")
    capture = _begun(mongo, own_database)
    own_database.a.insert_one({"_id": 1})
    capture.once()
    own = capture.offset or {}
    own_database.a.insert_one({"_id": 2})
    members = {"sec": own["sec"], "ord": own["ord"]}
    for offset in (
        {**members, "resume_token": own["resume_token"], "transaction_id": None},
        {**members, "resume_token": token_of(own["resume_token"])["_data"]},
        {"resume_token": own["resume_token"]},
    ):
        capture.offset = offset
        assert _operations(capture.once()) == [("c", "2")]
    capture.offset = members
    assert _operations(capture.once()) == [("c", "1"), ("c", "2")], "the time alone does not say which event was last"


def test_scopes_need_their_target() -> None:
    for options in ({"capture.scope": "database"}, {"capture.scope": "collection", "capture.target": "only_one"}):
        with pytest.raises(ConfigError, match=r"capture\.target"):
            MongoDbConfig.load({"topic.prefix": "t", "mongodb.connection.string": "mongodb://x", **options}, "source")
