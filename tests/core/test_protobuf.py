"""Protobuf: byte for byte what Confluent's ProtobufConverter writes, by the schemas that it registers."""

from __future__ import annotations

import random
from collections.abc import Iterator
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
from cdckit.engine.serializers.avro.registry import Found
from cdckit.engine.serializers.protobuf.serializer import ProtobufSerializer
from cdckit.errors import ConfigError, TransformError
from core.java_converters import JavaConverter, JavaData, RefusedError, apart, datum, java_list, peer_jars
from core.test_avro import NAMED, SCENARIOS, recorded
from testkit.servers.google_protos import NAME, google_protos

Options = dict[str, str]
EVERY_OPTION: list[Options] = [
    {},
    {"optional.for.nullables": "true"},
    {"wrapper.for.nullables": "true"},
    {"optional.for.nullables": "true", "wrapper.for.nullables": "true", "scrub.invalid.names": "true"},
]


@pytest.fixture(scope="module")
def data() -> Iterator[JavaData]:
    with apart([google_protos(), *(jar for jar in peer_jars() if not jar.name.startswith(NAME))]) as data:
        yield data


class Peer(JavaConverter):
    """Confluent's converter with a registry in its memory, whose ids cdckit's serializer is given."""

    def __init__(self, data: JavaData, options: Options) -> None:
        provider = data.load("io.confluent.kafka.schemaregistry.protobuf.ProtobufSchemaProvider")()
        client = data.load("io.confluent.kafka.schemaregistry.client.MockSchemaRegistryClient")(java_list(provider))
        name = "io.confluent.connect.protobuf.ProtobufConverter"
        super().__init__(data, name, {"schema.registry.url": "http://none", **options}, client)
        self.client = client

    def register(self, subject: str, written: Any) -> tuple[int, Any]:
        """The id that Java's class has registered the very schema under."""
        known = {str(self.client.getSchemaById(number).canonicalString()): number for number in self._numbers(subject)}
        assert written.text in known, f"{written.text}\nis none of\n{chr(10).join(known)}"
        return known[written.text], written

    def _numbers(self, subject: str) -> list[int]:
        versions = self.client.getAllVersions(subject)
        return [int(self.client.getSchemaMetadata(subject, version).getId()) for version in versions]


def serializer(peer: Peer, **options: Any) -> ProtobufSerializer:
    registration = find("serializer", "protobuf")
    given = {"schema.registry.url": "http://none", **options}
    made: ProtobufSerializer = make(registration, config_model(registration).load(given, "serializer")[0])
    made._register = peer.register  # type: ignore[method-assign]
    return made


@pytest.mark.parametrize(
    ("scenario", "options"),
    [
        *((scenario, {}) for scenario in SCENARIOS),
        *((scenario, EVERY_OPTION[-1]) for scenario in SCENARIOS),
        ("mysql97-mysql-3.6.3/types", {"optional.for.nullables": "true"}),
        ("mysql97-mysql-3.6.3/types-alt3", {"wrapper.for.nullables": "true"}),
    ],
)
def test_recorded_events_are_what_they_are_there(data: JavaData, scenario: str, options: Options) -> None:
    peer = Peer(data, options)
    made = serializer(peer, **options)
    compared = 0
    for record in recorded(scenario):
        for topic, value in ((f"{record.topic}.key", record.key), (record.topic, record.value)):
            if value is None or value.schema is None:
                continue
            expected = peer.write(value, topic)
            assert made.values([Record(topic, None, value)]) == [expected], record
            compared += 1
    assert compared > 10


def entries(keys: Schema, items: Schema, name: str | None = None) -> Schema:
    return Schema("map", keys=keys, items=items, name=name)


