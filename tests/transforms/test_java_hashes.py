"""Hashes against Java's own, and against Debezium's MurmurHash3."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from cdckit import logical
from cdckit.api.schema import BOOLEAN, BYTES, FLOAT32, FLOAT64, INT32, INT64, STRING, Schema
from cdckit.connector.connect_json.decimals import bytes_of, number_of
from cdckit.errors import TransformError
from cdckit_transforms.java_hashes import java_hash, murmur_hash
from transforms.jvm import jpype, start_jvm

DECIMAL = logical.decimal(2)
TEXTS = ("", "a", "customers", "Žofie 😀", "x" * 15, "y" * 16, "ä" * 40)


def _text(random: Random) -> str:
    return random.choice(TEXTS) + chr(random.randrange(32, 0x2000))


def _java(schema: Schema, value: Any) -> Any:
    """A value as Java has it."""
    if schema is DECIMAL:
        return jpype.JClass("java.math.BigDecimal")(str(number_of(value, 2)))
    if schema is logical.CONNECT_DATE:
        return jpype.JClass("java.util.Date")(value * 86_400_000)
    if schema is BYTES:
        signed = [byte - 256 if byte > 127 else byte for byte in value]
        return jpype.JClass("java.nio.ByteBuffer").wrap(jpype.JArray(jpype.JByte)(signed))
    name = {"int32": "Integer", "int64": "Long", "float32": "Float", "float64": "Double", "boolean": "Boolean"}
    if schema is STRING:
        return jpype.JString(value)
    return jpype.JClass(f"java.lang.{name[schema.type]}").valueOf(getattr(jpype, JPYPE[schema.type])(value))


JPYPE = {"int32": "JInt", "int64": "JLong", "float32": "JFloat", "float64": "JDouble", "boolean": "JBoolean"}


@pytest.mark.parametrize(
    ("schema", "make"),
    [
        (INT32, lambda random: random.randrange(-(2**31), 2**31)),
        (INT64, lambda random: random.randrange(-(2**63), 2**63)),
        (FLOAT32, lambda random: random.choice((0.5, -1.25, 3.0, 1e10, float("nan"), float("inf")))),
        (FLOAT64, lambda random: random.choice((random.uniform(-1e6, 1e6), 0.0, -0.0, float("nan")))),
        (BOOLEAN, lambda random: random.random() < 0.5),
        (STRING, _text),
        (BYTES, lambda random: random.randbytes(random.randrange(40))),
        (DECIMAL, lambda random: bytes_of(number_of(random.randbytes(random.randrange(1, 14)), 2), 2)),
        (logical.CONNECT_DATE, lambda random: random.randrange(-100_000, 100_000)),
    ],
    ids=lambda part: getattr(part, "name", None) or getattr(part, "type", ""),
)
def test_values_have_the_hashes_that_java_gives_them(schema: Schema, make: Any) -> None:
    start_jvm()
    random = Random(7)
    java, murmur = java_hash(schema), murmur_hash(schema)
    theirs = jpype.JClass("io.debezium.util.MurmurHash3").getInstance()
    for value in [make(random) for _ in range(60)]:
        there = _java(schema, value)
        assert java(value) == jpype.JObject(there, "java.lang.Object").hashCode(), value
        assert murmur(value) == theirs.hash(jpype.JObject(there, "java.lang.Object")), value


def test_a_struct_makes_no_partition() -> None:
    with pytest.raises(TransformError, match="struct makes no partition; name a field of it"):
        java_hash(Schema("struct"))
