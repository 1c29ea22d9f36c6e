"""Debezium's smaller transforms where its classes fail, or say nothing."""

from __future__ import annotations

from struct import pack
from typing import Any

import pytest

from cdckit import logical
from cdckit.api.record import Header, Record
from cdckit.api.schema import BYTES, INT32, STRING, array_schema, struct_schema
from cdckit.api.struct import Struct
from cdckit.engine.chain import build_chain
from cdckit.errors import ConfigError, TransformError
from transforms.change_events import applied, change, members, plain, tombstone

MOVED = {"headers": "a,b", "fields": "a,transaction.b", "operation": "move"}
ROUTED = {"partition.payload.fields": "before.id,change.city", "partition.topic.num": 8}


def _with(*headers: Header) -> Record:
    return change("c", after=(1, None, None), headers=headers)


def test_each_record_gets_the_fields_of_its_own_headers() -> None:
    chain = build_chain([{"type": "HeaderToValue", **MOVED}], {})
    one, other = chain.apply([_with(Header("a", "x")), _with(Header("c", 0), Header("a", 7, INT32))])
    assert (members(one)["a"], members(other)["a"]) == ("x", 7)
    assert (one.headers, [header.key for header in other.headers]) == ((), ["c"])


def test_a_nested_struct_that_is_null_stays_null() -> None:
    made = applied(_with(Header("b", "x")), "HeaderToValue", MOVED)
    assert members(made)["transaction"] is None
    assert isinstance(made.value, Struct)
    assert made.value.schema.field("transaction").schema.optional
    assert made.value.schema.field("transaction").schema.field("b").schema is STRING


def test_a_field_that_is_not_there_is_made_at_any_depth() -> None:
    options = {"headers": "a", "fields": "x.y.z", "operation": "copy"}
    made = applied(_with(Header("a", "x")), "HeaderToValue", options)
    assert members(made)["x"] == {"y": {"z": "x"}}
    assert made.headers == (Header("a", "x"),)


@pytest.mark.parametrize(
    ("record", "fields", "said"),
    [
        (_with(Header("a", 1, None)), "a", "header 'a' has no schema, which a field needs"),
        (_with(Header("a", "x")), "op.x", "field 'op' is string, and no struct that 'x' could be in"),
        (plain(_with(Header("a", "x"))), "a", "headers become fields of a struct, but the value is none"),
    ],
)
def test_what_cannot_be_a_field_is_told(record: Record, fields: str, said: str) -> None:
    record = record.replace(headers=record.headers or (Header("a", "x"),))
    with pytest.raises(TransformError, match=said):
        applied(record, "HeaderToValue", {"headers": "a", "fields": fields, "operation": "copy"})


def test_what_is_no_struct_passes_without_its_headers() -> None:
    assert applied(tombstone(), "HeaderToValue", MOVED) is not None


def test_a_row_that_an_event_lacks_has_no_part_in_its_partition() -> None:
    inserted = applied(change("c", after=(1, "Graz", None)), "PartitionRouting", ROUTED)
    deleted = applied(change("d", before=(1, "Graz", None)), "PartitionRouting", ROUTED)
    (hashed,) = {inserted.partition}
    assert hashed is not None
    assert deleted.partition == (hashed + 1) % 8


def test_an_event_without_the_fields_keeps_its_partition() -> None:
    options = {"partition.payload.fields": "after.nothing,change", "partition.topic.num": 8}
    assert applied(change("c", after=(1, None, None)), "PartitionRouting", options).partition == 3


def test_a_field_that_has_no_hash_is_named() -> None:
    options = {"partition.payload.fields": "source", "partition.topic.num": 8}
    with pytest.raises(TransformError, match=r"field 'source' \(partition.payload.fields\): struct makes no partition"):
        applied(change("c", after=(1, None, None)), "PartitionRouting", options)


def test_texts_are_cut_by_their_share_of_what_is_too_much() -> None:
    options = {"max.bytes": 1100, "min.field.size": 10}
    given = change("u", before=(1, "a" * 300, "new"), after=(1, "b" * 900, "new"))
    made = members(applied(given, "EnforceRecordSize", options))
    before, after = len(made["before"]["city"]), len(made["after"]["city"])
    assert before < 300
    assert after == pytest.approx(3 * before, abs=3)
    assert made["after"]["status"] == "new"
    assert members(given)["after"]["city"] == "b" * 900


def test_a_decimal_is_not_cut() -> None:
    price = struct_schema("p.Value", {"price": logical.decimal(2), "note": BYTES}, optional=True)
    envelope = struct_schema("p.Envelope", {"after": price, "op": STRING})
    given = Record("p", None, Struct(envelope, (Struct(price, (b"\x01" * 90, b"\x02" * 90)), "c")))
    made = applied(given, "EnforceRecordSize", {"max.bytes": 300, "min.field.size": 10})
    assert isinstance(made.value, Struct)
    assert len(made.value["after"]["price"]) == 90
    assert len(made.value["after"]["note"]) < 90


def test_columns_whose_type_is_not_told_stop_it() -> None:
    with pytest.raises(
        TransformError, match=r"field 'id' does not tell .* set column.propagate.source.type=\.\* at the"
    ):
        applied(change("c", after=(1, None, None)), "ExtractSchemaToNewRecord", {})


def test_vectors_have_a_schema() -> None:
    with pytest.raises(TransformError, match="without a schema nothing in the value is known to be a vector"):
        applied(plain(change("c", after=(1, None, None))), "VectorToJsonConverter", {})