MOMENTS = struct_schema(
    "a.Moments",
    {
        "date": logical.CONNECT_DATE.as_optional(),
        "time": logical.CONNECT_TIME.as_optional(),
        "moment": logical.CONNECT_TIMESTAMP.as_optional(),
        "exact": logical.decimal(2, 8).as_optional(),
        "large": logical.decimal(-3),
    },
)
VALUES: list[tuple[Schema, Any]] = [
    (STRING, "x"),
    (STRING.as_optional(), "x"),
    (STRING, ""),
    (STRING, "é" * 5000),
    (BYTES, b"\0\xff" * 3),
    (BOOLEAN, True),
    (BOOLEAN.as_optional(), False),
    (FLOAT32, 1.5),
    (FLOAT64, -1.5e300),
    (INT8, 1),
    (INT16, -1),
    *(
        (INT64.as_optional(), sign * (2**bits + more))
        for bits in range(0, 63, 7)
        for sign in (1, -1)
        for more in (-1, 0)
    ),
    (INT64, -(2**63)),
    (INT64, 2**63 - 1),
    *(
        (MOMENTS, (days, 0, days * 86_400_000 + 1, b"\0", b"\x09\xc4"))
        for days in (0, 19_000, -141_427, -141_428, -600_000)
    ),
    *((MOMENTS, (None, millis, -millis, b"\xff\x85", b"\0\0\x7f")) for millis in (1, 1000, 86_399_999, 86_400_000)),
    (
        struct_schema("r", {"huge": logical.decimal(0), "small": logical.decimal(400)}),
        (b"\1" + bytes(90), b"\xff" * 90),
    ),
    (struct_schema("Only", {}), ()),
    (struct_schema("r", {"id": INT32.as_optional(), "_id": INT32}), (1, 2)),
    (
        struct_schema(None, {"_": struct_schema(None, {"i": INT32}), "s": struct_schema("s", {"f": FLOAT32})}),
        ((7,), (0.5,)),
    ),
    (struct_schema("r", {"list": array_schema(INT32), "none": array_schema(STRING)}), ([0, -1, 2**20], [])),
    (struct_schema("r", {"list": array_schema(STRING.as_optional(), optional=True)}), (["", "a", "é"],)),
    (struct_schema("r", {"list": array_schema(FLOAT64), "flags": array_schema(BOOLEAN)}), ([0.0, 1.5], [True, False])),
    (
        struct_schema("r", {"list": array_schema(INT64.as_optional()), "more": array_schema(BYTES)}),
        ([5, 0], [b"", b"\1"]),
    ),
    (struct_schema("r", {"list": array_schema(NAMED), "again": NAMED.as_optional()}), ([(1, "y"), (0, "")], None)),
    (struct_schema("r", {"dates": array_schema(logical.CONNECT_DATE)}), ([19_000, 0],)),
    (
        struct_schema("r", {"map": entries(STRING, INT64), "of": entries(INT32, NAMED, "x.my_map")}),
        ({"a": 0}, {7: (1, "z")}),
    ),
    (struct_schema("r", {"map": entries(STRING, array_schema(INT16.as_optional()), "m")}), ({"": [1, 2]},)),
    (struct_schema("r", {"map": entries(STRING, logical.decimal(2, 5).as_optional(), "m")}), ({"k": None},)),
    (
        struct_schema("a.b.r", {"r": struct_schema("r", {"x": INT32}), "again": NAMED, "d": NAMED.as_optional()}),
        ((1,), (0, "q"), (5, "w")),
    ),
    (
        struct_schema("d", {"i": INT32.replace(optional=True, default=7), "t": STRING.replace(default="x\n")}),
        (None, ""),
    ),
    (struct_schema("d", {"i": INT8.replace(optional=True, default=0), "b": BYTES.replace(default=b"\0")}), (None, b"")),
]


@pytest.mark.parametrize("options", EVERY_OPTION)
def test_values_of_every_type_are_what_they_are_there(data: JavaData, options: Options) -> None:
    for schema, given in VALUES:
        value = struct_of(schema, given)
        peer = Peer(data, options)
        expected = peer.write(datum(schema, value))
        assert serializer(peer, **options).values([Record("t", None, datum(schema, value))]) == [expected], (
            schema,
            value,
        )


