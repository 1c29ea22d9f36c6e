"""Debezium Server's configuration as a pipeline: `application.properties`, and the operator's `DebeziumServer`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.errors import ConfigError
from cdckit_kafka.config import KafkaSinkConfig

PROPERTIES = """
debezium.sink.type=kafka
debezium.sink.kafka.producer.bootstrap.servers=${KAFKA:broker:9092}
debezium.sink.kafka.producer.key.serializer=org.apache.kafka.common.serialization.StringSerializer
debezium.sink.kafka.producer.value.serializer=org.apache.kafka.common.serialization.StringSerializer
debezium.sink.kafka.producer.linger.ms=5
debezium.source.connector.class=io.debezium.connector.mysql.MySqlConnector
debezium.source.offset.storage.file.filename=data/offsets.dat
debezium.source.offset.flush.interval.ms=60000
debezium.source.schema.history.internal=io.debezium.storage.file.history.FileSchemaHistory
debezium.source.schema.history.internal.file.filename=data/history.dat
debezium.source.database.hostname=${db.host}
debezium.source.database.user=cdc
debezium.source.database.password=${PASSWORD}
debezium.source.database.server.id=4711
debezium.source.topic.prefix=tutorial
debezium.source.table.include.list=shop.orders
debezium.transforms=route,mark
debezium.transforms.mark.type=org.apache.kafka.connect.transforms.InsertHeader
debezium.transforms.mark.header=seen
debezium.transforms.mark.value.literal=$${kept}
debezium.transforms.route.type=org.apache.kafka.connect.transforms.RegexRouter
debezium.transforms.route.regex=(.*)orders
debezium.transforms.route.replacement=$1all
debezium.transforms.route.predicate=orders
debezium.predicates=orders
debezium.predicates.orders.type=org.apache.kafka.connect.transforms.predicates.TopicNameMatches
debezium.predicates.orders.pattern=.*orders
debezium.format.value=json
debezium.format.value.schemas.enable=false
debezium.format.key.schemas.enable=false
quarkus.log.console.json=false
debezium.api.enabled=true
db.host=db.example
"""
RESOURCE: dict[str, Any] = {
    "apiVersion": "debezium.io/v1alpha1",
    "kind": "DebeziumServer",
    "metadata": {"name": "my-debezium"},
    "spec": {
        "image": "debezium/server:3.1",
        "quarkus": {"config": {"log.console.json": False}},
        "sink": {
            "type": "kafka",
            "config": {
                "producer.bootstrap.servers": "broker:9092",
                "producer.key.serializer": "org.apache.kafka.common.serialization.StringSerializer",
            },
        },
        "format": {
            "value": {"type": "json", "config": {"schemas.enable": False}},
            "key": {"config": {"schemas.enable": False}},
        },
        "transforms": [
            {
                "type": "org.apache.kafka.connect.transforms.RegexRouter",
                "config": {"regex": "(.*)orders", "replacement": "$1all"},
                "predicate": "orders",
                "negate": True,
            }
        ],
        "predicates": {
            "orders": {
                "type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
                "config": {"pattern": ".*orders"},
            }
        },
        "source": {
            "class": "io.debezium.connector.mysql.MySqlConnector",
            "offset": {"memory": {}, "flushMs": 5000},
            "schemaHistory": {"memory": {}},
            "config": {
                "database.hostname": "mysql",
                "database.user": "$${DBZ_USER}",
                "database.password": "$${PASSWORD}",
                "topic.prefix": "inventory",
            },
        },
    },
}
VARIABLES = {"PASSWORD": "hush-hush", "DBZ_USER": "dbz"}


def load(
    tmp_path: Path, content: str | dict[str, Any], *overrides: str, name: str = "application.properties", **how: Any
) -> ResolvedPipeline:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return load_pipeline(path, overrides, environment=VARIABLES | how.pop("environment", {}), **how)


def problems(tmp_path: Path, content: str | dict[str, Any], **how: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, content, **how)
    return "\n".join(caught.value.problems)


def kafka(pipeline: ResolvedPipeline) -> KafkaSinkConfig:
    assert isinstance(pipeline.sink.config, KafkaSinkConfig)
    return pipeline.sink.config


def options(pipeline: ResolvedPipeline) -> dict[str, Any]:
    return pipeline.source.config.model_dump()


def test_application_properties(tmp_path: Path) -> None:
    pipeline = load(tmp_path, PROPERTIES)
    assert (pipeline.name, pipeline.runner, pipeline.source.registration.name) == ("tutorial", "direct", "mysql")
    source = options(pipeline)
    assert (source["database_hostname"], source["database_user"]) == ("db.example", "cdc")
    assert source["database_password"].get_secret_value() == "hush-hush"
    assert kafka(pipeline).bootstrap_servers == "broker:9092"
    assert kafka(pipeline).producer == {"linger.ms": "5"}
    assert pipeline.offset_flush_interval_ms == 60000
    step, mark = pipeline.transforms
    assert (step.name, step.negate, step.predicate is not None) == ("route", False, True)
    assert mark.transform.config.value_literal == "${kept}"  # type: ignore[attr-defined]
    serializer = pipeline.serializer.config.model_dump()
    assert (serializer["value_schemas_enable"], serializer["key_schemas_enable"]) == (False, False)
    assert (serializer["header_format"], serializer["header_schemas_enable"]) == ("json", True)


def test_what_has_no_meaning_is_said(tmp_path: Path) -> None:
    (warning,) = [said for said in load(tmp_path, PROPERTIES).warnings if "without meaning" in said]
    for name in ("quarkus.log.console.json", "debezium.api.enabled", "debezium.sink.kafka.producer.key.serializer"):
        assert name in warning


def test_variables_and_the_command_line(tmp_path: Path) -> None:
    assert kafka(load(tmp_path, PROPERTIES, environment={"KAFKA": "k:1"})).bootstrap_servers == "k:1"
    pipeline = load(tmp_path, PROPERTIES, "source.database.port=3307", "transforms.route.regex=(x)", runner="spark")
    assert (options(pipeline)["database_port"], pipeline.runner) == (3307, "spark")
    assert pipeline.transforms[0].transform.config.regex == "(x)"  # type: ignore[attr-defined]
    elsewhere = load(tmp_path, PROPERTIES, "sink.path=out.jsonl", sink="file")
    assert elsewhere.sink.registration.name == "file"
    assert "PASSWORD" in problems(tmp_path, PROPERTIES.replace("${PASSWORD}", "${NO_PASSWORD}"))
    assert "'${a}' stands for itself" in problems(tmp_path, f"{PROPERTIES}\na=${{b}}\nb=${{a}}\n")


def test_a_resource_of_the_operator(tmp_path: Path) -> None:
    pipeline = load(tmp_path, RESOURCE, name="server.yaml")
    assert (pipeline.name, pipeline.runner, pipeline.source.registration.name) == ("inventory", "direct", "mysql")
    assert options(pipeline)["database_user"] == "dbz"
    assert kafka(pipeline).bootstrap_servers == "broker:9092"
    assert pipeline.offset_flush_interval_ms == 5000
    (step,) = pipeline.transforms
    assert (step.negate, step.predicate is not None) == (True, True)
    assert pipeline.serializer.config.model_dump()["value_schemas_enable"] is False
    assert "spec.image" in " ".join(pipeline.warnings)


def test_beside_other_resources(tmp_path: Path) -> None:
    text = f"kind: Secret\n---\n{json.dumps(RESOURCE)}\n"
    assert load(tmp_path, text, name="all.yaml").name == "inventory"


def test_offsets_in_a_store_that_there_is(tmp_path: Path) -> None:
    resource = json.loads(json.dumps(RESOURCE))
    resource["spec"]["source"]["offset"] = {"redis": {"address": "r:6379", "sslEnabled": True, "key": "offsets"}}
    store = load(tmp_path, resource, name="s.yaml").store
    assert store.registration.name == "redis"
    assert "r:6379" in str(store.config.model_dump())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (PROPERTIES.replace("sink.type=kafka", "sink.type=pulsar"), "debezium.sink.type: no sink is called 'pulsar'"),
        (PROPERTIES.replace("value=json", "value=xml"), "debezium.format.value: 'xml' is none of the formats json, "),
        (PROPERTIES.replace("source.database.user", "source.database.usr"), "debezium.source.database.usr: unknown"),
        (PROPERTIES.replace("producer.linger.ms", "lingering"), "debezium.sink.kafka.lingering: unknown"),
        ("debezium.source.topic.prefix=x\ndebezium.sink.type=kafka\n", "connector.class"),
    ],
)
def test_faults_are_named_as_they_stand_in_the_file(tmp_path: Path, content: str, said: str) -> None:
    assert said in problems(tmp_path, content)


def test_a_resource_with_a_fault(tmp_path: Path) -> None:
    resource = json.loads(json.dumps(RESOURCE))
    resource["spec"]["transforms"] = {"type": "x"}
    assert "spec.transforms: should be a list" in problems(tmp_path, resource, name="s.yaml")
    resource["spec"]["transforms"] = []
    resource["spec"]["sink"]["type"] = "pravega"
    assert "spec.sink.type: no sink is called 'pravega'" in problems(tmp_path, resource, name="s.yaml")
