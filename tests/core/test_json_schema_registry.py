"""JSON Schema with a real registry: what is registered, what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft7Validator

from cdckit.api.plugins import config_model, find, make
from cdckit.api.record import Record, SchemaAndValue
from cdckit.api.schema import FLOAT64, INT32, STRING, array_schema, struct_schema
from cdckit.api.struct import Struct
from cdckit.engine.serializers.json_schema.serializer import JsonSchemaSerializer
from cdckit.errors import SinkError, TransformError
from core.test_avro_registry import keep_compatible
from core.test_json_schema_converter import recorded
from testkit.servers.schema_registry import SchemaRegistry

ROW = struct_schema("js.shop.t.Value", {"id": INT32, "name": STRING.as_optional(), "tags": array_schema(STRING)})
VALUE = Struct(ROW, (7, "Zoë", ["a"]))
DRAFT = {"$schema": "http://json-schema.org/draft-07/schema#"}
LATEST = {"auto.register.schemas": False, "use.latest.version": True}


def serializer(url: str, **options: Any) -> JsonSchemaSerializer:
    registration = find("serializer", "json-schema")
    config, _ = config_model(registration).load({"schema.registry.url": url, **options}, "serializer")
    made: JsonSchemaSerializer = make(registration, config)
    return made


def test_what_is_written_fits_the_schema_that_is_registered(schema_registry: SchemaRegistry, unique_name: str) -> None:
    """Held to it by a validator of JSON Schema."""
    made = serializer(schema_registry.url)
    compared = 0
    for part, record in recorded("mysql97-mysql-3.6.3/smt-unwrap"):
        if part == "value" and record.value is not None:
            [written] = made.values([Record(f"{unique_name}.{record.topic}", None, record.value)])
            assert written is not None
            schema = json.loads(schema_registry.get(f"/schemas/ids/{int.from_bytes(written[1:5], 'big')}"))["schema"]
            Draft7Validator(json.loads(schema)).validate(json.loads(written[5:]))
            compared += 1
    assert compared > 20


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [("topic", "{}-value"), ("record", "js.shop.t.Value"), ("topic.record", "{}-js.shop.t.Value")],
)
def test_subjects(schema_registry: SchemaRegistry, unique_name: str, strategy: str, subject: str) -> None:
    made = serializer(schema_registry.url, **{"value.subject.name.strategy": strategy})
    made.values([Record(unique_name, None, VALUE)])
    found = json.loads(schema_registry.get(f"/subjects/{subject.format(unique_name)}/versions/latest"))
    assert (found["schemaType"], json.loads(found["schema"])["title"]) == ("JSON", "js.shop.t.Value")
    if strategy != "topic":
        with pytest.raises(TransformError, match="its schema has no title"):
            made.values([Record(unique_name, None, SchemaAndValue(STRING, "x"))])


def test_a_schema_must_be_there_where_none_is_registered(schema_registry: SchemaRegistry, unique_name: str) -> None:
    made = serializer(schema_registry.url, **{"auto.register.schemas": False})
    record = Record(unique_name, None, VALUE)
    with pytest.raises(SinkError, match=rf"does not have the schema under the subject {unique_name}-value"):
        made.values([record])
    there = serializer(schema_registry.url).values([record])
    assert made.values([record]) == there


def test_the_latest_version_names_the_messages(schema_registry: SchemaRegistry, unique_name: str) -> None:
    """One that the record fits, through a reference to another subject's schema, or through one to its own parts."""
    schema_registry.register(f"{unique_name}-names", {**DRAFT, "oneOf": [{"type": "null"}, {"type": "string"}]}, "JSON")
    properties = {"id": {"type": "number"}, "name": {"$ref": "names.json"}, "tags": {"$ref": "#/definitions/tags"}}
    latest = {
        **DRAFT, "type": "object", "additionalProperties": False, "required": ["id"], "properties": properties,
        "definitions": {"tags": {"type": ["array", "null"], "items": {"type": "string"}}},
    }  # fmt: skip
    named = {"name": "names.json", "subject": f"{unique_name}-names", "version": 1}
    number = schema_registry.register(f"{unique_name}-value", latest, "JSON", [named])
    [written] = serializer(schema_registry.url, **LATEST).values([Record(unique_name, None, VALUE)])
    assert written == b"\0" + number.to_bytes(4, "big") + '{"id":7,"name":"Zoë","tags":["a"]}'.encode()


@pytest.mark.parametrize(
    ("latest", "said"),
    [
        ({"properties": {"id": {"type": "string"}}}, "id: integer cannot be written as the registered string"),
        ({"properties": {"name": {"type": "string"}}}, "name: null cannot be written as the registered string"),
        ({"properties": {"tags": {"items": {"type": "integer"}, "type": "array"}}}, "tags: string cannot be written"),
        ({"properties": {}, "additionalProperties": False}, "name: the registered schema has no such field"),
        ({"required": ["id", "other"]}, "other: the registered schema wants this field"),
    ],
)
def test_a_latest_version_that_does_not_fit(
    schema_registry: SchemaRegistry, unique_name: str, latest: dict[str, Any], said: str
) -> None:
    number = schema_registry.register(f"{unique_name}-value", {**DRAFT, "type": "object", **latest}, "JSON")
    record = Record(unique_name, None, VALUE)
    with pytest.raises(TransformError, match=rf"topic {unique_name}, .*{said}.*latest\.compatibility\.strict=false"):
        serializer(schema_registry.url, **LATEST).values([record])
    [written] = serializer(schema_registry.url, **LATEST, **{"latest.compatibility.strict": False}).values([record])
    assert written is not None
    assert int.from_bytes(written[1:5], "big") == number


def test_defaults_that_json_does_not_have(schema_registry: SchemaRegistry, unique_name: str) -> None:
    schema = struct_schema("V", {"f": FLOAT64.replace(default=float("nan"))})
    with pytest.raises(TransformError, match="a default NaN cannot be written in JSON"):
        serializer(schema_registry.url).values([Record(unique_name, None, Struct(schema, (1.0,)))])


def test_an_incompatible_schema_is_refused_by_name(schema_registry: SchemaRegistry, unique_name: str) -> None:
    made = serializer(schema_registry.url)
    made.values([Record(unique_name, None, VALUE)])
    keep_compatible(schema_registry, f"{unique_name}-value")
    other = struct_schema("js.shop.t.Value", {"id": STRING, "name": STRING.as_optional(), "tags": array_schema(INT32)})
    said = (
        rf"does not take the schema for the subject {unique_name}-value, which does not fit version 1: "
        r"id: was integer \(int32\), is string; tags: was array of string, is array of integer \(int32\); it says: .+"
    )
    with pytest.raises(SinkError, match=said):
        made.values([Record(unique_name, None, Struct(other, ("7", None, [1])))])