MOMENTS = struct_schema(
    "m.Value", {"at": logical.TIMESTAMP, "zoned": logical.ZONED_TIMESTAMP, "day": logical.DATE}, optional=True
)
CHANGED = struct_schema("m.Envelope", {"before": MOMENTS, "after": MOMENTS, "op": STRING})


def _moments(zoned: str = "2024-07-01T10:00:00.5Z") -> Record:
    return Record("m", None, Struct(CHANGED, (None, Struct(MOMENTS, (1_719_828_000_000, zoned, 7)), "c")))


def test_moments_are_told_in_the_zone_and_days_stay(caplog: pytest.LogCaptureFixture) -> None:
    made = members(applied(_moments(), "TimezoneConverter", {"converted.timezone": "Europe/Berlin"}))
    two_hours = 7_200_000
    assert made["after"] == {"at": 1_719_828_000_000 - two_hours, "zoned": "2024-07-01T12:00:00.5+02:00", "day": 7}
    assert [record.message for record in caplog.records] == [
        "m.Envelope: io.debezium.time.Date has no zone, field 'day' is left"
    ]


@pytest.mark.parametrize(
    ("rules", "changed"),
    [
        ({"include.list": "topic:other"}, set()),
        ({"include.list": "topic:m:zoned"}, {"zoned"}),
        ({"include.list": "topic:m:before.zoned, m:after.at"}, {"at"}),
        ({"exclude.list": "topic:m:zoned"}, {"at"}),
        ({"exclude.list": "topic:other, m"}, set()),
    ],
)
def test_rules_say_which_fields_are_meant(rules: dict[str, str], changed: set[str]) -> None:
    given = _moments()
    made = members(applied(given, "TimezoneConverter", {"converted.timezone": "+01:00", **rules}))["after"]
    before = members(given)["after"]
    assert {name for name in made if made[name] != before[name]} == changed


def test_a_text_that_is_no_moment_is_told_with_its_field() -> None:
    with pytest.raises(TransformError, match=r"field 'after.zoned' cannot be converted: 'today' is no moment"):
        applied(_moments("today"), "TimezoneConverter", {"converted.timezone": "+01:00"})


POINT = b"\x01\x01\x00\x00\x00" + pack("<2d", 1.5, 2.5)
PLACES = struct_schema("g.Value", {"place": logical.GEOMETRY.as_optional(), "places": array_schema(logical.GEOMETRY)})


def _places(wkb: bytes, srid: int | None) -> Record:
    place = Struct(logical.GEOMETRY, (wkb, srid))
    return Record("g", None, Struct(PLACES, (place, [place])))


def _shapes(record: Record) -> set[bytes]:
    found = members(record)
    return {found["place"]["wkb"], *(place["wkb"] for place in found["places"])}


def test_geometries_are_swapped_by_their_reference_system_in_lists_too() -> None:
    turned = POINT[:5] + pack("<2d", 2.5, 1.5)
    assert _shapes(applied(_places(POINT, 4326), "SwapGeometryCoordinates", {})) == {turned}
    assert _shapes(applied(_places(POINT, 4326), "SwapGeometryCoordinates", {"srids": "7"})) == {POINT}
    assert _shapes(applied(_places(POINT, None), "SwapGeometryCoordinates", {})) == {POINT}


def test_a_geometry_becomes_extended_and_plain_again() -> None:
    there = applied(_places(POINT, 4326), "GeometryFormatTransformer", {})
    assert _shapes(there) == {b"\x01\x01\x00\x00\x20" + pack("<i", 4326) + POINT[5:]}
    assert _shapes(applied(there, "GeometryFormatTransformer", {"format": "EWKB"})) == {POINT}
    assert _shapes(applied(_places(POINT, None), "GeometryFormatTransformer", {})) == {POINT}


@pytest.mark.parametrize("damaged", [POINT[:12], b"\x01\x63\x00\x00\x00", b"\x01"])
def test_what_is_no_geometry_is_told_with_its_field(damaged: bytes) -> None:
    with pytest.raises(TransformError, match="field 'place' holds no geometry"):
        applied(_places(damaged, 4326), "SwapGeometryCoordinates", {})


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("TimezoneConverter", {"converted.timezone": "Mars"}, "'Mars' is no time zone such as Europe/Berlin"),
        ("TimezoneConverter", {"converted.timezone": "+19:00"}, "'\\+19:00' is no offset: up to 18 hours are"),
        (
            "TimezoneConverter",
            {"converted.timezone": "Z", "include.list": "a"},
            "transforms.0.include.list: 'a' should",
        ),
        (
            "TimezoneConverter",
            {"converted.timezone": "UTC", "include.list": "a:b", "exclude.list": "a:c"},
            "give include.list or exclude.list, not both",
        ),
        ("SwapGeometryCoordinates", {"srids": "4326,x"}, "'x' is no number of a reference system"),
        ("HeaderToValue", {**MOVED, "fields": "a"}, "fields and headers should be equally many"),
        ("PartitionRouting", {**ROUTED, "partition.topic.num": 0}, "transforms.0.partition.topic.num"),
        (
            "SchemaChangeEventFilter",
            {"schema.change.event.exclude.list": "RENAME"},
            "transforms.0.schema.change.event.exclude.list: 'RENAME' is none of CREATE, ALTER",
        ),
    ],
)
def test_wrong_options_are_refused_with_their_name(name: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        build_chain([{"type": name, **options}], {})
