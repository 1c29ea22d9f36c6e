"""Avro: byte for byte what Confluent's AvroConverter writes, by the schemas that it registers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cdckit import logical
from cdckit.api.plugins import config_model, find, make
from cdckit.api.record import Record, SchemaAndValue
from cdckit.api.schema import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    Schema,
    array_schema,
    struct_schema,
)
from cdckit.api.struct import Struct, Template, TemplateStruct
from cdckit.connector.connect_json.reader import read_records
from cdckit.engine.serializers.avro.serializer import AvroSerializer
from cdckit.errors import TransformError
from core.java_converters import JavaConverter, JavaData, datum, jpype

RECORDED = Path(__file__).parents[1] / "data" / "debezium"
SCENARIOS = [
    "mysql97-mysql-3.6.3/types",
    "mysql97-mysql-3.6.3/types-alt1",
    "mysql97-mysql-3.6.3/types-alt3",
    "mysql97-mysql-3.6.3/dml-schema",
    "mysql97-mysql-3.6.3/ddl-schema",
    "mysql97-mysql-3.6.3/smt-unwrap",
    "mariadb1011-mysql-1.9.7/types",
    "mongo60-3.6.3/default-schema",
]
NAMED = struct_schema("a.b.C", {"id": INT32, "text": STRING.replace(default='x\n"é')})
ENTRY = Schema("map", keys=INT32, items=NAMED.as_optional(), name="a.b.Entry", optional=True)
WHOLE = struct_schema(
    "a.b.Whole",
    {
        "same": NAMED,
        "again": NAMED.as_optional(),
        "elsewhere": struct_schema("x.Other", {"named": NAMED, "inner": struct_schema("Bare", {"f": FLOAT32})}),
        "bytes": BYTES.replace(default=b"\0\xff\x80"),
        "small": INT8.replace(optional=True, default=-3),
        "flag": BOOLEAN.as_optional(),
        "map": Schema("map", keys=STRING, items=INT64, doc="a comment"),
        "entries": ENTRY,
        "list": array_schema(array_schema(STRING.as_optional())),
    },
)


@pytest.fixture(scope="module")
def data() -> JavaData:
    return JavaData()


class Peer(JavaConverter):
    """Confluent's converter with a registry in its memory, whose ids cdckit's serializer is given."""

    def __init__(self, data: JavaData, options: dict[str, str]) -> None:
        client = jpype.JClass("io.confluent.kafka.schemaregistry.client.MockSchemaRegistryClient")()
        name = "io.confluent.connect.avro.AvroConverter"
        super().__init__(data, name, {"schema.registry.url": "http://none", **options}, client)
        self.client = client

    def register(self, subject: str, written: Any) -> tuple[int, Any]:
        """The id that Java's class has registered the very schema under."""
        text = json.dumps(written, separators=(",", ":"), ensure_ascii=False)
        known = {str(self.client.getSchemaById(number).canonicalString()): number for number in self._numbers(subject)}
        assert text in known, f"{text}\nis none of\n{chr(10).join(known)}"
        return known[text], written

    def can_register(self, subject: str) -> bool:
        """Whether the schemas have a text: two structs of one name that differ let Java's class fail."""
        try:
            return bool([str(self.client.getSchemaById(number).canonicalString()) for number in self._numbers(subject)])
        except jpype.JException:
            return False

    def _numbers(self, subject: str) -> list[int]:
        versions = self.client.getAllVersions(subject)
        return [int(self.client.getSchemaMetadata(subject, version).getId()) for version in versions]


def serializer(peer: Peer, **options: Any) -> AvroSerializer:
    registration = find("serializer", "avro")
    given = {"schema.registry.url": "http://none", **options}
    made: AvroSerializer = make(registration, config_model(registration).load(given, "serializer")[0])
    made._register = peer.register  # type: ignore[method-assign]
    return made


@pytest.mark.parametrize(
    ("scenario", "options"),
    [
        *((scenario, {}) for scenario in SCENARIOS),
        ("mysql97-mysql-3.6.3/types-alt3", {"connect.meta.data": "false"}),
        ("mongo60-3.6.3/default-schema", {"scrub.invalid.names": "true"}),
        ("mysql97-mysql-3.6.3/types", {"enhanced.avro.schema.support": "true"}),
    ],
)
def test_recorded_events_are_what_they_are_there(data: JavaData, scenario: str, options: dict[str, str]) -> None:
    peer = Peer(data, options)
    made = serializer(peer, **options)
    compared = 0
    for record in recorded(scenario):
        if record.value is None or record.value.schema is None:
            continue
        expected = peer.write(record.value, record.topic)
        if not peer.can_register(f"{record.topic}-value"):
            with pytest.raises(TransformError, match=r"before: two structs that differ are called io\.debezium\.data"):
                made.values([record])
            continue
        [written] = made.values([record])
        assert written == expected, record
        compared += 1
    assert compared > 5


def recorded(scenario: str) -> Iterator[Record]:
    for name in ("snapshot", "stream"):
        yield from read_records((RECORDED / scenario / f"{name}.jsonl").open("rb"))


