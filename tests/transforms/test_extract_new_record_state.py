"""ExtractNewRecordState where Debezium's recorded answers say nothing: old options, faults, values without schemas."""

from __future__ import annotations

from typing import Any

import pytest

from cdckit.api.record import Header, Record, SchemaAndValue
from cdckit.api.schema import STRING, Schema, array_schema, struct_schema
from cdckit.api.struct import Struct
from cdckit.engine.chain import build_chain
from cdckit.errors import ConfigError, TransformError
from transforms.change_events import HEADERS, TOPIC, applied, apply, change, members, plain, tombstone

UNWRAP = "ExtractNewRecordState"
ROW = (1, "Graz", None)
PLAIN_ROW = {"id": 1, "city": "Graz", "status": None}


def unwrapped(record: Record, **options: Any) -> Record:
    return applied(record, UNWRAP, {name.replace("_", "."): value for name, value in options.items()})


@pytest.mark.parametrize(
    ("options", "deleted", "keeps_tombstones"),
    [
        ({"delete.handling.mode": "drop", "drop.tombstones": "true"}, "dropped", False),
        ({"delete.handling.mode": "drop", "drop.tombstones": "false"}, "dropped", True),
        ({"delete.handling.mode": "none"}, "null", False),
        ({"delete.handling.mode": "rewrite", "drop.tombstones": "false"}, "row", True),
        ({"drop.tombstones": "false"}, "dropped", True),
        ({"delete.tombstone.handling.mode": " Delete-To-Tombstone "}, "tombstone", False),
        ({}, "null", False),
    ],
)
@pytest.mark.parametrize("with_schema", [True, False])
def test_deletes_and_tombstones(
    options: dict[str, str], deleted: str, keeps_tombstones: bool, with_schema: bool
) -> None:
    delete = change("d", before=ROW)
    made = apply(delete if with_schema else plain(delete), UNWRAP, options)
    if deleted == "dropped":
        assert made is None
    elif deleted == "row":
        assert made is not None
        assert members(made)["__deleted"] == "true"
    else:
        assert made is not None
        has_schema = deleted == "null" and with_schema
        assert isinstance(made.value, SchemaAndValue) if has_schema else made.value is None
        assert members(made) is None
    assert (apply(tombstone(), UNWRAP, options) is not None) == keeps_tombstones


def test_old_and_new_options_together_are_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        unwrapped(change("c", after=ROW), delete_tombstone_handling_mode="drop", drop_tombstones=True)
    assert "transforms.0: drop.tombstones say the same as delete.tombstone.handling.mode" in str(refused.value)


def test_a_null_value_with_a_schema_is_a_tombstone() -> None:
    null = tombstone().replace(value=SchemaAndValue(Schema("string", optional=True), None))
    assert apply(null, UNWRAP, {}) is None
    assert apply(null, UNWRAP, {"delete.tombstone.handling.mode": "rewrite-with-tombstone"}) is null


@pytest.mark.parametrize("with_schema", [True, False])
def test_a_truncate_has_no_row_and_is_left_out(with_schema: bool) -> None:
    truncate = change("t")
    assert apply(truncate if with_schema else plain(truncate), UNWRAP, {}) is None


def test_everything_but_the_value_stays() -> None:
    given = change("c", after=ROW)
    made = unwrapped(given)
    assert (made.topic, made.key, made.headers) == (TOPIC, given.key, HEADERS)
    assert (made.position, made.timestamp, made.partition) == ("0001", 9, 3)
    assert members(given)["after"] == PLAIN_ROW


def test_rows_of_one_table_share_one_schema() -> None:
    chain = build_chain([{"type": UNWRAP, "add.fields": "op"}], {})
    first, second = chain.apply([change("c", after=ROW), change("u", before=ROW, after=ROW)])
    assert isinstance(first.value, Struct)
    assert isinstance(second.value, Struct)
    assert first.value.schema is second.value.schema
    assert not first.value.schema.optional
    assert (first.value["__op"], second.value["__op"]) == ("c", "u")


def test_equal_headers_are_one_tuple() -> None:
    chain = build_chain([{"type": UNWRAP, "add.headers": "op,table"}], {})
    given = [change("c", after=ROW), change("c", after=ROW), change("u", before=ROW, after=ROW)]
    first, second, third = (record.headers for record in chain.apply(given))
    assert first is second
    assert [(header.key, header.value) for header in third[1:]] == [("__op", "u"), ("__table", "orders_1")]


