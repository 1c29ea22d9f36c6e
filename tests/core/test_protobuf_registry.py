"""Protobuf with a real registry: what is registered, what is refused; read by Confluent's own class."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdckit import logical
from cdckit.api.plugins import config_model, find, make
from cdckit.api.record import Record, SchemaAndValue
from cdckit.api.schema import BOOLEAN, INT32, STRING, struct_schema
from cdckit.api.struct import Struct
from cdckit.engine.serializers.protobuf.serializer import ProtobufSerializer
from cdckit.errors import SinkError, TransformError
from core.java_converters import JavaConverter, JavaData, jpype
from core.test_avro_registry import keep_compatible
from core.test_protobuf import data  # noqa: F401 - a fixture
from testkit.servers.schema_registry import SchemaRegistry

KEY = struct_schema("pb.shop.t.Key", {"id": INT32})
ROW = struct_schema(
    "pb.shop.t.Value",
    {
        "id": INT32,
        "name": STRING.as_optional(),
        "price": logical.decimal(2, 8),
        "day": logical.CONNECT_DATE.as_optional(),
        "at": logical.CONNECT_TIMESTAMP.as_optional(),
    },
)
VALUE = Struct(ROW, (7, "Zoë", b"\x09\xc4", 19_000, None))


def serializer(url: str, **options: Any) -> ProtobufSerializer:
    registration = find("serializer", "io.confluent.connect.protobuf.ProtobufConverter")
    config, _ = config_model(registration).load({"schema.registry.url": url, **options}, "serializer")
    made: ProtobufSerializer = make(registration, config)
    return made


def record(topic: str, value: Any = VALUE) -> Record:
    return Record(topic, Struct(KEY, (7,)), value)


@pytest.mark.parametrize("options", [{}, {"optional.for.nullables": "true"}, {"wrapper.for.nullables": "true"}])
def test_what_is_written_is_read_by_confluents_converter(
    data: JavaData,  # noqa: F811 - the fixture
    schema_registry: SchemaRegistry,
    unique_name: str,
    options: dict[str, str],
) -> None:
    messages = serializer(schema_registry.url, **options).serialize([record(unique_name)])
    name, given = "io.confluent.connect.protobuf.ProtobufConverter", {"schema.registry.url": schema_registry.url}
    parts = {"key": messages.keys[0], "value": messages.values[0]}
    read = {
        part: JavaConverter(data, name, given | options, key=part == "key").java.toConnectData(
            unique_name, jpype.JArray(jpype.JByte)(written)
        )
        for part, written in parts.items()
    }
    assert {part: str(one.schema().name()) for part, one in read.items()} == {"key": "Key", "value": "Value"}
    row = read["value"].value()
    assert [str(row.get(one)) for one in ("id", "name", "price")] == ["7", "Zoë", "25.00"]
    assert (int(row.get("day").getTime()), row.get("at")) == (19_000 * 86_400_000, None)
    assert str(read["key"].value().get("id")) == "7"


@pytest.mark.parametrize(
    ("strategy", "subject", "plain"),
    [
        ("topic", "{}-value", "{}-value"),
        ("io.confluent.kafka.serializers.subject.RecordNameStrategy", "pb.shop.t.Value", "google.protobuf.StringValue"),
        ("topic.record", "{}-pb.shop.t.Value", "{}-google.protobuf.StringValue"),
    ],
)
def test_subjects(schema_registry: SchemaRegistry, unique_name: str, strategy: str, subject: str, plain: str) -> None:
    made = serializer(schema_registry.url, **{"value.subject.name.strategy": strategy})
    values: list[Any] = [VALUE, SchemaAndValue(STRING, "x")]
    for value, expected in zip(values, (subject, plain), strict=True):
        topic = f"{unique_name}-{value.schema.type}"
        made.values([record(topic, value)])
        found = json.loads(schema_registry.get(f"/subjects/{expected.format(topic)}/versions/latest"))
        assert (found["schemaType"], found["version"]) == ("PROTOBUF", 1)


LOOKED_UP = {"auto.register.schemas": False}
LATEST = {**LOOKED_UP, "use.latest.version": True}


@pytest.mark.parametrize("options", [LOOKED_UP, LATEST])
def test_a_schema_must_be_there_where_none_is_registered(
    schema_registry: SchemaRegistry, unique_name: str, options: dict[str, Any]
) -> None:
    made = serializer(schema_registry.url, **options)
    said = rf"does not have the schema under the subject {unique_name}-value .*auto\.register\.schemas=true"
    with pytest.raises(SinkError, match=said):
        made.values([record(unique_name)])
    there = serializer(schema_registry.url).values([record(unique_name)])
    assert made.values([record(unique_name)]) == there


def test_a_latest_version_that_is_another(schema_registry: SchemaRegistry, unique_name: str) -> None:
    serializer(schema_registry.url).values([record(unique_name)])
    other = struct_schema("pb.shop.t.Value", {"id": STRING})
    with pytest.raises(
        TransformError, match=rf"topic {unique_name}, .* \(id: string id cannot be read as the .* int32 id"
    ):
        serializer(schema_registry.url, **LATEST).values([record(unique_name, Struct(other, ("7",)))])


def test_a_latest_version_that_reads_the_record(schema_registry: SchemaRegistry, unique_name: str) -> None:
    """It has a field more, and its message stands behind another one."""
    serializer(schema_registry.url).values([record(unique_name)])
    text = json.loads(schema_registry.get(f"/subjects/{unique_name}-value/versions/latest"))["schema"]
    more = text.replace("message Value {", "message Other { }\nmessage Value { int32 age = 9; ")
    body = json.dumps({"schema": more, "schemaType": "PROTOBUF"}).encode()
    number = json.loads(schema_registry.get(f"/subjects/{unique_name}-value/versions", body))["id"]
    [before], [written] = (
        serializer(schema_registry.url, **options).values([record(unique_name)]) for options in ({}, LATEST)
    )
    assert before is not None
    assert written == b"\0" + number.to_bytes(4, "big") + b"\2\2" + before[6:]


def test_an_incompatible_schema_is_refused_by_name(schema_registry: SchemaRegistry, unique_name: str) -> None:
    made = serializer(schema_registry.url)
    made.values([record(unique_name)])
    keep_compatible(schema_registry, f"{unique_name}-value")
    inner = struct_schema("pb.In", {"flag": BOOLEAN})
    other = struct_schema("pb.shop.t.Value", {"id": STRING, "price": logical.decimal(2, 8), "in": inner})
    said = (
        rf"does not take the schema for the subject {unique_name}-value, which does not fit version 1: "
        r"id: was int32 = 1, is string = 1; price: was confluent\.type\.Decimal = 3, is confluent\.type\.Decimal = 2; "
        r"in: is new, In = 3; In\.flag: is new, bool = 1; name: is gone, was string = 2; day: .* it says: "
    )
    with pytest.raises(SinkError, match=said):
        made.values([record(unique_name, Struct(other, ("7", b"\1", Struct(inner, (True,)))))])
