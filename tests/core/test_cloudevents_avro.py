"""CloudEvents with data in Avro, and in Avro as a whole: byte for byte what Debezium's converter writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdckit.api.plugins import config_model, find, make
from cdckit.api.serializer import Serializer
from cdckit.connector.connect_json.reader import read_records
from cdckit.errors import ConfigError
from core.java_converters import JavaConverter, JavaData, RefusedError
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
        assert made.values([record.replace(topic=topic)]) == [expected], record
        compared += expected is not None
    assert compared > 3
    assert made.value_form == ("json" if options["serializer.type"] == "json" else "bytes")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"serializer.type": "avro"}, r"data\.serializer\.type: should be avro where serializer\.type is"),
        (JSON, r"avro\.schema\.registry\.url: required"),
        (
            {**JSON, "avro.schema.registry.url": "http://x", "avro.schema.registry": 1},
            r"avro\.schema\.registry: unknown",
        ),
        ({**JSON, "avro.apicurio.registry.url": "http://x"}, "not yet supported"),
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