def struct_of(schema: Schema, given: Any) -> Any:
    """A value with structs in the place of tuples."""
    if given is None or schema.type not in ("struct", "array", "map"):
        return given
    if schema.type == "struct":
        return Struct(
            schema, tuple(struct_of(one.schema, inner) for one, inner in zip(schema.fields, given, strict=True))
        )
    assert schema.items is not None
    if schema.type == "array":
        return [struct_of(schema.items, one) for one in given]
    return {key: struct_of(schema.items, one) for key, one in given.items()}


PLAIN: list[tuple[Schema, Any]] = [
    (INT8, lambda chance: chance.randint(-128, 127)),
    (INT16, lambda chance: chance.choice((0, 1, -1, 32_767, -32_768))),
    (INT32, lambda chance: chance.randint(-(2 ** chance.randint(0, 31)), 2 ** chance.randint(0, 31) - 1)),
    (INT64, lambda chance: chance.randint(-(2 ** chance.randint(0, 63)), 2 ** chance.randint(0, 63) - 1)),
    (FLOAT32, lambda chance: chance.choice((0.0, 1.5, -2.25))),
    (FLOAT64, lambda chance: chance.choice((0.0, chance.uniform(-1e9, 1e9)))),
    (BOOLEAN, lambda chance: chance.random() < 0.5),
    (STRING, lambda chance: chance.choice(("", "a", "é")) * chance.choice((0, 1, 70, 20_000))),
    (BYTES, lambda chance: chance.randbytes(chance.choice((0, 1, 127, 128, 300)))),
    (logical.decimal(3, 20), lambda chance: str_bytes(chance.randint(-(10 ** chance.randint(1, 20)), 10**20))),
    (logical.CONNECT_DATE, lambda chance: chance.randint(-700_000, 2_000_000)),
    (logical.CONNECT_TIME, lambda chance: chance.randint(0, 86_400_000)),
    (logical.CONNECT_TIMESTAMP, lambda chance: chance.randint(-(10**13), 10**14)),
    (logical.ZONED_TIMESTAMP, lambda chance: "2024-01-01T00:00:00Z"),
]


def str_bytes(number: int) -> bytes:
    return number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)


def random_value(chance: random.Random, depth: int) -> tuple[Schema, Any]:
    """A field's schema, and a value."""
    kind = chance.random()
    if depth == 0 or kind < 0.7:
        schema, value = chance.choice(PLAIN)
        made = value(chance)
        if chance.random() < 0.5:
            return schema.as_optional(), None if chance.random() < 0.4 else made
        return schema, made
    if kind < 0.85:
        schema, given = random_struct(chance, depth - 1)
        return (schema.as_optional(), chance.choice((None, given))) if chance.random() < 0.5 else (schema, given)
    if kind < 0.95:
        schema, value = chance.choice(PLAIN)
        items = schema.as_optional() if chance.random() < 0.3 else schema
        return array_schema(items), [value(chance) for _ in range(chance.randint(0, 3))]
    schema, value = chance.choice(PLAIN)
    return entries(STRING, schema, f"m.M{chance.randint(0, 10**9)}"), {"k": value(chance)}


def random_struct(chance: random.Random, depth: int) -> tuple[Schema, tuple[Any, ...]]:
    fields = [random_value(chance, depth) for _ in range(chance.randint(0, 6))]
    name = chance.choice((None, f"n.S{chance.randint(0, 10**9)}"))
    return struct_schema(name, {f"f{number}": one for number, (one, _) in enumerate(fields)}), tuple(
        of for _, of in fields
    )


@pytest.mark.parametrize("options", EVERY_OPTION)
def test_random_records_are_what_they_are_there(data: JavaData, options: Options) -> None:
    peer = Peer(data, options)
    made = serializer(peer, **options)
    for seed in range(80):
        schema, given = random_struct(random.Random(seed), 2)
        value, topic = struct_of(schema, given), f"t{seed}"
        expected = peer.write(value, topic)
        assert made.values([Record(topic, None, value)]) == [expected], seed


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
        template = Template(value.schema, value.values, holes)
        filled = TemplateStruct(template, (value["before"], value["after"], value["source"]["row"]))
        expected = peer.write(value, record.topic)
        assert made.values([Record(record.topic, None, filled)]) == [expected]
        compared += 1
    assert compared > 5


