"""JSON with Apicurio's own interface: what its ExtJsonConverter writes, and what it reads of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cdckit.api.plugins import config_model, find, make
from cdckit.api.record import Record, SchemaAndValue
from cdckit.api.schema import INT32, STRING, struct_schema
from cdckit.api.struct import Struct
from cdckit.engine.serializers.json_schema.apicurio import ApicurioJsonSerializer
from cdckit.errors import ConfigError, SinkError
from core.java_converters import JavaConverter, JavaData, apart, jpype
from core.test_avro import recorded
from testkit.servers.apicurio_serdes import apicurio_jars
from testkit.servers.schema_registry import SchemaRegistry

ROW = struct_schema("p.shop.t.Value", {"id": INT32, "name": STRING.as_optional()})
VALUE = Struct(ROW, (7, "Zoë"))
REGISTER = {"apicurio.registry.auto-register": "true"}


@pytest.fixture(scope="module")
def data() -> Iterator[JavaData]:
    with apart(apicurio_jars()) as data:
        yield data


@pytest.fixture
def url(schema_registry: SchemaRegistry) -> str:
    return schema_registry.own_url


def serializer(url: str, **options: Any) -> ApicurioJsonSerializer:
    registration = find("serializer", "io.apicurio.registry.utils.converter.ExtJsonConverter")
    config, _ = config_model(registration).load({"apicurio.registry.url": url, **options}, "serializer")
    made: ApicurioJsonSerializer = make(registration, config)
    return made


def peer(data: JavaData, url: str) -> JavaConverter:
    name = "io.apicurio.registry.utils.converter.ExtJsonConverter"
    return JavaConverter(data, name, {"apicurio.registry.url": url, **REGISTER})


def test_what_is_written_is_what_its_converter_writes(data: JavaData, url: str, unique_name: str) -> None:
    """It finds the schemas that were registered here, and reads what was written."""
    made, java = serializer(url, **REGISTER), peer(data, url)
    values: list[Any] = [VALUE, SchemaAndValue(STRING, "x")]
    for number, value in enumerate(values):
        topic = f"{unique_name}-{number}"
        [written] = made.values([Record(topic, None, value)])
        assert written == java.write(value, topic)
    assert made.values([Record("t", None, SchemaAndValue(ROW.as_optional(), None))]) == [None]
    [written] = made.values([Record(f"{unique_name}-0", None, VALUE)])
    read = java.java.toConnectData(f"{unique_name}-0", jpype.JArray(jpype.JByte)(written))
    assert (str(read.value().get("name")), str(read.schema().name())) == ("Zoë", "p.shop.t.Value")


def test_recorded_events_are_what_they_are_there(data: JavaData, url: str, unique_name: str) -> None:
    made, java = serializer(url, **REGISTER), peer(data, url)
    for record in recorded("mysql97-mysql-3.6.3/dml-schema"):
        if record.value is not None and record.value.schema is not None:
            topic = f"{unique_name}.{record.topic}"
            [written] = made.values([Record(topic, None, record.value)])
            expected = java.write(record.value, topic)
            assert written is not None
            assert expected is not None
            assert json.loads(written) == json.loads(expected)


def test_a_schema_must_be_there_where_none_is_registered(url: str, unique_name: str) -> None:
    with pytest.raises(SinkError, match=rf"as the artifact {unique_name}-value of the group default .*auto-register"):
        serializer(url).values([Record(unique_name, None, VALUE)])


def test_artifacts_are_named_by_topics() -> None:
    with pytest.raises(ConfigError, match=r"artifact-resolver-strategy: should be topic or simple\.topic"):
        serializer("http://none", **{"apicurio.registry.artifact-resolver-strategy": "record"})