@pytest.mark.parametrize("references", ["op, source.ts_ms:TIME", ["op", "source.ts_ms:TIME"]])
@pytest.mark.parametrize("with_schema", [True, False])
def test_fields_are_added_in_their_order(references: Any, with_schema: bool) -> None:
    record = change("c", after=ROW)
    made = unwrapped(record if with_schema else plain(record), add_fields=references)
    assert list(members(made).items()) == [*PLAIN_ROW.items(), ("__op", "c"), ("__TIME", 7)]


def test_without_a_schema_what_an_event_lacks_is_left_out() -> None:
    made = unwrapped(plain(change("c", after=ROW)), add_fields="nothing,source.nothing,total_order", add_headers="db")
    assert members(made) == {**PLAIN_ROW, "__total_order": None}
    assert made.headers == HEADERS


def test_without_a_schema_values_that_are_no_envelopes_pass() -> None:
    for value in ({"op": "c", "after": {}}, {"ddl": "CREATE …"}, [1], "text"):
        record = Record(TOPIC, None, SchemaAndValue(None, value))
        assert apply(record, UNWRAP, {}) is record


@pytest.mark.parametrize("reference", ["a.b.c", "a:b:c", ":b", "a:", "."])
def test_a_reference_of_another_form_is_refused(reference: str) -> None:
    with pytest.raises(ConfigError) as refused:
        unwrapped(change("c", after=ROW), add_fields=f"op,{reference}")
    assert f"transforms.0.add.fields: '{reference}' should be field, struct.field" in str(refused.value)


def test_a_field_that_is_there_already_is_not_added_again() -> None:
    with pytest.raises(TransformError) as failed:
        unwrapped(change("c", after=ROW), add_fields="op:id", add_fields_prefix="")
    assert "has a field 'id' already" in str(failed.value)


@pytest.mark.parametrize(("city", "topic"), [("Graz", "Graz"), ("  ", TOPIC), (None, TOPIC)])
@pytest.mark.parametrize("with_schema", [True, False])
def test_the_topic_can_be_a_field_of_the_row(city: str | None, topic: str, with_schema: bool) -> None:
    for record in (change("c", after=(1, city, None)), change("d", before=(1, city, None))):
        given = record if with_schema else plain(record)
        assert unwrapped(given, route_by_field="city").topic == topic


@pytest.mark.parametrize(("field", "said"), [("town", "no field 'town'"), ("id", "is int32, no text")])
def test_a_topic_that_is_no_text_stops_the_pipeline(field: str, said: str) -> None:
    with pytest.raises(TransformError) as failed:
        unwrapped(change("c", after=ROW), route_by_field=field)
    assert said in str(failed.value)


def dropping(*names: str) -> tuple[Header, ...]:
    return (*HEADERS, Header("gone", list(names), array_schema(STRING)))


def test_fields_that_a_header_names_are_dropped_without_a_schema() -> None:
    options = {
        "drop.fields.header.name": "gone",
        "drop.fields.from.key": True,
        "delete.tombstone.handling.mode": "rewrite",
    }
    for record in (change("c", after=ROW), change("d", before=ROW)):
        made = applied(plain(record.replace(headers=dropping("city", "id"))), UNWRAP, options)
        assert members(made).keys() == {"status", "__deleted"}
        assert made.key == SchemaAndValue(None, {})


def test_a_header_of_fields_to_drop_must_hold_a_list() -> None:
    record = change("c", after=ROW, headers=(Header("gone", "city,id"),))
    with pytest.raises(TransformError) as failed:
        unwrapped(record, drop_fields_header_name="gone")
    assert "header 'gone' should hold a list of field names, not 'city,id'" in str(failed.value)


def test_a_document_in_place_of_a_row_is_refused() -> None:
    text = Schema("string", optional=True)
    schema = struct_schema("m.db.c.Envelope", {"before": text, "after": text, "op": STRING})
    record = Record("m.db.c", None, Struct(schema, (None, "{}", "c")))
    with pytest.raises(TransformError) as failed:
        unwrapped(record)
    assert "use ExtractNewDocumentState" in str(failed.value)
