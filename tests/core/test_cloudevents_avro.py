"""CloudEvents with data in Avro, and in Avro as a whole: byte for byte what Debezium's converter writes."""

from __future__ import annotations

import base64
import io
import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest

from cdckit.api.plugins import config_model, find, make
from cdckit.api.serializer import Serializer
from cdckit.connector.connect_json.reader import read_records
from cdckit.errors import ConfigError
from core.java_converters import JavaConverter, JavaData, RefusedError, apart, peer_jars
from testkit.servers.apicurio_serdes import apicurio_jars
from testkit.servers.schema_registry import SchemaRegistry

INPUT = Path(__file__).parent / "cloudevents" / "input.jsonl"
JSON = {"serializer.type": "json", "data.serializer.type": "avro"}
AVRO = {"serializer.type": "avro", "data.serializer.type": "avro"}


def serializer(**options: Any) -> Serializer:
    registration = find("serializer", "cloudevents")
    made: Serializer = make(registration, config_model(registration).load(options, "serializer")[0])
    return made


@pytest.mark.parametrize(
    "options",
    [
        JSON,
        AVRO,
        {**JSON, "extension.attributes.enable": "false"},
        {**AVRO, "extension.attributes.enable": "false"},
        {**AVRO, "schema.cloudevents.name": "my-own.Name"},
        {**AVRO, "schema.cloudevents.name": "MyOwn", "schema.name.adjustment.mode": "none"},
    ],
)
def test_every_event_is_what_it_is_there(
    schema_registry: SchemaRegistry, unique_name: str, options: dict[str, str]
) -> None:
    options = {**options, "avro.schema.registry.url": schema_registry.url}
    peer = JavaConverter(JavaData(), "io.debezium.converters.CloudEventsConverter", options)
    made, compared = serializer(**options), 0
    for record in read_records(INPUT.open("rb")):
        if record.value is None:
            continue
        topic = f"{unique_name}.{record.topic}"
        try:
            expected = peer.write(record.value, topic)
        except RefusedError:
            continue
        there = _subjects(schema_registry, topic)
        assert made.values([record.replace(topic=topic)]) == [expected], record
        assert _subjects(schema_registry, topic) == there
        compared += expected is not None
    assert compared > 3
    assert made.value_form == ("json" if options["serializer.type"] == "json" else "bytes")


def _subjects(registry: SchemaRegistry, topic: str) -> dict[str, list[int]]:
    """The versions of each of a topic's subjects."""
    named = [one for one in json.loads(registry.get("/subjects")) if one.startswith(topic)]
    return {one: json.loads(registry.get(f"/subjects/{one}/versions")) for one in named}


@pytest.fixture(scope="module")
def with_apicurio() -> Iterator[JavaData]:
    """Debezium's classes with Apicurio's, apart from those of the other tests."""
    own = apicurio_jars()
    named = {re.sub(r"-\d.*", "", jar.name) for jar in own if "avro" in jar.name or "json-2" in jar.name}
    with apart([*(jar for jar in peer_jars() if re.sub(r"-\d.*", "", jar.name) not in named), *own]) as data:
        yield data


@pytest.mark.parametrize("ids", [{}, {"avro.apicurio.registry.as-confluent": "true"}], ids=["long", "as-confluent"])
@pytest.mark.parametrize("form", [JSON, AVRO], ids=["json", "avro"])
def test_with_apicurios_registry(
    with_apicurio: JavaData,
    schema_registry: SchemaRegistry,
    unique_name: str,
    form: dict[str, str],
    ids: dict[str, str],
) -> None:
    """Byte for byte what it is there, but for the URL of the data's schema, which leads somewhere here."""
    url = f"http://{schema_registry.host}:{schema_registry.port}/apis/registry/v2"
    options = {**form, **ids, "avro.apicurio.registry.url": url, "avro.apicurio.registry.auto-register": "true"}
    java = JavaConverter(with_apicurio, "io.debezium.converters.CloudEventsConverter", options)
    made, compared = serializer(**options), 0
    head = 5 if ids else 9
    for record in read_records(INPUT.open("rb")):
        if record.value is None:
            continue
        topic = f"{unique_name}.{record.topic}"
        try:
            expected = java.write(record.value, topic)
        except RefusedError:
            continue
        [written] = made.values([record.replace(topic=topic)])
        if expected is None or written is None:
            assert written == expected
            continue
        there, here = (_event(one, form, url, head) for one in (expected, written))
        schema, data = here.pop("dataschema"), here["data"]
        there.pop("dataschema")
        assert here == there, record
        number = int.from_bytes(data[1:head], "big")
        assert schema == f"{url}/ids/globalIds/{number}"
        with urllib.request.urlopen(schema, timeout=10) as answer:
            assert json.loads(answer.read())["type"] == "record"
        compared += 1
    assert compared > 3


def _event(message: bytes, form: dict[str, str], url: str, head: int) -> Any:
    """An event's members, the data as bytes."""
    if form is JSON:
        event = json.loads(message)
        return {**event, "data": base64.b64decode(event["data"])}
    with urllib.request.urlopen(f"{url}/ids/globalIds/{int.from_bytes(message[1:head], 'big')}", timeout=10) as answer:
        schema = fastavro.parse_schema(json.loads(answer.read()))
    return fastavro.schemaless_reader(io.BytesIO(message[head:]), schema, None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"serializer.type": "avro"}, r"data\.serializer\.type: should be avro where serializer\.type is"),
        (JSON, r"avro\.schema\.registry\.url: required"),
        (
            {**JSON, "avro.schema.registry.url": "http://x", "avro.schema.registry": 1},
            r"avro\.schema\.registry: unknown",
        ),
        ({**JSON, "avro.apicurio.registry.url": "http://x", "avro.schema.registry.url": "http://x"}, "unknown option"),
        ({**JSON, "avro.apicurio.registry.auto-register": "true"}, r"avro\.schema\.registry\.url: required"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        serializer(**options)


def test_a_login_is_never_shown() -> None:
    options = {**JSON, "avro.schema.registry.url": "http://x", "avro.basic.auth.user.info": "me:never-shown"}
    config, _ = config_model(find("serializer", "cloudevents")).load(options, "serializer")
    assert "never-shown" not in f"{config!r}{config.model_dump_json()}"
    assert config.avro.basic_auth_user_info.get_secret_value() == "me:never-shown"  # type: ignore[attr-defined]
