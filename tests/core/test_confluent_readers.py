"""Avro, JSON Schema and Protobuf, read back by `confluent_kafka`'s deserializers with schemas of a live registry."""

from __future__ import annotations

import base64
import json
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.plugins import config_model, find, make
from cdckit.api.record import Record
from cdckit.api.schema import Schema
from cdckit.api.serializer import Serializer
from cdckit.api.struct import Struct
from cdckit.connector.connect_json.decimals import number_of
from cdckit.logical import DECIMAL_NAME
from core.test_avro import recorded
from testkit.servers.downstream import confluent_deserializers
from testkit.servers.schema_registry import SchemaRegistry

_READER = Path(__file__).with_name("confluent_reader.py")
_SCENARIOS = ("types", "dml-schema", "smt-unwrap")


def serializer(kind: str, url: str, **options: str) -> Serializer:
    registration = find("serializer", kind)
    config, _ = config_model(registration).load({"schema.registry.url": url, **options}, "serializer")
    made: Serializer = make(registration, config)
    return made


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["avro", "json-schema", "protobuf"])
def test_what_is_written_is_read(schema_registry: SchemaRegistry, unique_name: str, kind: str) -> None:
    options = {"optional.for.nullables": "true"} if kind == "protobuf" else {}
    made = serializer(kind, schema_registry.url, **options)
    messages, expected = [], []
    for record in _records(unique_name):
        for part in ("key", "value"):
            datum = getattr(record, part)
            if not isinstance(datum, Struct):
                continue
            [written] = made.keys([record]) if part == "key" else made.values([record])
            assert written is not None
            messages.append({"topic": record.topic, "part": part, "hex": written.hex()})
            expected.append(_read(kind, datum.schema, datum))
    assert len(messages) > 100
    for read, meant, message in zip(_ask(kind, schema_registry.url, messages), expected, messages, strict=True):
        assert read == meant, message


def _records(name: str) -> Sequence[Record]:
    found = []
    for scenario in _SCENARIOS:
        for record in recorded(f"mysql97-mysql-3.6.3/{scenario}"):
            found.append(record.replace(topic=f"{name}.{scenario}.{record.topic}"))
    return found


def _ask(kind: str, url: str, messages: Sequence[Any]) -> Any:
    given = json.dumps({"url": url, "kind": kind, "messages": messages})
    program = [confluent_deserializers() / "python", _READER]
    ended = subprocess.run(program, input=given, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def _read(kind: str, schema: Schema, value: Any) -> Any:
    """What a deserializer should make of a value; a null of a column with a default is written as that, as in Java."""
    if value is None:
        value = schema.default
    if value is None:
        return [] if kind == "protobuf" and schema.type == "array" else None
    if isinstance(value, Struct):
        members = zip(schema.fields, value.values, strict=True)
        return {field.name: _read(kind, field.schema, item) for field, item in members}
    if schema.type == "array" and schema.items is not None:
        return [_read(kind, schema.items, item) for item in value]
    if schema.name == DECIMAL_NAME:
        return _decimal(kind, schema, value)
    if schema.type == "float32" and kind != "json-schema":
        return struct.unpack("f", struct.pack("f", value))[0]
    return base64.b64encode(value).decode() if schema.type == "bytes" else value


def _decimal(kind: str, schema: Schema, value: bytes) -> Any:
    told = {name: int(text) for name, text in (schema.parameters or {}).items()}
    if kind == "avro":
        return str(number_of(value, told["scale"]))
    text = base64.b64encode(value).decode()
    if kind == "json-schema":
        return text
    digits = len(number_of(value, 0).as_tuple().digits)
    return {"value": text, "precision": digits, "scale": told["scale"]}
