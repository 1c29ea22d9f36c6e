"""CloudEvents in binary mode: what an event says in its structured form, in headers and data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.plugins import config_model, find, make
from cdckit.api.record import Record
from cdckit.api.schema import STRING
from cdckit.api.serializer import Serializer
from cdckit.connector.connect_json.reader import read_records
from cdckit.engine.serializers.separate import SeparateSerializer
from cdckit.errors import ConfigError, TransformError
from core.test_cloudevents import event
from testkit.servers.schema_registry import SchemaRegistry

INPUT = Path(__file__).parent / "cloudevents" / "input.jsonl"
BINARY = {"content.mode": "binary"}


def serializer(**options: Any) -> Serializer:
    registration = find("serializer", "cloudevents")
    made: Serializer = make(registration, config_model(registration).load(options, "serializer")[0])
    return made


@pytest.mark.parametrize("options", [{}, {"json.schemas.enable": False}, {"extension.attributes.enable": False}])
def test_it_is_the_structured_event_in_two_parts(options: dict[str, Any]) -> None:
    records = list(read_records(INPUT.open("rb")))
    binary = serializer(**options, **BINARY).serialize(records)
    compared = 0
    for record, value, headers in zip(records, binary.values, binary.headers, strict=True):
        try:
            [whole] = serializer(**options).values([record])
        except TransformError:
            continue
        told = {name: text for name, text in headers if name == "content-type" or name.startswith("ce_")}
        if whole is None:
            assert (value, told) == (None, {})
            continue
        expected = json.loads(whole)
        assert value is not None
        assert json.loads(value) == expected.pop("data")
        assert told.pop("content-type") == expected.pop("datacontenttype").encode() == b"application/json"
        assert told == {f"ce_{name}": _text(one) for name, one in expected.items() if one is not None}
        compared += 1
    assert compared > 5


def _text(value: Any) -> bytes:
    return (str(value).lower() if isinstance(value, bool) else str(value)).encode()


def test_data_in_avro_are_the_value(schema_registry: SchemaRegistry, unique_name: str) -> None:
    avro = {"data.serializer.type": "avro", "avro.schema.registry.url": schema_registry.url}
    record = event().replace(topic=unique_name)
    made = serializer(**avro, **BINARY)
    messages = made.serialize([record])
    [value], headers = messages.values, dict(messages.headers[0])
    assert value is not None
    number = int.from_bytes(value[1:5], "big")
    assert headers["ce_dataschema"] == f"{schema_registry.url}/schemas/ids/{number}".encode()
    assert (headers["content-type"], headers["ce_id"]) == (b"application/avro", b"name:n;position:00042")
    assert json.loads(schema_registry.get(f"/subjects/{unique_name}-value/versions/latest"))["id"] == number
    assert (made.value_form, made.header_form) == ("bytes", "text")


def test_headers_of_its_own_stand_before_and_other_serializers_beside() -> None:
    made = serializer(**BINARY, **{"header.format": "simple"})
    parts = SeparateSerializer(serializer(), made, serializer(**{"header.format": "simple"}))
    for one in (made, parts):
        messages = one.serialize([event(), Record("t", None, None)])
        names = [name for name, _ in messages.headers[0]]
        assert names[:2] == ["h", "ce_id"]
        assert dict(messages.headers[0])["h"] == b"v"
        assert (messages.values[1], messages.headers[1]) == (None, ())


def test_headers_that_are_asked_for_later() -> None:
    made = serializer(**BINARY)
    first, second = [event()], [event(extra=STRING, connector="second")]
    made.values(first)
    made.values(second)
    assert dict(made.value_headers(first)[0])["ce_source"] == b"/debezium/other/n"
    assert dict(made.value_headers(second)[0])["ce_source"] == b"/debezium/second/n"


def test_an_event_in_avro_is_no_data() -> None:
    options = {"serializer.type": "avro", "data.serializer.type": "avro", "avro.schema.registry.url": "http://x"}
    with pytest.raises(ConfigError, match=r"serializer\.type: in binary mode there are data alone"):
        serializer(**options, **BINARY)
