"""What `cdc validate --connect` finds about a broker."""

from __future__ import annotations

from typing import Any

from cdckit.api.checks import Checks, Finding
from cdckit_kafka.sink import KafkaSink
from kafka.writing import configured
from testkit.servers.kafka import KafkaBroker
from testkit.servers.ports import free_port


def _found(bootstrap: str, options: dict[str, Any] | None = None) -> dict[str, Finding]:
    assert isinstance(KafkaSink, Checks)
    return {finding.name: finding for finding in KafkaSink.check(configured(bootstrap, options))}


def test_all_is_well(kafka_broker: KafkaBroker) -> None:
    found = _found(kafka_broker.bootstrap, {"topic.creation.default.replication.factor": 1})
    assert {name: finding.status for name, finding in found.items()} == {
        "connection": "ok",
        "replication.factor": "ok",
        "right to create topics": "ok",
    }
    assert found["connection"].message == f"1 broker at {kafka_broker.bootstrap}"


def test_more_replicas_than_brokers(kafka_broker: KafkaBroker) -> None:
    options = {
        "topic.creation.groups": "safe",
        "topic.creation.safe.include": "a.*",
        "topic.creation.safe.replication.factor": 3,
    }
    finding = _found(kafka_broker.bootstrap, options)["replication.factor"]
    assert finding.status == "fail"
    assert "3 replicas, but there are 1 brokers" in finding.message
    assert "replication.factor" not in _found(kafka_broker.bootstrap, {**options, "topic.creation.enable": "false"})


def test_nobody_answers() -> None:
    [finding] = _found(f"127.0.0.1:{free_port()}", {"timeout": 1}).values()
    assert (finding.name, finding.status) == ("connection", "fail")
    assert "Connection refused" in finding.message


def test_an_option_that_librdkafka_lacks(kafka_broker: KafkaBroker) -> None:
    [finding] = _found(kafka_broker.bootstrap, {"kafka.lingr.ms": 1}).values()
    assert finding.status == "fail"
    assert "sink.kafka.lingr.ms" in finding.message
