"""ExtractNewDocumentState and MongoEventRouter, of events that a real server gave: option by option, value by value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from bson import Binary, Code, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp
from pymongo.database import Database

from cdckit.api.record import Record
from cdckit.api.struct import Struct
from cdckit.engine.chain import build_chain
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.errors import ConfigError, TransformError
from mongodb.capture import Capture
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]

JSON = JsonSerializer(JsonConfig.model_validate({"schemas.enable": False, "header.format": "json"}))
OID = ObjectId("5f1a2b3c4d5e6f7081920a1b")
WITH_PRE_IMAGE = "change_streams_update_full_with_pre_image"


class Unwrapping:
    """Changes of one collection of a server, each given to a transform."""

    def __init__(self, mongo: MongoReplicaSet, database: Own, **source: Any) -> None:
        self.rows = database.create_collection("rows", changeStreamPreAndPostImages={"enabled": True})
        named = {name.replace("_", "."): value for name, value in source.items()}
        options = {"snapshot.mode": "no_data", "database.include.list": database.name, **named}
        self._capture = Capture(mongo.uri, **options)
        self._capture.once()

    def records(self) -> list[Record]:
        """What has changed since the last time."""
        return self._capture.once()


def unwrapped(records: list[Record], transform: str = "ExtractNewDocumentState", /, **options: Any) -> list[Any]:
    """What comes of the records: their values as JSON; None for a record without one."""
    made = chained(records, transform, **options)
    return [value and json.loads(value) for value in JSON.serialize(made).values]


def chained(records: list[Record], transform: str = "ExtractNewDocumentState", /, **options: Any) -> list[Record]:
    """The records that come."""
    named = {name.replace("_", "."): value for name, value in options.items()}
    return list(build_chain([{"type": transform, **named}], {}).apply(records))


def headers(record: Record) -> dict[str, Any]:
    """The headers that a transform has added."""
    return {header.key: header.value for header in record.headers if not header.key.startswith("__debezium")}


@pytest.fixture(scope="module")
def changes(mongo: MongoReplicaSet) -> Iterator[Unwrapping]:
    """One collection for all tests that do not ask for options of the source."""
    with mongo.client() as client:
        client.drop_database("unwrapped")
        yield Unwrapping(mongo, client["unwrapped"], capture_mode=WITH_PRE_IMAGE)
        client.drop_database("unwrapped")


@pytest.fixture
def unwrapping(changes: Unwrapping) -> Iterator[Unwrapping]:
    """That collection, empty before and after a test."""
    yield changes
    changes.rows.delete_many({})
    changes.records()


def test_collections_of_one_topic_keep_their_keys_apart(unwrapping: Unwrapping) -> None:
    unwrapping.rows.insert_one({"_id": 1})
    routes = {"type": "ByLogicalTableRouter", "topic.regex": r"(.*)\.rows", "topic.replacement": "$1.all"}
    [made] = build_chain([routes, {"type": "ExtractNewDocumentState"}], {}).apply(unwrapping.records())
    assert isinstance(made.key, Struct)
    assert (made.topic, made.key.to_dict()) == (
        "t.unwrapped.all",
        {"id": 1, "__dbz__physicalTableIdentifier": "t.unwrapped.rows"},
    )


DATE = datetime(2020, 1, 2, 3, 4, 5, 678000, UTC)
OF_EVERY_TYPE: tuple[tuple[Any, Any], ...] = (
    (OID, str(OID)),
    (DATE, 1577934245678),
    (Timestamp(1600000000, 7), 1600000000000),
    (b"\x00\x01\x02\xff", "AAEC/w=="),
    (Binary(b"abc", 128), "YWJj"),
    (Regex("^a", "im"), {"regex": "^a", "options": "im"}),
    (Code("return 1"), "return 1"),
    (Decimal128("1.10"), "1.10"),
    (Int64(42), 42),
    (42, 42),
    (3.0, 3.0),
    (True, True),
    (None, None),
    ("é", "é"),
    ({"a": {"b": 1}}, {"a": {"b": 1}}),
    ([1, 2], [1, 2]),
    ([], []),
    ({}, {}),
    ([[1, 2], [3]], [[1, 2], [3]]),
)
WHERE_DEBEZIUM_FAILS: tuple[tuple[Any, Any], ...] = (
    (Code("return x", {"x": 1, "y": OID}), {"code": "return x", "scope": {"x": 1, "y": str(OID)}}),
    (MinKey(), "MinKey"),
    (MaxKey(), "MaxKey"),
    ([1, Int64(2), 2**40], [1, 2, 2**40]),
    ([1, 2.5], [1.0, 2.5]),
    ([1, None], [1, None]),
    ([[], []], [[], []]),
    ([[], [1]], [[], [1]]),
    ([{}, {}], [{}, {}]),
    ([Regex("a"), Regex("b", "i")], [{"regex": "a", "options": ""}, {"regex": "b", "options": "i"}]),
    ([MinKey(), "x"], ["MinKey", "x"]),
    ([{"s": {"a": 1}}, {"s": {"b": 2}}], [{"s": {"a": 1, "b": None}}, {"s": {"a": None, "b": 2}}]),
    ([{"a": 1}, {"a": None}, {"a": 2.5}], [{"a": 1.0}, {"a": None}, {"a": 2.5}]),
    ([Code("x", {"y": 1}), Code("z", {"y": 2})], [{"code": c, "scope": {"y": y}} for c, y in (("x", 1), ("z", 2))]),
)


@pytest.mark.parametrize("values", [OF_EVERY_TYPE, WHERE_DEBEZIUM_FAILS], ids=["typed", "where Debezium fails"])
def test_values_of_every_type(unwrapping: Unwrapping, values: tuple[tuple[Any, Any], ...]) -> None:
    unwrapping.rows.insert_many({"_id": number, "v": given} for number, (given, _) in enumerate(values))
    assert unwrapped(unwrapping.records()) == [{"_id": number, "v": found} for number, (_, found) in enumerate(values)]


@pytest.mark.parametrize("mixed", [[1, "x"], [{"a": 1}, 2], [{"a": 1}, {"a": "x"}], [[1], ["x"]]])
def test_array_encoding(unwrapping: Unwrapping, mixed: list[Any]) -> None:
    unwrapping.rows.insert_one({"_id": 1, "v": mixed})
    records = unwrapping.records()
    with pytest.raises(TransformError, match=r"\.rows\.v.* holds values of different types .*array\.encoding=document"):
        unwrapped(records, array_encoding="array")

    def as_document(items: list[Any]) -> dict[str, Any]:
        return {f"_{at}": as_document(item) if isinstance(item, list) else item for at, item in enumerate(items)}

    assert unwrapped(records, array_encoding="document") == [{"_id": 1, "v": as_document(mixed)}]


def test_flatten_struct(unwrapping: Unwrapping) -> None:
    unwrapping.rows.insert_one({"_id": {"k": 1}, "a": {"b": {"c": 1}, "d": [{"e": 1}]}, "f": {}, "g": 2})
    records = unwrapping.records()
    flat, _ = unwrapped(records, flatten_struct=True), unwrapped(records)
    assert flat == [{"_id_k": 1, "a_b_c": 1, "a_d": [{"e": 1}], "g": 2}]
    dotted = unwrapped(records, **{"flatten.struct": True, "flatten.struct.delimiter": "."})
    assert dotted == [{"_id.k": 1, "a.b.c": 1, "a.d": [{"e": 1}], "g": 2}]
    assert JSON.serialize(chained(records, flatten_struct=True)).keys == [b'{"id":{"k":1}}'], "keys stay whole"


@pytest.fixture(scope="module")
def deleted_with_its_image(changes: Unwrapping) -> list[Record]:
    changes.rows.insert_one({"_id": 1, "v": 2})
    changes.rows.delete_one({"_id": 1})
    return changes.records()


DELETED = {"_id": 1, "v": 2, "__deleted": True}
INSERTED, REWRITTEN = {"_id": 1, "v": 2}, {"_id": 1, "v": 2, "__deleted": False}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [INSERTED, None]),
        ({"delete.tombstone.handling.mode": "drop"}, [INSERTED]),
        ({"delete.tombstone.handling.mode": "tombstone"}, [INSERTED, None]),
        ({"delete.tombstone.handling.mode": "delete-to-tombstone"}, [INSERTED, None]),
        ({"delete.tombstone.handling.mode": "rewrite"}, [REWRITTEN, DELETED]),
        ({"delete.tombstone.handling.mode": "rewrite-with-tombstone"}, [REWRITTEN, DELETED, None]),
        ({"delete.handling.mode": "drop"}, [INSERTED]),
        ({"delete.handling.mode": "drop", "drop.tombstones": False}, [INSERTED, None]),
        ({"delete.handling.mode": "none"}, [INSERTED, None]),
        ({"delete.handling.mode": "none", "drop.tombstones": False}, [INSERTED, None, None]),
        ({"delete.handling.mode": "rewrite"}, [REWRITTEN, DELETED]),
        ({"delete.handling.mode": "rewrite", "drop.tombstones": False}, [REWRITTEN, DELETED, None]),
        ({"drop.tombstones": True}, [INSERTED]),
        ({"event.format": "1.9"}, [INSERTED]),
        ({"event.format": "1.9", "delete.handling.mode": "rewrite"}, [REWRITTEN, {"__deleted": True}]),
    ],
)
def test_deletes_and_tombstones(
    deleted_with_its_image: list[Record], options: dict[str, Any], expected: list[Any]
) -> None:
    assert unwrapped(deleted_with_its_image, **options) == expected


def test_a_rewritten_delete_without_a_document_before_can_have_its_identifier(
    mongo: MongoReplicaSet, own_database: Own
) -> None:
    unwrapping = Unwrapping(mongo, own_database)
    unwrapping.rows.insert_one({"_id": OID})
    unwrapping.rows.delete_one({"_id": OID})
    delete = unwrapping.records()[1:]
    mode = {"delete.tombstone.handling.mode": "rewrite"}
    assert unwrapped(delete, **mode) == [{"__deleted": True}]
    with_id = {**mode, "delete.tombstone.handling.mode.rewrite-with-id": True}
    assert unwrapped(delete, **with_id) == [{"__deleted": True, "_id": str(OID)}]


def test_old_and_new_options_together_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"drop\.tombstones say the same as delete\.tombstone\.handling\.mode"):
        chained([], **{"drop.tombstones": True, "delete.tombstone.handling.mode": "drop"})


def test_an_update_without_a_document_shows_what_was_changed(mongo: MongoReplicaSet, own_database: Own) -> None:
    unwrapping = Unwrapping(mongo, own_database, capture_mode="change_streams")
    unwrapping.rows.insert_one({"_id": 1, "sub": {"a": 1, "b": 2}, "list": [1, 2, 3], "gone": 1})
    change = {"$set": {"sub.a": Int64(5), "list.0": 9, "new": {"x": 1}}, "$unset": {"gone": "", "sub.b": ""}}
    unwrapping.rows.update_one({"_id": 1}, change)
    _, update = unwrapping.records()
    assert unwrapped([update]) == [{"list.0": 9, "new": {"x": 1}, "sub.a": 5, "_id": 1}]
    assert unwrapped([update], flatten_struct=True) == [{"list_0": 9, "new_x": 1, "sub_a": 5, "_id": 1}]
    told = "updateDescription.removedFields:gone"
    assert unwrapped([update], add_fields=told)[0]["__gone"] == ["gone", "sub.b"]
    assert unwrapped([update], event_format="1.9") == [], "in 1.9 it counts as a delete"


def test_add_fields_and_add_headers(unwrapping: Unwrapping) -> None:
    unwrapping.rows.insert_one({"_id": 1, "v": 1})
    unwrapping.rows.update_one({"_id": 1}, {"$set": {"v": 2}})
    unwrapping.rows.delete_one({"_id": 1})
    records = unwrapping.records()
    asked = "op, collection:FROM,source.db,nothing,source.nothing,updateDescription.updatedFields:what"
    mode = {"delete.tombstone.handling.mode": "rewrite-with-tombstone"}
    created, updated, deleted, _ = unwrapped(records, **mode, **{"add.fields": asked, "add.fields.prefix": "+"})
    database = unwrapping.rows.database.name
    source = {"+FROM": "rows", "+source_db": database}
    assert created == {"_id": 1, "v": 1, "__deleted": False, "+op": "c", **source, "+what": None}
    assert updated == {"_id": 1, "v": 2, "__deleted": False, "+op": "u", **source, "+what": '{"v": 2}'}
    assert deleted == {"_id": 1, "v": 2, "__deleted": True, "+op": "d", **source, "+what": None}
    made = chained(records, **mode, **{"add.headers": asked, "add.headers.prefix": "h-"})
    told = {"h-FROM": "rows", "h-source_db": database}
    assert [headers(record) for record in made] == [
        {"h-op": "c", **told, "h-what": None},
        {"h-op": "u", **told, "h-what": '{"v": 2}'},
        {"h-op": "d", **told, "h-what": None},
        {"h-op": "d"},
    ]
    assert [list(headers(record)) for record in chained(records, add_headers="op", add_fields="op")] == [["__op"]] * 3


def test_add_source_fields_and_operation_header(unwrapping: Unwrapping) -> None:
    unwrapping.rows.insert_one({"_id": 1})
    unwrapping.rows.delete_one({"_id": 1})
    records = unwrapping.records()
    old = {"operation.header": True, "delete.handling.mode": "none", "drop.tombstones": False}
    made = chained(records, **old, **{"add.source.fields": "collection,connector"})
    assert [headers(record) for record in made] == [{"__op": "c"}, {"__op": "d"}, {"__op": "d"}]
    value = json.loads(JSON.serialize(made).values[0] or b"")
    assert value == {"_id": 1, "__collection": "rows", "__connector": "mongodb"}
    both = chained(records[:1], **{"operation.header": True, "add.headers": "collection"})
    assert headers(both[0]) == {"__collection": "rows"}


def test_fields_of_transactions(mongo: MongoReplicaSet, own_database: Own) -> None:
    unwrapping = Unwrapping(mongo, own_database, provide_transaction_metadata=True)
    with own_database.client.start_session() as session, session.start_transaction():
        unwrapping.rows.insert_one({"_id": 1}, session=session)
        unwrapping.rows.insert_one({"_id": 2}, session=session)
    asked = {"add.fields": "total_order,transaction.data_collection_order:n,id", "add.headers": "transaction.id"}
    begin, first, second = chained(unwrapping.records()[:3], **asked)
    assert begin.topic == "t.transaction"
    values = [json.loads(value or b"") for value in JSON.serialize([first, second]).values]
    assert [(value["__total_order"], value["__n"]) for value in values] == [(1, 1), (2, 2)]
    assert [headers(record)["__transaction_id"] for record in (first, second)] == [value["__id"] for value in values]


NAMES = {"_id": 1, "1st": 1, "a-b": {"é": 2}, "none": []}


@pytest.fixture(scope="module")
def unfit_names(changes: Unwrapping) -> list[Record]:
    changes.rows.insert_one(NAMES)
    created = changes.records()
    changes.rows.delete_many({})
    changes.records()
    return created


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"field.name.adjustment.mode": "none"}, NAMES),
        ({"field.name.adjustment.mode": "avro"}, {"_id": 1, "_1st": 1, "a_b": {"_": 2}, "none": None}),
        (
            {"field.name.adjustment.mode": "avro_unicode"},
            {"_u005fid": 1, "_u0031st": 1, "a_u002db": {"_u00e9": 2}, "none": None},
        ),
        ({"sanitize.field.names": True}, {"_id": 1, "_1st": 1, "a_b": {"_": 2}, "none": None}),
        ({"sanitize.field.names": True, "event.format": "1.9"}, {"_id": 1, "_1st": 1, "a_b": {"_": 2}}),
    ],
)
def test_names_fit_for_avro(unfit_names: list[Record], options: dict[str, Any], expected: Any) -> None:
    assert unwrapped(unfit_names, **options) == [expected]


OUTBOX = "MongoEventRouter"
EVENT = {
    "_id": OID,
    "aggregateid": ObjectId("b2730779e1f596e275826f08"),
    "aggregatetype": "Order",
    "type": "OrderCreated",
    "payload": {"n": Int64(5), "items": [{"price": Decimal128("1.5")}]},
    "at": DATE,
    "count": Int64(7),
    "where": "elsewhere-3",
    "kind": "new",
    "part": 2,
    "version": 4,
    "json": '{"a": [1, 2]}',
    "nothing": "  ",
}


@pytest.fixture(scope="module")
def outbox_event(changes: Unwrapping) -> list[Record]:
    changes.rows.insert_one(EVENT)
    created = changes.records()
    changes.rows.delete_many({})
    changes.records()
    return created


def routed(records: list[Record], **options: Any) -> Record:
    """The one event that comes."""
    (made,) = chained(records, OUTBOX, **options)
    return made


def test_an_outbox_event(outbox_event: list[Record]) -> None:
    made = routed(outbox_event)
    assert made.topic == "outbox.event.Order"
    assert headers(made) == {"id": str(OID)}
    messages = JSON.serialize([made])
    assert messages.keys == [b'"b2730779e1f596e275826f08"']
    assert json.loads(json.loads(messages.values[0] or b"")) == {
        "n": {"$numberLong": "5"},
        "items": [{"price": {"$numberDecimal": "1.5"}}],
    }


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"collection.expand.json.payload": True}, {"n": 5, "items": [{"price": "1.5"}]}),
        ({"collection.expand.json.payload": True, "collection.field.event.payload": "json"}, {"a": [1, 2]}),
        ({"collection.expand.json.payload": True, "collection.field.event.payload": "where"}, "elsewhere-3"),
        ({"collection.field.event.payload": "json"}, '{"a": [1, 2]}'),
        ({"collection.field.event.payload": "nothing"}, "  "),
        ({"collection.field.event.payload": "nothing", "route.tombstone.on.empty.payload": True}, None),
        (
            {"collection.field.event.payload": "json", "collection.fields.additional.placement": "part:envelope"},
            {"payload": '{"a": [1, 2]}', "part": 2},
        ),
    ],
)
def test_an_outbox_payload(outbox_event: list[Record], options: dict[str, Any], expected: Any) -> None:
    assert unwrapped(outbox_event, OUTBOX, **options) == [expected]


def test_an_outbox_key_and_id(outbox_event: list[Record]) -> None:
    made = routed(outbox_event, **{"collection.field.event.key": "kind", "collection.field.event.id": "where"})
    assert (JSON.serialize([made]).keys, headers(made)) == ([b'"new"'], {"id": "elsewhere-3"})
    assert routed(outbox_event, **{"collection.field.event.key": ""}).key is None
    told = {"collection.field.event.type": "kind", "tracing.span.context.field": "span"}
    assert routed(outbox_event, **told).topic == "outbox.event.Order", "types and traces are passed over"


def test_an_outbox_timestamp(outbox_event: list[Record]) -> None:
    assert routed(outbox_event, **{"collection.field.event.timestamp": "at"}).timestamp == 1577934245678
    assert routed(outbox_event, **{"collection.field.event.timestamp": "count"}).timestamp == 7
    with pytest.raises(TransformError, match=r"field 'kind' \(collection\.field\.event\.timestamp\) is no timestamp"):
        routed(outbox_event, **{"collection.field.event.timestamp": "kind"})


def test_more_fields_of_an_outbox(outbox_event: list[Record]) -> None:
    placed = {
        "collection.fields.additional.placement": "kind:header,where:header:at,part:partition,count:envelope:n",
        "collection.field.event.schema.version": "version",
        "collection.expand.json.payload": True,
    }
    made = routed(outbox_event, **placed)
    assert headers(made) == {"id": str(OID), "kind": "new", "at": "elsewhere-3"}
    assert made.partition == 2
    assert made.value is not None
    assert made.value.schema is not None
    assert made.value.schema.version == 4
    (value,) = unwrapped(outbox_event, OUTBOX, **placed)
    assert value == {"payload": {"n": 5, "items": [{"price": "1.5"}]}, "n": 7}
    missing = {"collection.fields.additional.placement": "absent:header"}
    with pytest.raises(TransformError, match=r"no field 'absent' \(collection\.fields\.additional\.placement\)"):
        routed(outbox_event, **missing, **{"collection.field.additional.missing": "error"})
    assert headers(routed(outbox_event, **missing, **{"collection.field.additional.missing": "ignore"})) == {
        "id": str(OID)
    }


@pytest.mark.parametrize(
    ("options", "topic"),
    [
        ({"route.by.field": "kind"}, "outbox.event.new"),
        ({"route.topic.replacement": "to.${routedByValue}"}, "to.Order"),
        (
            {"route.by.field": "where", "route.topic.regex": r"(?<to>\w+)-(\d)", "route.topic.replacement": "${to}.$2"},
            "elsewhere.3",
        ),
        ({"route.topic.regex": "no such (?<routedByValue>.*)"}, "Order"),
    ],
)
def test_the_topic_of_an_outbox_event(outbox_event: list[Record], options: dict[str, Any], topic: str) -> None:
    assert routed(outbox_event, **options).topic == topic


@pytest.fixture(scope="module")
def changed_outbox(changes: Unwrapping) -> list[Record]:
    changes.rows.insert_one(EVENT)
    changes.rows.update_one({"_id": OID}, {"$set": {"kind": "x"}})
    changes.rows.delete_one({"_id": OID})
    return changes.records()


@pytest.mark.parametrize("option", ["collection.op.invalid.behavior", "table.op.invalid.behavior"])
@pytest.mark.parametrize(("behavior", "level"), [("warn", "WARNING"), ("error", "ERROR"), ("fatal", "")])
def test_updates_and_deletes_in_an_outbox(
    changed_outbox: list[Record], option: str, behavior: str, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    created, updated, deleted, tombstone = changed_outbox
    assert chained([deleted, tombstone], OUTBOX, **{option: behavior}) == []
    if behavior == "fatal":
        with pytest.raises(TransformError, match=r"this is 'u' \(collection\.op\.invalid\.behavior\)"):
            chained([updated], OUTBOX, **{option: behavior})
        return
    assert len(chained([created, updated], OUTBOX, **{option: behavior})) == 1
    assert [record.levelname for record in caplog.records if "an outbox should not see" in record.getMessage()] == [
        level
    ]
