"""The transforms of MongoDB's events, beyond what is recorded of Debezium."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdckit.api.record import Record
from cdckit.api.schema import INT64, OPTIONAL_INT64, OPTIONAL_STRING, STRING, Schema, struct_schema
from cdckit.api.struct import Struct
from cdckit.errors import TransformError
from cdckit_transforms.extract_new_document_state import ExtractNewDocumentState
from cdckit_transforms.extract_new_document_state_config import ExtractNewDocumentStateConfig
from cdckit_transforms.mongo_event_router import MongoEventRouter, MongoEventRouterConfig
from cdckit_transforms.read_to_insert_event import ReadToInsertEvent, ReadToInsertEventConfig

KEY = struct_schema("t.d.c.Key", {"id": STRING})
UPDATE = struct_schema(
    "io.debezium.connector.mongodb.changestream.updatedescription",
    {"removedFields": Schema("array", optional=True, items=STRING), "updatedFields": OPTIONAL_STRING},
    optional=True,
)
SOURCE = struct_schema("io.debezium.connector.mongo.Source", {"collection": STRING, "ord": INT64})
ENVELOPE = struct_schema(
    "t.d.c.Envelope",
    {
        "before": OPTIONAL_STRING,
        "after": OPTIONAL_STRING,
        "updateDescription": UPDATE,
        "source": SOURCE,
        "op": OPTIONAL_STRING,
        "ts_ms": OPTIONAL_INT64,
    },
)


def change(op: str, after: str | None = None, before: str | None = None, update: Any = None, key: str = "1") -> Record:
    value = (before, after, update and Struct(UPDATE, update), Struct(SOURCE, ("c", 7)), op, 1000)
    return Record("t.d.c", Struct(KEY, (key,)), Struct(ENVELOPE, value))


def unwrap(**options: Any) -> ExtractNewDocumentState:
    named = {name.replace("_", "."): value for name, value in options.items()}
    return ExtractNewDocumentState(ExtractNewDocumentStateConfig.load(named, "transform")[0])


def document(record: Record | None) -> dict[str, Any]:
    assert record is not None
    assert isinstance(record.value, Struct)
    return record.value.to_dict()


def test_what_debezium_cannot_convert_has_a_result() -> None:
    text = (
        '{"_id": 1,"code": {"$code": "x","$scope": {"a": 1}},"min": {"$minKey": 1},"max": {"$maxKey": 1},'
        '"nested": [[1,2],[3]],"mixed": [1,{"$numberLong": "2"},null,2.5]}'
    )
    assert document(unwrap().apply(change("c", text))) == {
        "_id": 1,
        "code": {"code": "x", "scope": {"a": 1}},
        "min": "MinKey",
        "max": "MaxKey",
        "nested": [[1, 2], [3]],
        "mixed": [1.0, 2.0, None, 2.5],
    }


def test_documents_of_an_array_share_the_fields_of_all() -> None:
    found = document(unwrap().apply(change("c", '{"a": [{"x": 1,"in": {"p": 1}},{"y": "z","in": {"q": 2}}]}')))
    assert found == {
        "a": [
            {"x": 1, "in": {"p": 1, "q": None}, "y": None},
            {"x": None, "in": {"p": None, "q": 2}, "y": "z"},
        ]
    }


def test_an_array_of_different_types_needs_the_other_encoding() -> None:
    with pytest.raises(TransformError, match=r"t\.d\.c\.a holds values of different types .*array\.encoding=document"):
        unwrap().apply(change("c", '{"a": [1,"x"]}'))
    found = document(unwrap(array_encoding="document").apply(change("c", '{"a": [1,"x"]}')))
    assert found == {"a": {"_0": 1, "_1": "x"}}


def test_nested_documents_are_flattened() -> None:
    transform = unwrap(flatten_struct=True, flatten_struct_delimiter="-", delete_tombstone_handling_mode="rewrite")
    assert document(transform.apply(change("c", '{"a": {"b": {"c": 1},"d": [{"e": 1}]},"f": {}}'))) == {
        "a-b-c": 1,
        "a-d": [{"e": 1}],
        "__deleted": False,
    }
    updated = transform.apply(change("u", update=(["gone"], '{"a.b": 1, "gone": 2}')))
    assert document(updated) == {"a-b": 1, "_id": 1, "__deleted": False}


def test_deletes() -> None:
    delete = change("d", before='{"_id": 1,"x": 2}')
    bare = change("d", key='{"$oid": "5f1a2b3c4d5e6f7081920a1b"}')
    tombstone = Record("t.d.c", Struct(KEY, ("1",)), None)
    assert document(unwrap(delete_tombstone_handling_mode="rewrite").apply(delete))["x"] == 2
    with_id = unwrap(
        delete_tombstone_handling_mode="rewrite-with-tombstone",
        **{"delete.tombstone.handling.mode.rewrite-with-id": True},
    )
    assert document(with_id.apply(bare)) == {"__deleted": True, "_id": "5f1a2b3c4d5e6f7081920a1b"}
    kept = with_id.apply(tombstone)
    assert kept is not None
    assert isinstance(kept.key, Struct)
    assert (kept.key.to_dict(), kept.value) == ({"id": 1}, None)
    assert unwrap(delete_tombstone_handling_mode="drop").apply(delete) is None
    made = unwrap().apply(delete)
    assert made is not None
    assert made.value is None
    assert unwrap().apply(tombstone) is None


def test_envelope_fields_and_headers() -> None:
    transform = unwrap(add_fields="op,source.ord:n,updateDescription.updatedFields:what", add_headers="ts_ms")
    made = transform.apply(change("u", '{"_id": 1}', update=(None, '{"x": 1}')))
    assert document(made) == {"_id": 1, "__op": "u", "__n": 7, "__what": '{"x": 1}'}
    assert made is not None
    assert [(header.key, header.value) for header in made.headers] == [("__ts_ms", 1000)]


def test_what_is_no_change_of_a_document_passes() -> None:
    other = Record("t.transaction", Struct(struct_schema("x.TransactionMetadataKey", {"id": STRING}), ("1",)), None)
    assert unwrap().apply(other) is other


def test_snapshot_events_become_inserts() -> None:
    made = ReadToInsertEvent(ReadToInsertEventConfig()).apply(change("r", "{}"))
    assert isinstance(made.value, Struct)
    assert made.value["op"] == "c"


def test_an_outbox_payload_is_text_or_struct() -> None:
    text = (
        '{"_id": "e1","aggregateid": "k","aggregatetype": "Order",'
        '"payload": {"id": 1,"n": {"$numberLong": "5"}},"x": 2}'
    )
    placed = {"collection.fields.additional.placement": "x:header:y"}
    plain = MongoEventRouter(MongoEventRouterConfig.load(placed, "transform")[0]).apply(change("c", text))
    assert plain is not None
    assert plain.value is not None
    assert not isinstance(plain.value, Struct)
    assert json.loads(plain.value.value) == {"id": {"$numberInt": "1"}, "n": {"$numberLong": "5"}}
    assert (plain.topic, [(header.key, header.value) for header in plain.headers]) == (
        "outbox.event.Order",
        [("id", "e1"), ("y", 2)],
    )
    expands = {"collection.expand.json.payload": "true"}
    router = MongoEventRouter(MongoEventRouterConfig.load(expands, "transform")[0])
    assert document(router.apply(change("c", text))) == {"id": 1, "n": 5}
    assert router.apply(change("d")) is None
    with pytest.raises(TransformError, match="aggregateid"):
        router.apply(change("c", '{"_id": 1,"aggregatetype": "a","payload": "x"}'))