def in_field(schema: Schema) -> Schema:
    return struct_schema("r", {"f": schema})


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        (in_field(array_schema(array_schema(INT32))), [[1]], "f: an array of arrays"),
        (in_field(array_schema(STRING.as_optional())), [None], "f: "),
        (in_field(logical.CONNECT_TIMESTAMP), 10**15, "f: a timestamp is not within the years 1 to 9999"),
        (struct_schema("a-b", {"f": INT32}), 1, "'a-b' cannot be a name in Protobuf: set schema.name.adjust"),
        (struct_schema("r", {"a-b": INT32}), 1, "'a-b' cannot be a name in Protobuf"),
        (struct_schema("r", {"s": struct_schema("int32", {})}), (), "a struct cannot be called int32"),
        (
            struct_schema("r", {"s": struct_schema("r", {"x": INT32})}),
            (1,),
            "a struct of the same name has no field 'x'",
        ),
    ],
)
def test_what_cannot_be_written_is_told_as_it_is_refused_there(
    data: JavaData, schema: Schema, value: Any, said: str
) -> None:
    given = struct_of(schema, (value,))
    with pytest.raises(RefusedError):
        Peer(data, {}).write(given)
    made = serializer(Peer(data, {}))
    made._register = lambda _subject, written: (1, written)  # type: ignore[method-assign,assignment]
    with pytest.raises(
        TransformError, match=rf"topic t, position 00042: the value cannot be written as Protobuf \(.*{said}"
    ):
        made.values([Record("t", None, given, position="00042")])


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Struct(NAMED, (None, "x")), "id: "),
        (Struct(NAMED, (2**31, "x")), "id: it is no integer of 32 bits"),
        (Struct(struct_schema("r", {"in": NAMED}), (Struct(NAMED, (1, 2)),)), r"in\.text: "),
        (Struct(in_field(logical.CONNECT_DATE), (-800_000,)), "f: a date before year 1"),
        (Struct(in_field(logical.CONNECT_TIME), (86_400_001,)), "f: a time is not within a day"),
        (Struct(in_field(logical.decimal(2)), (b"",)), "f: a decimal has no bytes"),
        (Struct(in_field(FLOAT64), ("x",)), "f: required argument is not a float"),
        (
            Struct(in_field(STRING.replace(parameters={"io.confluent.connect.protobuf.Enum": "E"})), ("x",)),
            "f: .*not yet",
        ),
        (SchemaAndValue(logical.CONNECT_DATE, 1), "org.apache.kafka.connect.data.Date cannot stand by itself"),
        (SchemaAndValue(array_schema(INT32), [1]), "array cannot stand by itself in Protobuf"),
        (SchemaAndValue(None, {"a": 1}), "it has no schema, which Protobuf wants"),
    ],
)
def test_what_cannot_be_written_here_is_told(value: Any, said: str) -> None:
    made = make(find("serializer", "protobuf"), config_model(find("serializer", "protobuf")).model_validate(URL))
    made._register = lambda _subject, written: (1, written)
    good = Record("t", None, Struct(NAMED, (1, "x")))
    with pytest.raises(
        TransformError, match=rf"topic t, position 00042: the value cannot be written as Protobuf \({said}"
    ):
        made.values([good, Record("t", None, value, position="00042")])


URL = {"schema.registry.url": "http://none"}


def test_nulls_and_defaults(data: JavaData) -> None:
    made = serializer(Peer(data, {}), **{"ignore.default.for.nullables": "true"})
    made._register = lambda _subject, written: (1, written)  # type: ignore[method-assign,assignment]
    defaulted = Struct(in_field(INT32.replace(optional=True, default=7)), (None,))
    values = (None, SchemaAndValue(STRING.as_optional(), None), defaulted)
    assert made.values([Record("t", None, one) for one in values]) == [None, None, b"\0\0\0\0\1\0"]


