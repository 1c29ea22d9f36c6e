"""What holds for each of Kafka Connect's transforms, whatever the record: it is not changed, and what is made fits."""

from __future__ import annotations

import json
from io import BytesIO
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as some

from cdckit.api.record import UNAVAILABLE_HEADER, Header, Record, SchemaAndValue
from cdckit.api.schema import INT32, STRING, Schema, struct_schema
from cdckit.api.struct import Struct
from cdckit.connector.connect_json.reader import read_records
from cdckit.engine.chain import build_chain
from cdckit.errors import ConfigError, TransformError
from cdckit.logical import POINT
from transforms.change_events import TOPIC, applied, change, members, plain, tombstone
from transforms.fitting import fitting
from transforms.kafka_options import OF_PARTS, OF_RECORDS, options
from transforms.random_records import event
from transforms.recorded import written

NAMES = [*OF_RECORDS, *(f"{name}{part}" for name in OF_PARTS for part in ("", "$Key"))]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30)
@given(random=some.randoms(use_true_random=False))
def test_what_it_makes_fits_its_schema_and_what_it_is_given_stays(name: str, random: Random) -> None:
    try:
        chain = build_chain([{"type": name, **options(name.partition("$")[0], random)}], {})
    except ConfigError:
        return
    (record,) = read_records(BytesIO(json.dumps(event(random)).encode()))
    before = written(record)
    try:
        first = chain.apply([record])
        again = chain.apply([record])
    except TransformError as error:
        assert str(error).startswith(f"transform '{name}' failed on a record of topic {record.topic}")
        return
    finally:
        assert written(record) == before
    assert all(fitting(made) and made.position == record.position for made in first)
    assert [_text_of(made) for made in first] == [_text_of(made) for made in again]


def _text_of(made: Record) -> Any:
    """The record, or the error of writing it: `replace.null.with.default: false` leaves nulls where none may be."""
    try:
        return written(made)
    except TransformError as error:
        return str(error)


ROW = struct_schema("r.Row", {"id": INT32, "name": STRING.as_optional()})


def row(name: str | None = "Ada") -> Record:
    return Record("t", None, Struct(ROW, (1, name)), timestamp=1_700_000_000_000)


def value_schema(record: Record) -> Schema:
    assert record.value is not None
    assert record.value.schema is not None
    return record.value.schema


@pytest.mark.parametrize(
    ("name", "given_options"),
    [
        ("Cast", {"spec": "id:string"}),
        ("Flatten", {}),
        ("HeaderFrom", {"fields": "name", "headers": "n", "operation": "move"}),
        ("HoistField", {"field": "row"}),
        ("InsertField", {"topic.field": "topic"}),
        ("ReplaceField", {"exclude": "name"}),
        ("SetSchemaMetadata", {"schema.name": "x"}),
        ("TimestampConverter", {"field": "name", "target.type": "Date", "format": "yyyy"}),
    ],
)
def test_records_of_one_schema_share_the_new_one(name: str, given_options: dict[str, Any]) -> None:
    chain = build_chain([{"type": name, **given_options}], {})
    first, second = chain.apply([row(None), row(None)])
    assert value_schema(first) is value_schema(second)
    assert value_schema(first) is not ROW


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"type": "ReplaceField", "renames": "name:b"}, "id,b,place"),
        ({"type": "Flatten", "delimiter": "_"}, "id,name,place_x,place_y,place_wkb,place_srid"),
    ],
)
def test_fields_without_their_values_are_told_of_as_they_are_called(options: dict[str, Any], told: str) -> None:
    """Else a mirror would take null for a value."""
    wide = struct_schema("r.Row", {"id": INT32, "name": STRING.as_optional(), "place": POINT.as_optional()})
    lacks, other = Header(UNAVAILABLE_HEADER, "id,name,place"), Header("x", "name")
    [changed] = build_chain([options], {}).apply([Record("t", None, Struct(wide, (1, None, None)), (lacks, other))])
    assert changed.headers == (lacks._replace(value=told), other)


