"""Avro with Apicurio's own interface: what its converter writes, and what it reads of ours."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from cdckit.api.plugins import config_model, find, make
from cdckit.api.record import Header, Record, SchemaAndValue
from cdckit.api.schema import BYTES, INT32, STRING, struct_schema
from cdckit.api.struct import Struct
from cdckit.engine.serializers.avro.apicurio import ApicurioAvroSerializer
from cdckit.engine.serializers.separate import SeparateSerializer
from cdckit.errors import ConfigError, RetriableSinkError, SinkError, TransformError
from core.java_converters import JavaConverter, JavaData, apart, jpype
from core.test_avro import recorded, whole
from testkit.servers.apicurio_serdes import apicurio_jars
from testkit.servers.ports import free_port
from testkit.servers.schema_registry import SchemaRegistry

KEY = struct_schema("p.shop.t.Key", {"id": INT32})
ROW = struct_schema("p.shop.t.Value", {"id": INT32, "name": STRING.as_optional()})
VALUE = Struct(ROW, (7, "Zoë"))
REGISTER = {"apicurio.registry.auto-register": "true"}
Written = tuple[bytes | None, list[tuple[str, bytes]]]


@pytest.fixture(scope="module")
def data() -> Iterator[JavaData]:
    with apart(apicurio_jars()) as data:
        yield data


@pytest.fixture
def url(schema_registry: SchemaRegistry) -> str:
    return schema_registry.own_url


def serializer(url: str, **options: Any) -> ApicurioAvroSerializer:
    registration = find("serializer", "avro-apicurio")
    config, _ = config_model(registration).load({"apicurio.registry.url": url, **options}, "serializer")
    made: ApicurioAvroSerializer = make(registration, config)
    return made


class Apicurio:
    """Its converter."""

    def __init__(self, data: JavaData, url: str, options: dict[str, str]) -> None:
        name = "io.apicurio.registry.utils.converter.AvroConverter"
        self._java = JavaConverter(data, name, {"apicurio.registry.url": url, **options}).java
        self._data = data
        self._headers = data.load("org.apache.kafka.common.header.internals.RecordHeaders")

    def write(self, topic: str, value: Any) -> Written:
        headers, given = self._headers(), self._data.read(value)
        made = self._java.fromConnectData(topic, headers, given.schema(), given.value())
        return bytes(made), [(str(one.key()), bytes(one.value())) for one in headers.toArray()]

    def read(self, topic: str, written: Written) -> Any:
        headers = self._headers()
        for key, value in written[1]:
            headers.add(key, jpype.JArray(jpype.JByte)(value))
        return self._java.toConnectData(topic, headers, jpype.JArray(jpype.JByte)(written[0]))


def ours(made: ApicurioAvroSerializer, topic: str, value: Any) -> Written:
    messages = made.serialize([Record(topic, None, value)])
    return messages.values[0], [(name, content or b"") for name, content in messages.headers[0]]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"apicurio.registry.use-id": "contentId"},
        {"apicurio.registry.headers.enabled": "false"},
        {"apicurio.registry.headers.enabled": "false", "apicurio.registry.as-confluent": "true"},
        {"apicurio.registry.headers.enabled": "false", "apicurio.registry.use-id": "contentId"},
    ],
)
def test_what_is_written_is_what_its_converter_writes(
    data: JavaData, url: str, unique_name: str, options: dict[str, str]
) -> None:
    """Whoever registers first: the other one finds the schema, and each reads what the other wrote."""
    peer, made = Apicurio(data, url, {**REGISTER, **options}), serializer(url, **REGISTER, **options)
    values: list[Any] = [VALUE, whole(filled=True), SchemaAndValue(STRING, "x"), SchemaAndValue(BYTES, b"\0\1")]
    for number, value in enumerate(values):
        topic = f"{unique_name}-{number}"
        written = ours(made, topic, value)
        assert written == peer.write(topic, value)
    row = peer.read(f"{unique_name}-0", ours(made, f"{unique_name}-0", VALUE))
    assert (str(row.value().get("name")), str(row.schema().name())) == ("Zoë", "p.shop.t.Value")


def test_recorded_events_are_what_they_are_there(data: JavaData, url: str, unique_name: str) -> None:
    peer, made = Apicurio(data, url, REGISTER), serializer(url, **REGISTER)
    for record in recorded("mysql97-mysql-3.6.3/dml-schema"):
        if record.value is not None and record.value.schema is not None:
            topic = f"{unique_name}.{record.topic}"
            assert ours(made, topic, record.value) == peer.write(topic, record.value)


_STRATEGY = "io.apicurio.registry.serde"
JAVA = {"topic": f"{_STRATEGY}.strategy.TopicIdStrategy"}


@pytest.mark.parametrize(
    ("strategy", "group", "artifact"),
    [
        ("topic", "mine", "{}-value"),
        (f"{_STRATEGY}.strategy.SimpleTopicIdStrategy", "mine", "{}"),
        (f"{_STRATEGY}.avro.strategy.RecordIdStrategy", "p.shop.t", "Value"),
        (f"{_STRATEGY}.avro.strategy.TopicRecordIdStrategy", "p.shop.t", "{}-Value"),
        (f"{_STRATEGY}.avro.strategy.TopicRecordIdStrategy", "mine", "{}-Value"),
        (f"{_STRATEGY}.strategy.TopicIdStrategy", "default", "{}-value"),
        (f"{_STRATEGY}.avro.strategy.QualifiedRecordIdStrategy", "mine", "p.shop.t.Value"),
    ],
)
def test_artifacts(data: JavaData, url: str, unique_name: str, strategy: str, group: str, artifact: str) -> None:
    """Where cdckit has registered a schema, Apicurio's class finds it."""
    options = {"apicurio.registry.artifact-resolver-strategy": strategy}
    if group == "mine":
        options["apicurio.registry.artifact.group-id"] = group
    written = ours(serializer(url, **REGISTER, **options), unique_name, VALUE)
    classes = {**options, "apicurio.registry.artifact-resolver-strategy": JAVA.get(strategy, strategy)}
    assert Apicurio(data, url, classes).write(unique_name, VALUE) == written
    assert json.loads(_get(f"{url}/groups/{group}/artifacts/{artifact.format(unique_name)}"))["name"] == "Value"


