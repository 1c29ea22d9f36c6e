"""Collections read again in chunks: documents of all kinds of `_id`, changed meanwhile; collections that cannot be."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from bson import Int64, MaxKey, ObjectId
from pymongo.database import Database

from cdckit.connector.incremental import Chunk, Wanted
from cdckit.connector.signals import Signal, send
from cdckit.errors import RetriableSourceError
from cdckit_mongodb.incremental.collection_chunks import CollectionChunks
from mongodb.capture import shown
from mongodb.signalling import Signalled
from mongodb.snapshot_batches import KINDS
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_documents_of_every_kind_of_identifier(mongo: MongoReplicaSet, own_database: Own, size: int) -> None:
    """In the server's order, whatever the chunks' borders are."""
    own_database.a.insert_many({"_id": identifier, "n": n} for n, identifier in enumerate(reversed(KINDS)))
    signalled = Signalled(mongo, own_database, incremental_snapshot_chunk_size=size)
    signalled.once()
    signalled.signal(data_collections=[signalled.name("a")])
    signalled.once()
    in_order = [document["n"] for document in own_database.a.find().sort("_id")]
    assert [shown(record)[2]["n"] for record in signalled.reads()] == in_order == list(reversed(range(len(KINDS))))


def test_a_surrogate_key_is_not_needed(
    mongo: MongoReplicaSet, own_database: Own, caplog: pytest.LogCaptureFixture
) -> None:
    """Every document has an `_id`: the collection is read by that, and the log says so."""
    own_database.a.insert_many({"_id": n, "code": -n} for n in range(20))
    signalled = Signalled(mongo, own_database)
    signalled.once()
    signalled.signal(data_collections=[signalled.name("a")], surrogate_key="code")
    signalled.once()
    assert [shown(record)[2]["_id"] for record in signalled.reads()] == list(range(20))
    told = (
        f"surrogate-key=code has no meaning: the documents of {signalled.name('a')} are read in the order of their _id"
    )
    assert caplog.messages.count(told) == 1


@pytest.mark.parametrize("strategy", ["insert_insert", "insert_delete"])
def test_what_changes_between_a_chunks_marks_is_newer(
    mongo: MongoReplicaSet, own_database: Own, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    """Between the reading of each chunk and its second mark, a document of it is updated, another one deleted, a third
    one deleted and inserted anew, and one inserted before all of them.
    """
    identifiers = [*range(20), *(f"s{number:02d}" for number in range(20)), *(ObjectId() for _ in range(10))]
    own_database.a.insert_many({"_id": identifier, "v": "old"} for identifier in identifiers)
    signalled = Signalled(mongo, own_database, incremental_snapshot_watermarking_strategy=strategy)
    signalled.once()
    touched: list[str] = []
    _after_each_chunk(monkeypatch, lambda found: touched.extend(_change(own_database, found)))
    signalled.signal(data_collections=[signalled.name("a")])
    signalled.once()
    read = [shown(record) for record in signalled.reads()]
    assert len(touched) == 7 * 4, "of seven chunks"
    assert {key for _, key, _ in read}.isdisjoint(touched)
    assert {document["v"] for _, _, document in read} == {"old"}
    newest: dict[str, Any] = {}
    for record in signalled.records:
        operation, key, document = shown(record)
        newest[key] = None if operation in ("d", None) else document["v"]
    now = sorted(value for value in newest.values() if value is not None)
    assert now == sorted(document["v"] for document in own_database.a.find())


def _after_each_chunk(monkeypatch: pytest.MonkeyPatch, act: Callable[[Chunk[Any]], object]) -> None:
    read = CollectionChunks.read

    def reading(self: CollectionChunks, wanted: Wanted, after: str | None, last: str) -> Chunk[Any]:
        found = read(self, wanted, after, last)
        act(found)
        return found

    monkeypatch.setattr(CollectionChunks, "read", reading)


def _change(database: Own, chunk: Chunk[Any]) -> list[str]:
    """Changes documents of a chunk that has some; gives the keys of those that were changed."""
    if len(chunk.rows) < 3:
        return []
    (updated, one), (deleted, two), (renewed, three) = list(chunk.rows.items())[-3:]
    database.a.update_one({"_id": one["_id"]}, {"$set": {"v": "new"}})
    database.a.delete_one({"_id": two["_id"]})
    database.a.delete_one({"_id": three["_id"]})
    database.a.insert_one({"_id": three["_id"], "v": "new"})
    number = -database.a.count_documents({"_id": {"$lt": 0}}) - 1
    database.a.insert_one({"_id": number, "v": "new"})
    return [str(key) for key in (updated, deleted, renewed, number)]


def test_time_series_are_read_by_blocking_snapshots_only(
    mongo: MongoReplicaSet, own_database: Own, caplog: pytest.LogCaptureFixture
) -> None:
    own_database.create_collection("a", timeseries={"timeField": "at"})
    own_database.a.insert_many({"_id": number, "at": datetime.datetime(2020, 1, 1)} for number in range(20))
    own_database.b.insert_one({"_id": 1})
    signalled = Signalled(mongo, own_database)
    signalled.once()
    signalled.signal(data_collections=[".*"])
    signalled.once()
    assert [shown(record)[1] for record in signalled.reads()] == ["1"], "the other collection is read"
    scans = [one.additional_data for one in signalled.notifications if one.type == "TABLE_SCAN_COMPLETED"]
    assert [(one["scanned_collection"], one["status"]) for one in scans] == [
        (signalled.name("a"), "NO_PRIMARY_KEY"),
        (signalled.name("b"), "SUCCEEDED"),
    ]
    assert 'a time series has none; ask for "type": "blocking"' in caplog.text
    signalled.signal(data_collections=[signalled.name("a")], type="blocking")
    signalled.once()
    assert len(signalled.reads("a")) == 20


def test_clustered_collections_and_those_with_a_collation(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.create_collection("a", clusteredIndex={"key": {"_id": 1}, "unique": True})
    own_database.create_collection("b", collation={"locale": "en", "strength": 1})
    for name in ("a", "b"):
        own_database[name].insert_many({"_id": letter} for letter in "aBcDeFgHiJkLmNoP")
    signalled = Signalled(mongo, own_database)
    signalled.once()
    signalled.signal(data_collections=[signalled.name("a"), signalled.name("b")])
    signalled.once()
    for name in ("a", "b"):
        assert [shown(record)[1] for record in signalled.reads(name)] == [
            f'"{document["_id"]}"' for document in own_database[name].find().sort("_id")
        ]


def test_a_collection_that_is_dropped_on_the_way(
    mongo: MongoReplicaSet, own_database: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_database.a.insert_many({"_id": number} for number in range(30))
    own_database.b.insert_one({"_id": 1})
    signalled = Signalled(mongo, own_database)
    signalled.once()
    _after_each_chunk(monkeypatch, lambda _: own_database.drop_collection("a"))
    signalled.signal(data_collections=[signalled.name("a"), signalled.name("b")])
    signalled.once()
    assert [len(signalled.reads(name)) for name in ("a", "b")] == [7, 1]
    assert signalled.told()[-1] == "COMPLETED"


NO_FILTERS = {
    "color='blue'": "should be a query document such as",
    "SELECT * FROM a WHERE color = 'blue'": "a collection has no SQL",
    "[1]": "should be a query document",
    '{"$nonsense": 1}': "unknown top level operator",
    '{"v": {"$regex": "("}}': "Regular expression is invalid",
}


@pytest.mark.parametrize("kind", ["incremental", "blocking"])
def test_filters_that_are_none_are_told_and_stop_nothing(
    mongo: MongoReplicaSet, own_database: Own, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    own_database.a.insert_one({"_id": 1})
    signalled = Signalled(mongo, own_database)
    signalled.once()
    for given in NO_FILTERS:
        condition = {"data-collection": signalled.name("a"), "filter": given}
        signalled.signal(
            key=given, data_collections=[signalled.name("a")], type=kind, additional_conditions=[condition]
        )
    own_database.a.insert_one({"_id": 2})
    assert [shown(record)[1] for record in signalled.once()] == ["2"]
    lines = [record.getMessage() for record in caplog.records]
    for given, said in NO_FILTERS.items():
        (told,) = [line for line in lines if line.startswith(f"signal '{given}': additional-conditions: the filter")]
        assert said in told


@pytest.mark.parametrize("kind", ["incremental", "blocking"])
def test_a_filter_chooses_documents(mongo: MongoReplicaSet, own_database: Own, kind: str) -> None:
    """As text, or as a document, in Extended JSON; of each collection its own."""
    for name in ("a", "b"):
        own_database[name].insert_many({"_id": number, "v": Int64(number % 3)} for number in range(30))
    signalled = Signalled(mongo, own_database)
    signalled.once()
    conditions = [
        {"data-collection": signalled.name("a"), "filter": '{"v": {"$numberLong": "1"}, "_id": {"$gte": 10}}'},
        {"data-collection": ".*b", "filter": {"_id": {"$lt": 2}}},
    ]
    signalled.signal(data_collections=[".*"], type=kind, additional_conditions=conditions)
    signalled.once()
    found = [[int(shown(record)[1]) for record in signalled.reads(name)] for name in ("a", "b")]
    assert found == [[10, 13, 16, 19, 22, 25, 28], [0, 1]]


def test_signals_are_understood_whatever_becomes_of_their_fields(mongo: MongoReplicaSet, own_database: Own) -> None:
    """The collection of signals is captured, too, and events show other names."""
    own_database.a.insert_one({"_id": 1})
    renames = f"*.signals.type:kind,*.signals.data:request,{own_database.name}.a.v:w"
    signalled = Signalled(
        mongo, own_database, collection_include_list="", database_include_list=own_database.name, field_renames=renames
    )
    signalled.once()
    signalled.signal(key="mine", data_collections=[signalled.name("a")])
    first, *_ = signalled.once()
    request = {"data-collections": [signalled.name("a")]}
    assert shown(first)[2] == {"_id": "mine", "kind": "execute-snapshot", "request": request}
    assert [shown(record)[1] for record in signalled.reads("a")] == ["1"]


def test_a_signal_for_what_is_not_captured(
    mongo: MongoReplicaSet, own_database: Own, caplog: pytest.LogCaptureFixture
) -> None:
    signalled = Signalled(mongo, own_database)
    signalled.once()
    signalled.signal(key="mine", data_collections=["shop.ordres", "nothing"])
    signalled.once()
    assert "signal 'mine': none of what it asks to read is captured: shop.ordres, nothing" in caplog.text


def test_snapshots_are_stopped_whole_or_in_part(
    mongo: MongoReplicaSet, own_database: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        own_database[name].insert_many({"_id": number} for number in range(30))
    signalled = Signalled(mongo, own_database)
    signalled.once()
    both = [signalled.name("a"), signalled.name("b")]
    once: list[dict[str, Any]] = [{"data_collections": both[:1]}, {}]
    _after_each_chunk(monkeypatch, lambda _: signalled.signal("stop-snapshot", **once.pop(0)) if once else None)
    signalled.signal(data_collections=both)
    signalled.once()
    assert [len(signalled.reads(name)) for name in ("a", "b")] == [0, 0], "a chunk in hand is left, too"
    assert signalled.told() == ["STARTED", "IN_PROGRESS", "IN_PROGRESS", "ABORTED"]
    signalled.signal(data_collections=both)
    signalled.once()
    assert [len(signalled.reads(name)) for name in ("a", "b")] == [30, 30]


def test_a_snapshot_pauses_between_chunks_and_goes_on_after_a_restart(
    mongo: MongoReplicaSet, own_database: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_database.a.insert_many({"_id": number} for number in range(30))
    signalled = Signalled(mongo, own_database)
    signalled.once()
    once = ["pause-snapshot"]
    _after_each_chunk(monkeypatch, lambda _: signalled.signal(once.pop()) if once else None)
    signalled.signal(data_collections=[signalled.name("a")])
    signalled.once()
    signalled.once()
    assert [int(shown(record)[1]) for record in signalled.reads()] == list(range(7))
    signalled.signal("resume-snapshot")
    signalled.once()
    assert [int(shown(record)[1]) for record in signalled.reads()] == list(range(30))
    assert [kind for kind in signalled.told() if kind != "IN_PROGRESS"] == [
        *("STARTED", "PAUSED", "RESUMED"),
        *("TABLE_SCAN_COMPLETED", "COMPLETED"),
    ]


def test_pausing_where_nothing_is_read_means_nothing(mongo: MongoReplicaSet, own_database: Own) -> None:
    """As in Debezium; and a snapshot that is stopped while it is paused does not leave the next one paused."""
    own_database.a.insert_many({"_id": number} for number in range(10))
    signalled = Signalled(mongo, own_database)
    signalled.once()
    wanted: dict[str, Any] = {"data_collections": [signalled.name("a")]}
    signalled.signal("pause-snapshot")
    signalled.signal(**wanted)
    signalled.signal("pause-snapshot")
    signalled.signal("stop-snapshot")
    signalled.signal(**wanted)
    signalled.once()
    assert len(signalled.reads()) == 10
    assert [kind for kind in signalled.told() if kind != "IN_PROGRESS"] == [
        *("STARTED", "PAUSED", "ABORTED"),
        *("STARTED", "TABLE_SCAN_COMPLETED", "COMPLETED"),
    ]


def test_how_keys_are_told(mongo: MongoReplicaSet, own_database: Own) -> None:
    """As Debezium's notifications tell them; the last key is that of what is wanted."""
    identifier = ObjectId()
    keys: dict[Any, str] = {7: "7", "x": "x", identifier: str(identifier), True: "true"}
    signalled = Signalled(mongo, own_database)
    signalled.once()
    for key, text in keys.items():
        own_database.a.delete_many({})
        own_database.a.insert_many([{"_id": key, "n": 1}, {"_id": MaxKey(), "n": 2}])
        condition = {"data-collection": signalled.name("a"), "filter": '{"n": 1}'}
        signalled.signal(data_collections=[signalled.name("a")], additional_conditions=[condition])
        signalled.once()
        (told,) = [one.additional_data for one in signalled.notifications if one.type == "IN_PROGRESS"]
        assert (told["last_processed_key"], told["maximum_key"]) == (text, text)
        signalled.heard.told.clear()


