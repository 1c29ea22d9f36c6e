"""Debezium's Redis stores in a connector's configuration."""

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
from testkit.servers.redis import RedisServer

CONNECTOR = {
    "connector.class": "io.debezium.connector.mysql.MySqlConnector",
    "topic.prefix": "shop",
    "database.hostname": "captured",
    "database.user": "reader",
    "database.server.id": "7",
    "schema.history.internal": "io.debezium.storage.redis.history.RedisSchemaHistory",
    "schema.history.internal.redis.address": "redis:6379",
    "schema.history.internal.redis.password": PASSWORD,
    "schema.history.internal.redis.key": "metadata:debezium:schema_history",
    "offset.storage": "io.debezium.storage.redis.offset.RedisOffsetBackingStore",
}


def _load(folder: Path, **others: str) -> ResolvedPipeline:
    """The pipeline of a connector with Redis stores; underscores stand for dots."""
    options = {f"offset.storage.redis.{name.replace('_', '.')}": value for name, value in others.items()}
    given = {**CONNECTOR, **options}
    (folder / "c.properties").write_text("\n".join(f"{name}={value}" for name, value in given.items()))
    return load_pipeline(folder / "c.properties")


def test_debeziums_options_are_known(tmp_path: Path) -> None:
    pipeline = _load(
        tmp_path,
        address="redis:6380",
        user="u",
        password=PASSWORD,
        db_index="3",
        key="metadata:debezium:offsets",
        ssl_enabled="true",
        ssl_hostname_verification_enabled="true",
        ssl_truststore_path="/trust.p12",
        ssl_truststore_password=PASSWORD,
        ssl_truststore_type="PKCS12",
        ssl_keystore_path="/own.p12",
        ssl_keystore_password=PASSWORD,
        ssl_keystore_type="PKCS12",
        connection_timeout_ms="1",
        socket_timeout_ms="2",
        retry_initial_delay_ms="3",
        retry_max_delay_ms="4",
        retry_max_attempts="5",
        wait_enabled="true",
        wait_timeout_ms="6",
        wait_retry_enabled="true",
        wait_retry_delay_ms="7",
        cluster_enabled="false",
    )
    config: Any = pipeline.store.config
    assert pipeline.store.registration.name == "redis"
    assert (config.host, config.port, config.redis_db_index, config.redis_user) == ("redis", 6380, 3, "u")
    assert config.redis_key == "metadata:debezium:offsets"
    waits = (config.redis_connection_timeout_ms, config.redis_socket_timeout_ms, config.redis_retry_initial_delay_ms)
    assert waits == (1, 2, 3)
    assert (config.redis_retry_max_attempts, config.redis_wait_timeout_ms, config.redis_wait_retry_delay_ms) == (
        5,
        6,
        7,
    )
    said = "\n".join(pipeline.warnings)
    assert "schema.history.internal.redis.address" in said
    assert "redis.ssl.truststore.type" in said
    assert PASSWORD not in said + repr(pipeline)


@pytest.mark.parametrize("address", ["redis", "redis://redis:6379", "u:secret@redis:6379", "redis:port", "a:1,b:2"])
def test_an_address_is_one_host_and_port(tmp_path: Path, address: str) -> None:
    with pytest.raises(ConfigError, match=r"^offset\.storage\.redis\.address: should be HOST:PORT") as refused:
        _load(tmp_path, address=address)
    assert "secret" not in str(refused.value)


def test_what_lacks_and_what_cannot_be_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"(?m)^offset\.storage\.redis\.address: required"):
        _load(tmp_path)
    with pytest.raises(ConfigError, match=r"^offset\.storage\.redis\.cluster\.enabled: not yet supported"):
        _load(tmp_path, address="redis:6379", cluster_enabled="true")


def test_the_state_is_there(redis_server: RedisServer, unique_name: str, tmp_path: Path) -> None:
    place = StatePlace.of(_load(tmp_path, address=redis_server.address, key=unique_name))
    with closing(place.open()) as store:
        store.put("a", 1)
    assert place.kept("a") == 1
    assert redis_server.execute("HGET", f"{unique_name}:{{shop}}:values", "a") == b"1"
