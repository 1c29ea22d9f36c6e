"""Keys, values and headers by serializers of their own, against the Java classes whose names they answer to."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from cdckit import logical
from cdckit.api.messages import Messages
from cdckit.api.plugins import config_model, find, make, plugin_manager
from cdckit.api.record import Header, Record, SchemaAndValue
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
from cdckit.api.serializer import Serializer
from cdckit.api.struct import Struct
from cdckit.connector.connect_json.reader import read_records
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_encoder
from cdckit.engine.runners.direct import DirectRunner
from cdckit.errors import ConfigError, TransformError
from cdckit_file.lines import LineWriter
from core.java_converters import JavaConverter, JavaData, RefusedError, datum
from testkit.scripted import plugin

RECORDED = Path(__file__).parents[1] / "data" / "debezium"
CLASSES = {
    "string": "org.apache.kafka.connect.storage.StringConverter",
    "bytes": "org.apache.kafka.connect.converters.ByteArrayConverter",
    "binary": "io.debezium.converters.BinaryDataConverter",
}
NUMBERS = ("boolean", "double", "float", "integer", "long", "short")
ROW = struct_schema("r", {"id": INT32, "name": STRING.as_optional(), "empty": STRING.as_optional()})
VALUES: list[tuple[Schema | None, Any]] = [
    (STRING, 'a "text"\n'),
    (STRING.as_optional(), None),
    (INT8, -5),
    (INT64, 2**40),
    (BOOLEAN, True),
    (FLOAT64, 1e21),
    (FLOAT64, 0.5),
    (BYTES.as_optional(), None),
    (logical.decimal(2), b"\x09\xc4"),
    (logical.decimal(-3), b"\x01"),
    (logical.decimal(9), b"\x01"),
    (logical.CONNECT_DATE, 19_000),
    (logical.CONNECT_TIMESTAMP, 1_732_000_000_123),
    (logical.CONNECT_TIME, 3_600_000),
    (array_schema(INT32), [1, 2]),
    (Schema("map", keys=STRING, items=INT32), {"a": 1}),
    (Schema("map", keys=INT32, items=ROW), {7: Struct(ROW, (7, "x", None))}),
    (ROW, Struct(ROW, (7, "Zoë", None))),
    (None, None),
    (None, "plain"),
]


@pytest.fixture(scope="module")
def data() -> JavaData:
    return JavaData()


def serializer(kind: str, **options: Any) -> Serializer:
    registration = find("serializer", kind)
    made: Serializer = make(registration, config_model(registration).load(options, "serializer")[0])
    return made


def ours(made: Serializer, schema: Schema | None, value: Any) -> bytes | None:
    [written] = made.values([Record("t", None, datum(schema, value))])
    return written


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_are_what_they_are_there(data: JavaData, kind: str) -> None:
    name = f"org.apache.kafka.connect.converters.{kind.capitalize()}Converter"
    java, made = JavaConverter(data, name, {}), serializer(name)
    more: list[tuple[Schema | None, Any]] = [
        (BOOLEAN, False),
        (INT16, -2),
        (INT16.as_optional(), 2**15 - 1),
        (INT32, -(2**31)),
        (FLOAT32, 0.1),
    ]
    more += [(INT64.as_optional(), -(2**63)), (FLOAT64, -1e300), (INT32.as_optional(), None)]
    taken = 0
    for schema, value in [*VALUES, *more]:
        if schema is None and value is not None:
            continue  # Connect's own JSON brings a value without a schema to Java as something else
        try:
            expected = java.write(datum(schema, value))
        except RefusedError:
            with pytest.raises(TransformError, match="this serializer takes"):
                ours(made, schema, value)
            continue
        assert ours(made, schema, value) == expected, (schema, value)
        taken += expected is not None
    assert taken >= 1


def test_numbers_without_a_schema() -> None:
    assert ours(serializer("long"), None, 7) == bytes(7) + b"\7"
    assert ours(serializer("boolean"), None, True) == b"\1"
    for kind, value in (("long", True), ("integer", 7), ("short", "7")):
        with pytest.raises(TransformError, match="this serializer takes"):
            ours(serializer(kind), None, value)
    with pytest.raises(TransformError, match="is no int16"):
        ours(serializer("short"), INT16, 2**15)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize(("schema", "value"), VALUES)
def test_every_value_is_what_it_is_there(data: JavaData, kind: str, schema: Schema | None, value: Any) -> None:
    peer = JavaConverter(data, CLASSES[kind], {})
    record = Record("t", datum(schema, value), datum(schema, value), (Header("h", value, schema),))
    try:
        expected = peer.write(datum(schema, value))
    except RefusedError:
        with pytest.raises(TransformError, match="topic t, position unknown: the value cannot be written"):
            serializer(kind).values([record])
        return
    made = serializer(kind)
    assert made.values([record]) == made.keys([record]) == [expected]
    assert made.headers([record]) == [(("h", peer.write_header(record.headers[0])),)]


@pytest.mark.parametrize("kind", ["bytes", "binary"])
def test_bytes_are_as_they_are(data: JavaData, kind: str) -> None:
    assert (
        ours(serializer(kind), BYTES, b"\0\xff")
        == b"\0\xff"
        == JavaConverter(data, CLASSES[kind], {}).write(SchemaAndValue(BYTES, b"\0\xff"))
    )


@pytest.mark.parametrize(("schema", "value"), VALUES)
def test_binary_leaves_the_rest_to_another(data: JavaData, schema: Schema | None, value: Any) -> None:
    options = {
        "delegate.converter.type": "org.apache.kafka.connect.json.JsonConverter",
        "delegate.converter.type.schemas.enable": "false",
    }
    expected = JavaConverter(data, CLASSES["binary"], options).write(datum(schema, value))
    written = ours(serializer("binary", **options), schema, value)
    assert (written and json.loads(written)) == (expected and json.loads(expected))
    headers = serializer("binary", **options).headers(
        [Record("t", None, None, (Header("h", "v"), Header("b", b"b", BYTES)))]
    )
    assert headers == [(("h", b'"v"'), ("b", b"b"))]


def test_the_delegate_of_binary_is_checked() -> None:
    model = config_model(find("serializer", "binary"))
    for options, said in (
        ({"delegate.converter.type": "nothing"}, "no serializer is called 'nothing'"),
        (
            {"delegate.converter.type": "json", "delegate.converter.type.schema.enable": 1},
            r"type\.schema\.enable: unknown",
        ),
        ({"delegate.converter.type.schemas.enable": 1}, "delegate.converter.type: required"),
    ):
        with pytest.raises(ConfigError, match=said):
            model.load(options, "serializer")


def test_recorded_keys_and_rows_as_texts(data: JavaData) -> None:
    """Bytes differ, of which Java shows an object's address."""
    peer, made = JavaConverter(data, CLASSES["string"], {}), serializer("string")
    compared = 0
    for record in recorded("types"):
        row = record.value["after"] if isinstance(record.value, Struct) else None
        for part in filter(None, (record.key, row)):
            kept = [field.name for field in part.schema.fields if not _shows_bytes(field.schema)]
            plain = struct_schema("p", {name: part.schema.field(name).schema for name in kept})
            value = Struct(plain, tuple(part[name] for name in kept))
            assert ours(made, plain, value) == peer.write(value)
            compared += 1
    assert compared > 50