@pytest.mark.parametrize(
    ("name", "given_options", "said"),
    [
        ("Cast", {"spec": "name:int8"}, "field 'name' cannot be cast to int8: 'Ada' is no whole number of 8 bits"),
        ("ExtractField", {"field": "town"}, "there is no field 'town' in the value (there are: id, name)"),
        ("ExtractField", {"field": "id.x", "field.syntax.version": "V2"}, "field 'id.x': int32 has no field 'x'"),
        ("HeaderFrom", {"fields": "x", "headers": "h", "operation": "copy"}, "there is no field 'x' in the value"),
        ("InsertField", {"topic.field": "id"}, "r.Row would have two fields called 'id'; rename one"),
        (
            "InsertField",
            {"partition.field": "p!"},
            "field 'p' is required, but the record has no value for it; write 'p?'",
        ),
        (
            "MaskField",
            {"fields": "id", "replacement": "x"},
            "field 'id' is int32, and the replacement is no such number",
        ),
        ("ReplaceField", {"renames": "id:name"}, "r.Row would have two fields called 'name'"),
        ("ReplaceField$Key", {"renames": "id:name"}, None),
        (
            "TimestampConverter",
            {"field": "name", "target.type": "unix", "format": "yyyy"},
            "field 'name' cannot be read as a moment: 'Ada' is not of the format yyyy: there is no number at place 1",
        ),
        ("TimestampConverter", {"field": "id", "target.type": "unix"}, "field 'id' is int32, which is no timestamp"),
        ("TimestampConverter", {"target.type": "unix"}, "the value is a struct, and no moment; name the field (field)"),
        ("ValueToKey", {"fields": "id,town"}, "there is no field 'town' in the value (there are: id, name)"),
    ],
)
def test_a_failure_tells_the_transform_the_field_and_the_reason(
    name: str, given_options: dict[str, Any], said: str | None
) -> None:
    chain = build_chain([{"type": name, **given_options}], {})
    if said is None:
        assert chain.apply([row()])
        return
    with pytest.raises(TransformError) as failed:
        chain.apply([row()])
    assert str(failed.value).startswith(f"transform '{name}' failed on a record of topic t at position unknown: {said}")
    assert failed.value.exit_code == 6


@pytest.mark.parametrize("name", ["MaskField", "ValueToKey", "HeaderFrom"])
def test_a_tombstone_stops_those_that_need_fields(name: str) -> None:
    given_options = {"fields": "id", **({"headers": "h", "operation": "copy"} if name == "HeaderFrom" else {})}
    with pytest.raises(TransformError):
        applied(tombstone(), name, given_options)


@pytest.mark.parametrize(
    ("name", "given_options", "said"),
    [
        ("Cast", {"spec": "a:date"}, "transforms.0.spec: 'a:date' should be FIELD:TYPE"),
        ("Cast", {"spec": "int8,a:int8"}, "transforms.0.spec: should be pairs FIELD:TYPE"),
        ("DropHeaders", {"headers": ""}, "transforms.0.headers: should name at least one"),
        (
            "ExtractField",
            {"field": "`a", "field.syntax.version": "V2"},
            "the backtick at place 1 of '`a' is not closed",
        ),
        (
            "HeaderFrom",
            {"fields": "a,b", "headers": "h", "operation": "copy"},
            "fields and headers should be equally many",
        ),
        ("InsertField", {}, "give topic.field, partition.field, timestamp.field or static.field"),
        ("InsertField", {"static.field": "a"}, "static.field needs static.value"),
        (
            "InsertField",
            {"offset.field": "a"},
            "transforms.0.offset.field: a record has no offset before it is in Kafka",
        ),
        ("InsertHeader", {"header": "h", "value.literal": '[1, "a"]'}, "its members have no common type"),
        ("ReplaceField", {"renames": "a"}, "transforms.0.renames: 'a' should be two names with a colon between"),
        ("SetSchemaMetadata", {}, "give schema.name, schema.version or both"),
        ("TimestampConverter", {"target.type": "string"}, "target.type: string needs format"),
        ("TimestampRouter", {"timestamp.format": "yyyyb"}, "transforms.0.timestamp.format: 'b' means nothing"),
    ],
)
def test_wrong_options_are_refused_with_their_name(name: str, given_options: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        build_chain([{"type": name, **given_options}], {})
    assert said in str(refused.value)


@pytest.mark.parametrize("negate", [False, True])
def test_filter_drops_what_its_predicate_means(negate: bool) -> None:
    predicates = {"dead": {"type": "RecordIsTombstone"}}
    chain = build_chain([{"type": "Filter", "predicate": "dead", "negate": negate}], predicates)
    alive = change("c", after=(1, None, None))
    assert chain.apply([alive, tombstone()]) == [alive] if not negate else [tombstone()]


def test_blanks_around_an_option_do_not_count() -> None:
    made = applied(row(), "InsertField", {"static.field": " who ", "static.value": " me "})
    assert members(made) == {"id": 1, "name": "Ada", "who": "me"}


def test_a_delete_can_be_found_in_what_has_no_schema() -> None:
    made = applied(plain(change("u", (1, "Graz", None), (1, "Linz", None))), "ExtractField", {"field": "op"})
    assert made.value == SchemaAndValue(None, "u")


def test_a_member_that_a_map_lacks_is_a_tombstone() -> None:
    assert applied(plain(change("c", after=(1, None, None))), "ExtractField", {"field": "nothing"}).value is None


def test_the_short_name_means_the_value_and_the_key_has_its_own() -> None:
    record = change("c", after=(1, None, None))
    assert members(applied(record, "ExtractField", {"field": "op"})) == "c"
    assert applied(record, "ExtractField$Key", {"field": "id"}).key == SchemaAndValue(INT32, 1)
    assert record.topic == TOPIC


def test_a_header_that_is_null_and_has_no_schema_is_written_as_nothing() -> None:
    made = applied(row(), "InsertHeader", {"header": "h", "value.literal": "null"})
    found = written(made)
    assert found is not None
    assert found["headers"] == [{"key": "h", "value": None}]
