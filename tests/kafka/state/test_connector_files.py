"""Kafka Connect's store of offsets in topics, in a connector's configuration."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cdckit import ConfigError
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.state.place import StatePlace
from testkit.running import PASSWORD
from testkit.servers.kafka import KafkaBroker

CONNECTOR = {
    "connector.class": "io.debezium.connector.mysql.MySqlConnector",
    "topic.prefix": "shop",
    "database.hostname": "captured",
    "database.user": "reader",
    "database.server.id": "7",
    "schema.history.internal": "io.debezium.storage.kafka.history.KafkaSchemaHistory",
    "schema.history.internal.kafka.topic": "schema-changes",
    "schema.history.internal.kafka.bootstrap.servers": "b:1",
    "offset.storage": "org.apache.kafka.connect.storage.KafkaOffsetBackingStore",
}


def _load(folder: Path, **others: str) -> ResolvedPipeline:
    """The pipeline of a connector; underscores stand for dots."""
    given = {**CONNECTOR, **{name.replace("_", "."): value for name, value in others.items()}}
    (folder / "c.properties").write_text("\n".join(f"{name}={value}" for name, value in given.items()))
    return load_pipeline(folder / "c.properties")


def test_the_store_is_in_the_workers_kafka_and_topic(tmp_path: Path) -> None:
    pipeline = _load(
        tmp_path,
        bootstrap_servers="b:1,c:2",
        offset_storage_topic="offsets",
        offset_storage_partitions="25",
        offset_storage_replication_factor="3",
        security_protocol="SASL_SSL",
        sasl_mechanism="PLAIN",
        sasl_jaas_config=f'a.PlainLoginModule required username="u" password="{PASSWORD}";',
    )
    config: Any = pipeline.store.config
    assert pipeline.store.registration.name == "kafka"
    found = (config.bootstrap_servers, config.topic, config.histories, config.replication_factor)
    assert found == ("b:1,c:2", "offsets", "offsets-history", 3)
    settings = {"sasl.mechanisms": "PLAIN", "sasl.username": "u", "sasl.password": PASSWORD}
    assert settings.items() <= config.producer_settings.items()
    assert config.producer_settings["security.protocol"] == "SASL_SSL"
    said = "\n".join(pipeline.warnings)
    assert "offset.storage.partitions" in said or "partitions" in said
    assert "schema.history.internal=kafka keeps a copy in schema-changes" in said
    assert PASSWORD not in said + repr(pipeline)


def test_what_lacks_and_what_cannot_be_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^offset\.storage\.bootstrap\.servers: required"):
        _load(tmp_path, offset_storage_topic="offsets")
    with pytest.raises(ConfigError, match=r"^offset\.storage: .*state\.kafka\.ssl\.truststore\.location: .*PEM"):
        _load(tmp_path, bootstrap_servers="b:1", ssl_truststore_location="/trust.jks")
    with pytest.raises(ConfigError, match=r"^offset\.storage\.topic: "):
        _load(tmp_path, bootstrap_servers="b:1", offset_storage_topic="of fsets")


def test_the_state_is_there(kafka_broker: KafkaBroker, unique_name: str, tmp_path: Path) -> None:
    place = StatePlace.of(_load(tmp_path, bootstrap_servers=kafka_broker.bootstrap, offset_storage_topic=unique_name))
    with closing(place.open()) as store:
        store.put("a", 1)
    assert place.kept("a") == 1
    keys = [message.key() for message in kafka_broker.messages(unique_name)]
    assert b'["cdckit",{"pipeline":"shop","value":"a"}]' in keys