def _shows_bytes(schema: Schema) -> bool:
    if schema.type == "bytes" and schema.name != logical.DECIMAL_NAME:
        return True
    return any(_shows_bytes(field.schema) for field in schema.fields) or schema.type == "float32"


def recorded(scenario: str) -> Iterator[Record]:
    for name in ("snapshot", "stream"):
        yield from read_records((RECORDED / "mysql97-mysql-3.6.3" / scenario / f"{name}.jsonl").open("rb"))


def test_another_character_set() -> None:
    made = serializer("string", **{"converter.encoding": "ISO-8859-1"})
    assert (ours(made, STRING, "Zoë"), made.value_form) == (b"Zo\xeb", "bytes")
    with pytest.raises(ConfigError, match=r"converter\.encoding: should be the name of a character set"):
        config_model(find("serializer", "string")).load({"converter.encoding": "nothing"}, "serializer")


# What writes each part


WRITTEN = {"json": b'"v"', "string": b"v", "simple": b"v", "binary": b'"v"'}


@pytest.fixture
def scripted() -> Iterator[None]:
    plugin_manager().register(plugin, name="scripted")
    yield
    plugin_manager().unregister(name="scripted")


def options_of(kind: str, prefix: str = "") -> dict[str, Any]:
    more: dict[str, Any] = {"json": {"schemas.enable": False}}.get(kind, {})
    if kind == "binary":
        more = {"delegate.converter.type": "json", "delegate.converter.type.schemas.enable": False}
    return {f"{prefix}{name}": value for name, value in {"type": kind, **more}.items()}