@pytest.mark.parametrize(
    "options",
    [
        {"capture_mode": "change_streams"},
        {"skipped_operations": "c,u,d", "incremental_snapshot_watermarking_strategy": "insert_delete"},
        {"capture_scope": "database", "capture_target": "{db}"},
        {"cursor_pipeline": '[{"$match": {"operationType": "insert"}}]', "cursor_pipeline_order": "user_first"},
        {"cursor_pipeline": "[]", "cursor_pipeline_order": "user_only"},
        {"event_format": "1.9"},
        {"filters_match_mode": "literal", "collection_include_list": "{db}.a"},
        {"signal_data_collection": "{db}.a", "incremental_snapshot_chunk_size": 100},
    ],
)
def test_whatever_the_stream_shows(mongo: MongoReplicaSet, own_database: Own, options: dict[str, Any]) -> None:
    """Signals and marks are seen, also where the lists, the operations or the user's stages leave them out."""
    own_database.a.insert_many({"_id": number} for number in range(20))
    texts = {name: str(value).replace("{db}", own_database.name) for name, value in options.items()}
    signalled = Signalled(mongo, own_database, **texts)
    signalled.once()
    collection = signalled.options["signal.data.collection"].partition(".")[2]
    request = {"data-collections": [signalled.name("a")]}
    own_database[collection].insert_one({"_id": "mine", "type": "execute-snapshot", "data": request})
    signalled.once()
    assert {int(key) for _, key, _ in map(shown, signalled.reads("a")) if key.isdecimal()} == set(range(20))
    assert signalled.told()[-1] == "COMPLETED"