def _get(url: str, body: bytes | None = None) -> bytes:
    headers = {"Content-Type": "application/json"}
    asked = urllib.request.Request(url, body, headers)
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return bytes(answer.read())


def test_a_schema_must_be_there_where_none_is_registered(url: str, unique_name: str) -> None:
    with pytest.raises(SinkError, match=rf"as the artifact {unique_name}-value of the group default .*auto-register"):
        ours(serializer(url), unique_name, VALUE)
    there = ours(serializer(url, **REGISTER), unique_name, VALUE)
    assert ours(serializer(url), unique_name, VALUE) == there
    latest = {"apicurio.registry.find-latest": True}
    assert ours(serializer(url, **latest), unique_name, VALUE) == there
    other = Struct(struct_schema("p.shop.t.Value", {"id": STRING, "name": STRING}), ("7", "x"))
    with pytest.raises(TransformError, match="id: string cannot be written as the registered int"):
        ours(serializer(url, **latest), unique_name, other)


def test_an_incompatible_schema_is_refused_by_name(url: str, unique_name: str) -> None:
    ours(made := serializer(url, **REGISTER), unique_name, VALUE)
    rule = json.dumps({"type": "COMPATIBILITY", "config": "BACKWARD"}).encode()
    _get(f"{url}/groups/default/artifacts/{unique_name}-value/rules", rule)
    other = Struct(struct_schema("p.shop.t.Value", {"id": STRING}), ("7",))
    said = (
        rf"take the schema as the artifact {unique_name}-value of the group default, whose latest version differs: "
        r"id: was int, is string; name: is gone, was .*; it says: .*/fields/0/type"
    )
    with pytest.raises(SinkError, match=said):
        ours(made, unique_name, other)


def test_ids_stand_behind_the_records_own_headers(url: str, unique_name: str) -> None:
    """Those of the key before those of the value; a tombstone has none; whatever writes the headers."""
    made = serializer(url, **REGISTER)
    records = [
        Record(unique_name, Struct(KEY, (1,)), VALUE, (Header("own", "x"),)),
        Record(unique_name, Struct(KEY, (1,)), None),
    ]
    for one in (made, SeparateSerializer(made, made, make(find("serializer", "simple"), made._config))):
        first, second = one.serialize(records).headers
        names = ["own", "apicurio.key.globalId", "apicurio.key.encoding"]
        assert [name for name, _ in first] == [*names, "apicurio.value.globalId", "apicurio.value.encoding"]
        assert [name for name, _ in second] == names[1:]
        assert one.header_form == "bytes"


def test_faults(url: str, unique_name: str) -> None:
    with pytest.raises(RetriableSinkError, match=r"apicurio\.registry\.url: .* cannot be reached"):
        ours(serializer(f"http://127.0.0.1:{free_port()}", **REGISTER), unique_name, VALUE)
    with pytest.raises(SinkError, match=r"apicurio\.registry\.url: .* does not answer as a schema registry does"):
        ours(serializer(url.removesuffix("/apis/registry/v2"), **REGISTER), unique_name, VALUE)
    for options, said in (
        ({"apicurio.registry.auth.username": "me"}, "are given together"),
        ({"apicurio.registry.request.headers.x": "me"}, "not yet supported"),
    ):
        with pytest.raises(ConfigError, match=said):
            serializer(url, **options)
    with pytest.raises(ConfigError, match="belong in apicurio") as refused:
        serializer("http://me:never-shown@registry")
    assert "never-shown" not in str(refused.value)
