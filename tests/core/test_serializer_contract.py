"""The contract of a serializer, held to by each that the engine brings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from cdckit.api.plugins import registrations
from cdckit.api.record import Header, Record, SchemaAndValue
from cdckit.api.schema import BOOLEAN, FLOAT32, FLOAT64, INT16, INT32, INT64, OPTIONAL_BYTES, Schema
from cdckit.testing import SerializerSuite, change_events
from testkit.servers.schema_registry import SchemaRegistry


class TestJson(SerializerSuite):
    type_name = "json"


class TestJsonWithoutSchemas(SerializerSuite):
    type_name = "json"

    def options(self) -> Mapping[str, Any]:
        return {"schemas.enable": False, "header.format": "simple"}


class TestSimple(SerializerSuite):
    type_name = "simple"


class TestString(SerializerSuite):
    type_name = "string"


class _OfBytes(SerializerSuite):
    def events(self) -> Sequence[Record]:
        texts = [b"", b"\x00\xff", None, b"text"]
        parts = [SchemaAndValue(OPTIONAL_BYTES, text) for text in texts]
        headers = (Header("h", b"\x01", OPTIONAL_BYTES), Header("none", None, OPTIONAL_BYTES))
        with_values = [Record("t", SchemaAndValue(OPTIONAL_BYTES, b"k%d" % n), part) for n, part in enumerate(parts)]
        return [*with_values, Record("t", parts[3], None), Record("t", None, parts[1], headers)]


class TestBytes(_OfBytes):
    type_name = "bytes"


class TestBinary(_OfBytes):
    type_name = "binary"


class TestBinaryWithAnotherBehind(SerializerSuite):
    type_name = "binary"

    def options(self) -> Mapping[str, Any]:
        return {"delegate.converter.type": "json"}


class _OfNumbers(SerializerSuite):
    schema: Schema
    numbers: Sequence[Any]

    def events(self) -> Sequence[Record]:
        schema = self.schema.as_optional()
        parts = [SchemaAndValue(schema, number) for number in (*self.numbers, None)]
        headers = (Header("h", self.numbers[0], schema), Header("none", None, schema))
        with_keys = [Record("t", key, part) for key, part in zip(parts, reversed(parts), strict=True) if key.value]
        return [*with_keys, Record("t", parts[1], None), Record("t", None, parts[0], headers)]


class TestShort(_OfNumbers):
    type_name = "short"
    schema = INT16
    numbers = (-(2**15), 1, 2**15 - 1)


class TestInteger(_OfNumbers):
    type_name = "integer"
    schema = INT32
    numbers = (-(2**31), 1, 2**31 - 1)


class TestLong(_OfNumbers):
    type_name = "long"
    schema = INT64
    numbers = (-(2**63), 1, 2**63 - 1)


class TestFloat(_OfNumbers):
    type_name = "float"
    schema = FLOAT32
    numbers = (-1.5, 1e30, float("inf"))


class TestDouble(_OfNumbers):
    type_name = "double"
    schema = FLOAT64
    numbers = (-1.5, 1e300, float("nan"))


class TestBoolean(_OfNumbers):
    type_name = "boolean"
    schema = BOOLEAN
    numbers = (False, True)


class _Registered(SerializerSuite):
    @pytest.fixture(autouse=True)
    def _registry(self, schema_registry: SchemaRegistry) -> None:
        self.registry = schema_registry

    def events(self) -> Sequence[Record]:
        return [event for event in change_events() if event.topic != "test.plain"]

    def options(self) -> Mapping[str, Any]:
        return {"schema.registry.url": self.registry.url}


class TestAvro(_Registered):
    type_name = "avro"


class TestJsonSchema(_Registered):
    type_name = "json-schema"


class TestProtobuf(_Registered):
    type_name = "protobuf"


def test_each_serializer_is_held_to_it() -> None:
    held = {suite.type_name for suite in globals().values() if isinstance(suite, type) and hasattr(suite, "type_name")}
    others = {registration.name for _, registration in registrations("serializer")} - held
    assert others == {"avro-apicurio", "json-apicurio", "cloudevents"}, (
        "these take the events of known connectors, or another registry"
    )