def test_a_narrow_scope_without_signals_of_its_own_takes_blocking_ones(
    mongo: MongoReplicaSet, own_database: Own, caplog: pytest.LogCaptureFixture
) -> None:
    own_database.a.insert_one({"_id": 1})
    target = f"{own_database.name}.a"
    signalled = Signalled(
        mongo,
        own_database,
        capture_scope="collection",
        capture_target=target,
        signal_data_collection="",
        signal_enabled_channels="in-process",
        topic_prefix=own_database.name,
    )
    signalled.once()
    for kind in ("incremental", "blocking"):
        send(own_database.name, Signal(kind, "execute-snapshot", {"data-collections": [target], "type": kind}))
    signalled.once()
    assert [shown(record)[1] for record in signalled.reads("a")] == ["1"]
    assert "signal 'incremental': an incremental snapshot writes watermarks: set signal.data.collection" in caplog.text


def test_a_connection_that_is_lost_between_a_chunks_marks(
    mongo: MongoReplicaSet, own_database: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chunk is read again; its first mark, which is in the stream already, opens nothing."""
    own_database.a.insert_many({"_id": number} for number in range(30))
    signalled = Signalled(mongo, own_database, connect_backoff_initial_delay_ms=1)
    signalled.once()
    losses = [False, True, True, False]

    def lose(_: Chunk[Any]) -> None:
        if losses and losses.pop(0):
            own_database.a.update_one({"_id": 8}, {"$inc": {"v": 1}})
            raise RetriableSourceError("lost on purpose")

    _after_each_chunk(monkeypatch, lose)
    signalled.signal(data_collections=[signalled.name("a")])
    signalled.follow(until=lambda: len(signalled.reads()) >= 30)
    assert [int(shown(record)[1]) for record in signalled.reads()] == list(range(30))
    newest = [shown(record)[2] for record in signalled.records if shown(record)[1] == "8"][-1]
    assert newest == {"_id": 8, "v": 2}
    low = own_database.signals.count_documents({"type": "snapshot-window-open"})
    high = own_database.signals.count_documents({"type": "snapshot-window-close"})
    assert low == high + 2
