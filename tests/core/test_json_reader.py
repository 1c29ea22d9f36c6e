"""What JsonConverter wrote is read back into schemas, structs and records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.record import Header, Record, SchemaAndValue
from cdckit.api.struct import Struct
from cdckit.connector.connect_json.reader import JsonReader, read_records
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.errors import DecodeError

RECORDED = Path(__file__).parents[1] / "transforms" / "recordings" / "input.jsonl"


def typed(schema: dict[str, Any], payload: Any) -> dict[str, Any]:
    return {"schema": schema, "payload": payload}


def row(**fields: dict[str, Any]) -> dict[str, Any]:
    members = [{"optional": True, "field": name, **schema} for name, schema in fields.items()]
    return {"type": "struct", "fields": members, "optional": False, "name": "row"}


def read(schema: dict[str, Any], payload: Any) -> Any:
    datum = JsonReader().datum(typed(schema, payload))
    return datum.value if isinstance(datum, SchemaAndValue) else datum


def written(record: Record) -> dict[str, Any]:
    options = {"schemas.enable": True, "replace.null.with.default": False, "header.format": "json"}
    messages = JsonSerializer(JsonConfig.model_validate(options)).serialize([record])
    headers = [{"key": name, "value": text and json.loads(text)} for name, text in messages.headers[0]]
    parts = {"key": messages.keys[0], "value": messages.values[0]}
    return {
        "topic": record.topic,
        **{name: text and json.loads(text) for name, text in parts.items()},
        "headers": headers,
    }


def test_recorded_events_are_written_again_as_they_were_read() -> None:
    lines = RECORDED.read_text().splitlines()
    records = list(read_records(lines))
    assert len(records) == len(lines) > 40
    for line, record in zip(lines, records, strict=True):
        event = json.loads(line)
        if event["key"] == {"schema": None, "payload": None}:
            event["key"] = None
        assert written(record) == event


def test_schemas_written_alike_become_one_schema() -> None:
    reader = JsonReader()
    first, second = (reader.datum(typed(row(a={"type": "int32"}), {"a": n})) for n in (1, 2))
    assert isinstance(first, Struct)
    assert isinstance(second, Struct)
    assert first.schema is second.schema
    assert (first["a"], second["a"]) == (1, 2)


@pytest.mark.parametrize(
    ("schema", "payload", "value"),
    [
        ({"type": "int64"}, 2**63 - 1, 2**63 - 1),
        ({"type": "double"}, 1, 1.0),
        ({"type": "float"}, "-Infinity", float("-inf")),
        ({"type": "boolean"}, True, True),
        ({"type": "bytes"}, "AP8=", b"\x00\xff"),
        ({"type": "array", "items": {"type": "string", "optional": True}}, ["a", None], ["a", None]),
        ({"type": "map", "keys": {"type": "string"}, "values": {"type": "int8"}}, {"a": 1}, {"a": 1}),
        ({"type": "map", "keys": {"type": "int32"}, "values": {"type": "int8"}}, [[5, 1]], {5: 1}),
    ],
)
def test_a_value_becomes_one_of_its_schemas_type(schema: dict[str, Any], payload: Any, value: Any) -> None:
    made = read(schema, payload)
    assert made == value
    assert type(made) is type(value)


@pytest.mark.parametrize(
    ("payload", "unscaled"), [("AN4=", 222), (2.22, 222), (-1.28, -128), (0, 0), ("/w==", -1), (1.5, 150)]
)
def test_a_decimal_is_the_bytes_of_its_unscaled_integer(payload: Any, unscaled: int) -> None:
    schema = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
    made = read(schema, payload)
    assert int.from_bytes(made, "big", signed=True) == unscaled


def test_a_null_stays_null_where_it_may_and_is_the_default_where_it_may_not() -> None:
    schema = row(
        may={"type": "int32", "default": 7},
        must={"type": "int32", "default": 8, "optional": False},
        gone={"type": "bytes", "default": "AQ=="},
    )
    made = read(schema, {"may": None, "must": None})
    assert made.values == (None, 8, None)
    assert made.schema.field("gone").schema.default == b"\x01"


def test_without_a_schema_a_document_stays_what_it_is() -> None:
    reader = JsonReader()
    assert reader.datum({"a": [1, {"b": None}]}) == SchemaAndValue(None, {"a": [1, {"b": None}]})
    assert reader.datum(None) is None
    assert reader.datum(typed({"type": "int32"}, None)) is not None
    assert reader.header("h", "text") == Header("h", "text", None)


def test_a_line_is_a_whole_record() -> None:
    line = {
        "topic": "t",
        "partition": 3,
        "key": {"id": 1},
        "value": None,
        "headers": [
            {"key": "op", "value": typed({"type": "string", "optional": True}, "d")},
            {"key": "__cdckit.position", "value": "0001"},
        ],
        "timestamp": 5,
    }
    record = JsonReader().record(line)
    assert (record.topic, record.partition, record.timestamp, record.position) == ("t", 3, 5, "0001")
    assert (record.key, record.value) == (SchemaAndValue(None, {"id": 1}), None)
    assert [(header.key, header.value) for header in record.headers] == [("op", "d")]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2: unexpected"),
        ("[]", "line 2: an event is a JSON object"),
        ("{}", "line 2: an event is a JSON object with a 'topic'"),
        ({"value": typed({"type": "int31"}, 1)}, "line 2: value: schema: 'int31' is missing or unknown"),
        ({"value": typed(row(a={"type": "int32"}), {"a": "1"})}, "value: a: is '1', no integer"),
        ({"key": typed(row(a=row(b={"type": "bytes"})), {"a": {"b": "?"}})}, "key: a.b: is no base64"),
        ({"key": typed(row(a={"type": "string", "optional": False}), {})}, "key: a: is null"),
        ({"value": typed(row(a={"type": "boolean"}), [])}, "value: payload: is no JSON object"),
        ({"headers": [{"value": 1}]}, "headers: 'key' is missing"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line_and_place(line: Any, said: str) -> None:
    text = line if isinstance(line, str) else json.dumps({"topic": "t", **line})
    with pytest.raises(DecodeError) as failed:
        list(read_records(["", text]))
    assert said in str(failed.value)