def test_names_that_protobuf_cannot_have(data: JavaData) -> None:
    options = {"scrub.invalid.names": "true"}
    schema = struct_schema("a-b.1.c d", {"x-y": INT32, "1": STRING, "é _": STRING, "_id": INT32})
    peer = Peer(data, options)
    value = Struct(schema, (1, "z", "", 5))
    expected = peer.write(value)
    assert serializer(peer, **options).values([Record("t", None, value)]) == [expected]


def test_options_that_change_only_what_is_read_are_taken() -> None:
    model = config_model(find("serializer", "io.confluent.connect.protobuf.ProtobufConverter"))
    names = ("enhanced.protobuf.schema.support", "wrapper.for.raw.primitives", "generate.struct.for.nulls")
    assert model.load({**URL, **dict.fromkeys(names, "true"), "int.for.enums": "true"}, "serializer")[0]
    with pytest.raises(ConfigError, match=r"skip\.known\.types.*not yet supported"):
        model.load({**URL, "skip.known.types": "false"}, "serializer")


IN = "In in = 3; message In { bool on = 1; }"
OTHERS = {
    "another field": f"message T {{ int32 id = 1; string name = 2; {IN} int32 age = 4; }}",
    "a field less": f"message T {{ int32 id = 1; {IN} }}",
    "another place": f"message Q {{ }} message R {{ }} message T {{ int32 id = 1; string name = 2; {IN} }}",
    "a name that is another": f"message T {{ int32 number = 1; string name = 2; {IN} }}",
    "a wider type": "message T { int64 id = 1; bytes name = 2; In in = 3; message In { int32 on = 1; } }",
    "optional": f"message T {{ optional int32 id = 1; string name = 2; {IN} }}",
    "a oneof": f"message T {{ int32 id = 1; oneof k {{ string name = 2; string other = 4; }} {IN} }}",
    "comments": f"// message Q {{\nmessage T {{ /* }} */ int32 id = 1; string name = 2; {IN} }}",
    "a list": f"message T {{ repeated int32 id = 1; string name = 2; {IN} }}",
    "other numbers": f"message T {{ int32 id = 2; string name = 1; {IN} }}",
    "another type": f"message T {{ string id = 1; string name = 2; {IN} }}",
    "another type within": "message T { int32 id = 1; string name = 2; In in = 3; message In { string on = 1; } }",
    "another name": f"message W {{ int32 id = 1; string name = 2; {IN} }}",
    "no message": "message T { int32 id = 1; string name = 2; string in = 3; }",
}
LATEST = {"auto.register.schemas": "false", "use.latest.version": "true"}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_the_latest_schema_may_be_another(data: JavaData, text: str) -> None:
    """As long as it reads what is written; else the field at fault is named."""
    text = f'syntax = "proto3"; package a.b; {text}'
    inner = struct_schema("a.b.In", {"on": BOOLEAN})
    row = struct_schema("a.b.T", {"id": INT32, "name": STRING.as_optional(), "in": inner})
    value = Struct(row, (7, "x", Struct(inner, (True,))))
    peer = Peer(data, LATEST)
    number = int(peer.client.register("t-value", data.load(f"{PROTOBUF}.ProtobufSchema")(text)))
    made = serializer(peer, **LATEST)
    found = Found(number, text)
    made._register = lambda _subject, written: (number, made.latest(found, written))  # type: ignore[assignment,method-assign]
    try:
        expected = peer.write(value)
    except RefusedError:
        with pytest.raises(TransformError, match=r"\((id|in|in\.on): |has no message a\.b\.T") as refused:
            made.values([Record("t", None, value)])
        assert "register the record's schema, or set use.latest.version=false" in str(refused.value)
    else:
        assert made.values([Record("t", None, value)]) == [expected]


PROTOBUF = "io.confluent.kafka.schemaregistry.protobuf"
