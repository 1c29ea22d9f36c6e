"""CloudEvents: equal to what Debezium's own converter wrote, and what it does not say."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import yaml

from cdckit.api.plugins import config_model, find, make
from cdckit.api.record import Header, Record, SchemaAndValue
from cdckit.api.schema import FLOAT64, INT32, INT64, STRING, Schema, struct_schema
from cdckit.api.serializer import Serializer
from cdckit.api.struct import Struct
from cdckit.connector.connect_json.reader import read_records
from cdckit.engine.config.loading import load_pipeline
from cdckit.errors import ConfigError, TransformError

RECORDINGS = Path(__file__).parent / "cloudevents"
CASES: list[dict[str, Any]] = yaml.safe_load((RECORDINGS / "cases.yaml").read_text())
KEY = struct_schema("k", {"id": INT32})
ROW = struct_schema("t.Value", {"id": INT32}, optional=True)


def serializer(**options: Any) -> Serializer:
    registration = find("serializer", "cloudevents")
    config, _ = config_model(registration).load(options, "serializer")
    made: Serializer = make(registration, config)
    return made


def event(connector: str = "other", extra: Schema = STRING, time: str = "ts_ms") -> Record:
    """A change event of a connector that has a source block of its own."""
    source = struct_schema("s", {"connector": STRING, "name": STRING, time: INT64, "extra_one": extra})
    schema = struct_schema("t.Envelope", {"before": ROW, "after": ROW, "source": source, "op": STRING})
    value = (None, Struct(ROW, (1,)), Struct(source, (connector, "n", 86_399_001, "x")), "c")
    return Record("t", Struct(KEY, (1,)), Struct(schema, value), (Header("h", "v"),), position="00042")


def written(record: Record, **options: Any) -> Any:
    [value] = serializer(**options).serialize([record]).values
    return None if value is None else json.loads(value)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_every_value_is_what_it_is_there(case: dict[str, Any]) -> None:
    made = serializer(**case["options"])
    answers = [json.loads(line) for line in (RECORDINGS / f"{case['name']}.jsonl").read_text().splitlines()]
    records = read_records((RECORDINGS / "input.jsonl").open("rb"))
    for number, (record, answer) in enumerate(zip(records, answers, strict=True)):
        where = f"record {number} of topic {record.topic}"
        error = answer.get("error", "") if answer else ""
        if error and case["name"] == "tracing" and record.header("traceparent") is None:
            continue  # here the attribute is left out
        if error and not error.endswith("NullPointerException"):
            with pytest.raises(TransformError):
                made.serialize([record])
            continue
        [value] = made.serialize([record]).values
        expected = None if error else answer
        assert (value and json.loads(value)) == expected, where
        if expected is not None:
            assert value is not None
            assert list(json.loads(value)) == list(expected), where


def test_keys_and_headers_are_json() -> None:
    messages = serializer().serialize([event()])
    key = json.loads(messages.keys[0] or b"")
    assert (key["schema"]["name"], key["payload"]) == ("k", {"id": 1})
    assert json.loads(messages.headers[0][0][1] or b"")["payload"] == "v"
    plain = serializer(**{"schemas.enable": False}).serialize([event()])
    assert (plain.keys, plain.headers) == ([b'{"id":1}'], [(("h", b'"v"'),)])
    keys = serializer(**{"key.schemas.enable": False, "header.format": "simple"}).serialize([event()])
    assert (keys.keys, keys.headers) == ([b'{"id":1}'], [(("h", b"v"),)])


def test_a_connector_that_debezium_does_not_know_has_its_position_for_an_id() -> None:
    found = written(event(), **{"json.schemas.enable": False})
    assert found == {
        "id": "name:n;position:00042",
        "source": "/debezium/other/n",
        "specversion": "1.0",
        "type": "io.debezium.connector.other.DataChangeEvent",
        "time": "1970-01-01T23:59:59.001Z",
        "datacontenttype": "application/json",
        "iodebeziumop": "c",
        "iodebeziumconnector": "other",
        "iodebeziumname": "n",
        "iodebeziumtsms": "86399001",
        "iodebeziumextraone": "x",
        "iodebeziumtxid": None,
        "iodebeziumtxtotalorder": None,
        "iodebeziumtxdatacollectionorder": None,
        "data": {"before": None, "after": {"id": 1}},
    }


def test_a_source_block_that_cannot_be_attributes_is_named() -> None:
    with pytest.raises(TransformError, match=r"topic t, position 00042: .*'extra_one' of the source"):
        written(event(extra=FLOAT64))
    assert "data" in written(event(extra=FLOAT64), **{"extension.attributes.enable": False})


def test_a_source_block_of_before_debezium_0_10_is_refused() -> None:
    """That of `source.struct.version=v1`."""
    with pytest.raises(TransformError, match=r"topic t, position 00042: .* set source\.struct\.version=v2"):
        written(event(time="ts_sec"))


def test_what_is_no_change_event_has_a_null_value_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    other = Record("t", None, SchemaAndValue(STRING, "text"))
    with caplog.at_level(logging.WARNING):
        messages = serializer().serialize([other, other, Record("t", None, None)])
    assert messages.values == [None, None, None]
    assert caplog.messages == ["topic t holds no change events: as CloudEvents their values are null"]


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"metadata.source": "body"}, "should begin with value or header, not 'body'"),
        ({"metadata.source": "value,id:body"}, "'id:body' should be one of id, type, traceparent, dataSchemaName"),
        ({"metadata.source": "value,pos:header"}, "'pos:header' should be one of"),
        (
            {"metadata.source": "value,traceparent:generate", "opentelemetry.tracing.attributes.enable": True},
            "traceparent can be taken from a header alone",
        ),
        ({"serializer.type": "avro"}, "data.serializer.type: should be avro where serializer.type is"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigError) as refused:
        serializer(**options)
    assert fault in str(refused.value)


CONNECTOR = """
connector.class=io.debezium.connector.mysql.MySqlConnector
topic.prefix=p
database.hostname=127.0.0.1
database.user=u
database.password=p
value.converter=io.debezium.converters.CloudEventsConverter
"""


def test_a_connector_has_cloud_events_beside_json_keys(tmp_path: Path) -> None:
    file = tmp_path / "connector.properties"
    converters = {
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "key.converter.schemas.enable": "false",
        "value.converter.schemas.enable": "false",
        "value.converter.json.schemas.enable": "false",
        "value.converter.schema.cloudevents.name": "n",
    }
    file.write_text(CONNECTOR + "".join(f"{name}={value}\n" for name, value in converters.items()))
    pipeline = load_pipeline(file)
    chosen: Any = pipeline.serializer.config
    assert pipeline.serializer.registration.name == "cloudevents"
    assert (chosen.schemas_enable, chosen.json_schemas_enable) == (True, False)
    assert pipeline.key_serializer is not None
    keys: Any = pipeline.key_serializer.config
    assert (pipeline.key_serializer.registration.name, keys.schemas_enable) == ("json", False)
    assert "value.schemas.enable" in str(pipeline.warnings)


def test_json_values_cannot_have_cloud_events_for_keys(tmp_path: Path) -> None:
    file = tmp_path / "connector.properties"
    file.write_text(
        CONNECTOR.replace("value.converter=", "key.converter=")
        + "value.converter=org.apache.kafka.connect.json.JsonConverter\n"
    )
    with pytest.raises(ConfigError, match=r"key\.converter\.type: 'cloudevents' writes no keys by itself"):
        load_pipeline(file)