def load(folder: Path, serializer: dict[str, Any], **others: Any) -> ResolvedPipeline:
    path = folder / "pipeline.json"
    source = {"type": "scripted", "script": str(folder / "script.jsonl")}
    path.write_text(json.dumps({"runner": "direct", "source": source, "serializer": serializer, **others}))
    return load_pipeline(path)


@pytest.mark.usefixtures("scripted")
@pytest.mark.parametrize(("values", "keys", "headers"), [*product(WRITTEN, repeat=3)])
def test_each_part_is_written_by_its_own(tmp_path: Path, values: str, keys: str, headers: str) -> None:
    """Whatever is combined, in this process or, as on Spark, in another one."""
    chosen = {**options_of(values), **options_of(keys, "key."), **options_of(headers, "header.")}
    pipeline = pickle.loads(pickle.dumps(load(tmp_path, chosen)))
    text = SchemaAndValue(STRING, "v")
    messages = make_encoder(pipeline)([Record("t", text, text, (Header("h", "v"),), position="p")])
    assert (messages.keys, messages.values) == ([WRITTEN[keys]], [WRITTEN[values]])
    assert messages.headers == [(("h", WRITTEN[headers]),)]


@pytest.mark.usefixtures("scripted")
def test_a_connector_names_each_converter(tmp_path: Path) -> None:
    options = {
        "connector.class": "test.ScriptedConnector",
        "script": "s",
        "key.converter": CLASSES["string"],
        "key.converter.converter.encoding": "UTF-16",
        "value.converter": CLASSES["binary"],
        "value.converter.delegate.converter.type": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.delegate.converter.type.schemas.enable": "false",
        "header.converter": CLASSES["string"],
    }
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"name": "c", "config": options}))
    pipeline = load_pipeline(path, overrides=["header.converter=io.debezium.converters.BinaryDataConverter"])
    chosen = [pipeline.key_serializer, pipeline.serializer, pipeline.header_serializer]
    assert [part and part.registration.name for part in chosen] == ["string", "binary", "binary"]
    [written] = make_encoder(pipeline)([Record("t", SchemaAndValue(STRING, "k"), SchemaAndValue(STRING, "v"))]).keys
    assert (written or b"").decode("utf-16") == "k"
    path.write_text(json.dumps({"name": "c", "config": {**options, "key.converter.schemas.enable": "false"}}))
    with pytest.raises(ConfigError, match=r"key\.converter\.schemas\.enable: unknown option"):
        load_pipeline(path)


@pytest.mark.usefixtures("scripted")
def test_bytes_are_for_values_and_leave_headers_plain(tmp_path: Path) -> None:
    encode = make_encoder(load(tmp_path, {"type": "bytes"}))
    messages = encode([Record("t", None, SchemaAndValue(BYTES, b"\0"), (Header("h", 7, INT32),))])
    assert (messages.values, messages.headers) == ([b"\0"], [(("h", b"7"),)])


@pytest.mark.usefixtures("scripted")
def test_a_file_shows_texts_as_strings_and_bytes_as_base64(tmp_path: Path) -> None:
    (tmp_path / "script.jsonl").write_text('{"a": "x"}\n')
    sink = {"type": "file", "path": str(tmp_path / "out.jsonl")}
    DirectRunner(load(tmp_path, {"type": "string"}, sink=sink)).run(once=True)
    [line] = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert (line["key"], line["value"]) == (None, "{a=x}")
    lines = LineWriter("bytes", "json", "text").lines(
        Messages(["t"], [None], [b"\0"], [b"{}"], [(("h", b'"'),)], [""], [None])
    )
    assert (shown := json.loads(lines))["key"] == "AA=="
    assert (shown["value"], shown["headers"]) == ({}, [{"key": "h", "value": '"'}])