VALUES: list[tuple[Schema, Any]] = [
    (STRING, "x"),
    (STRING.as_optional(), "x"),
    (STRING, ""),
    (STRING, "é" * 5000),
    (BYTES, b"\0\xff" * 3),
    (BYTES.as_optional(), b"\1"),
    (BYTES, bytes(5000)),
    (BOOLEAN, True),
    (BOOLEAN.as_optional(), False),
    (FLOAT32, 1.5),
    (FLOAT64, -1.5e300),
    (logical.decimal(2, 8), b"\x09\xc4"),
    (logical.decimal(9), b"\xff"),
    (logical.decimal(-3), b"\1"),
    (logical.CONNECT_DATE, 19_000),
    (logical.CONNECT_TIMESTAMP, 1_732_000_000_123),
    (logical.CONNECT_TIME.as_optional(), 3_600_000),
    (logical.ZONED_TIMESTAMP, "2024-01-01T00:00:00Z"),
    (INT8.replace(optional=True, default=7), 1),
    (array_schema(INT32), []),
    (array_schema(NAMED, optional=True), [Struct(NAMED, (1, "y")), Struct(NAMED, (2, ""))]),
    (Schema("map", keys=STRING, items=INT16, name="n"), {"a": 1, "b": 2}),
    (Schema("map", keys=INT32, items=STRING), {7: "x"}),
    (ENTRY, {1: Struct(NAMED, (1, "y")), 2: None}),
    *((INT64.as_optional(), sign * (2**bits + more)) for bits in range(63) for sign in (1, -1) for more in (-1, 0)),
    (INT64, -(2**63)),
    (INT64, 2**63 - 1),
]


@pytest.mark.parametrize("options", [{}, {"ignore.default.for.nullables": "true"}])
def test_values_of_every_type_are_what_they_are_there(data: JavaData, options: dict[str, str]) -> None:
    for schema, value in VALUES:
        peer = Peer(data, options)
        record = Record("t", None, datum(schema, value))
        expected = peer.write(datum(schema, value))
        assert serializer(peer, **options).values([record]) == [expected], (schema, value)


@pytest.mark.parametrize("filled", [True, False])
def test_structs_in_structs(data: JavaData, filled: bool) -> None:
    """Records that are named again, in this namespace and another; maps whose keys are no texts; nulls and defaults."""
    peer = Peer(data, {})
    value = whole(filled=filled)
    expected = peer.write(value)
    assert serializer(peer).values([Record("t", None, value)]) == [expected]


def whole(*, filled: bool) -> Struct:
    other = WHOLE.field("elsewhere").schema
    named = Struct(NAMED, (1, "y"))
    elsewhere = Struct(other, (named, Struct(other.field("inner").schema, (0.5,))))
    if not filled:
        return Struct(WHOLE, (named, None, elsewhere, b"\1", None, None, {}, None, []))
    entries = {3: named, 4: None}
    return Struct(WHOLE, (named, named, elsewhere, b"", 5, False, {"k": 2**40}, entries, [["a", None], []]))


def test_what_is_filled_into_a_template_is_what_a_struct_would_be(data: JavaData) -> None:
    """Of envelopes, the shared part is written once for a group."""
    peer = Peer(data, {})
    made = serializer(peer)
    compared = 0
    for record in recorded("mysql97-mysql-3.6.3/dml-schema"):
        value = record.value
        if not isinstance(value, Struct) or "after" not in value:
            continue
        holes = ((0,), (1,), (value.schema.index["source"], value["source"].schema.index["row"]))
        fills = (value["before"], value["after"], value["source"]["row"])
        template = Template(value.schema, value.values, holes)
        filled = TemplateStruct(template, fills)
        expected = peer.write(value, record.topic)
        assert made.values([Record(record.topic, None, filled)]) == [expected]
        compared += 1
    assert compared > 5


def test_a_schema_that_is_made_again_has_the_id_that_it_had(data: JavaData) -> None:
    peer = Peer(data, {})
    made = serializer(peer)
    asked: list[str] = []
    register = made._register
    made._register = lambda subject, written: asked.append(subject) or register(subject, written)  # type: ignore[method-assign,func-returns-value]
    for _ in range(3):
        schema = struct_schema("a.Key", {"id": INT32})
        peer.write(Struct(schema, (1,)))
        made.values([Record("t", None, Struct(schema, (1,)))])
    assert asked == ["t-value"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Struct(NAMED, (None, "x")), "id: "),
        (Struct(NAMED, (2**70, "x")), "id: it is no integer of 64 bits"),
        (Struct(struct_schema("r", {"in": NAMED}), (Struct(NAMED, (1, 2)),)), r"in\.text: "),
        (Struct(struct_schema("r", {"on": BOOLEAN}), (None,)), "on: "),
        (Struct(struct_schema("r", {"f": FLOAT64}), ("x",)), "f: "),
        (Struct(struct_schema("r", {"a-b": INT32}), (1,)), "'a-b' cannot be a name in Avro: set schema.name.adjust"),
        (SchemaAndValue(None, {"a": 1}), "it has no schema"),
    ],
)
def test_what_cannot_be_written_is_told(value: Any, said: str) -> None:
    made = make(find("serializer", "avro"), config_model(find("serializer", "avro")).model_validate(URL))
    made._register = lambda _subject, written: (1, written)
    good = Record("t", None, Struct(NAMED, (1, "x")))
    with pytest.raises(TransformError, match=rf"topic t, position 00042: the value cannot be written as Avro \({said}"):
        made.values([good, Record("t", None, value, position="00042")])


URL = {"schema.registry.url": "http://none"}


def test_a_tombstone_is_one(data: JavaData) -> None:
    made = serializer(Peer(data, {}))
    assert (
        made.values([Record("t", None, None), Record("t", None, SchemaAndValue(STRING.as_optional(), None))])
        == [None] * 2
    )


def test_names_that_avro_cannot_have(data: JavaData) -> None:
    schema = struct_schema("a-b.c d", {"x-y": INT32, "1": STRING, "é _": STRING})
    peer = Peer(data, {"scrub.invalid.names": "true"})
    value = Struct(schema, (1, "z", ""))
    expected = peer.write(value)
    assert serializer(peer, **{"scrub.invalid.names": True}).values([Record("t", None, value)]) == [expected]
