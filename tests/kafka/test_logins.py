"""Whoever reads or writes topics logs in as a connector's configuration says, and tells when brokers refuse."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from cdckit.connector.signals import SignalOptions
from cdckit.connector.signals.kafka import KafkaChannel
from cdckit.connector.takeover.history import HistoryClient, Patience, read_history
from cdckit.errors import RetriableSourceError, SourceError, StateError
from cdckit_mysql.schema_history.history import HISTORY
from kafka.secured import PASSWORD, SecuredBroker
from mysql.capture import Capture, changes, config_for
from testkit.servers.mysql_family import SQLServer
from ticdc.topics import pipeline_once

SECRET = "hunter2"


def _login(password: str = PASSWORD, *, user: str = "writer") -> dict[str, str]:
    """As the manual of Kafka's Java clients has it."""
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{module} required username="{user}" password="{password}";',
        "request.timeout.ms": "3000",
        "max.poll.records": "500",
    }


def _under(prefix: str, properties: dict[str, str]) -> dict[str, str]:
    return {f"{prefix}.{name}": value for name, value in properties.items()}


def _say(secured: SecuredBroker, topic: str, *documents: Any) -> None:
    producer = Producer({"bootstrap.servers": secured.broker.bootstrap})
    for document in documents:
        producer.produce(topic, json.dumps(document).encode(), b"p")
    assert producer.flush(30) == 0


def _channel(servers: str, topic: str, properties: dict[str, str]) -> KafkaChannel:
    given = {
        "signal.enabled.channels": "kafka",
        "signal.kafka.bootstrap.servers": servers,
        "signal.kafka.topic": topic,
        "signal.kafka.groupId": topic,
        **_under("signal.consumer", {"offset.commit.enabled": "true", **properties}),
    }
    return KafkaChannel(SignalOptions.load(given, "source")[0], "p")


def _reached(servers: str, topic: str, properties: dict[str, str]) -> KafkaChannel:
    """Tried again while the broker does not answer in time, as a runner does: its first group takes it seconds."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return _channel(servers, topic, properties)
        except RetriableSourceError:
            assert time.monotonic() < deadline


def _heard(channel: KafkaChannel) -> list[str]:
    """The ids of the first signals that come."""
    found: list[str] = []
    deadline = time.monotonic() + 30
    while not found and time.monotonic() < deadline:
        found = [signal.id for signal in channel.poll()]
    channel.close()
    return found


def _signal_topic(secured: SecuredBroker, topic: str) -> None:
    secured.broker.create_topic(topic)
    _say(secured, topic, {"id": "one", "type": "log", "data": {}})


def test_signals_come_by_a_connectors_login(secured: SecuredBroker, unique_name: str) -> None:
    _signal_topic(secured, unique_name)
    secured.allow("writer", unique_name, "read", "describe")
    secured.allow("writer", unique_name, "read", kind="group")
    assert _heard(_reached(secured.sasl, unique_name, _login())) == ["one"]


def test_signals_come_by_a_connectors_trust_in_a_certificate(secured: SecuredBroker, unique_name: str) -> None:
    _signal_topic(secured, unique_name)
    trusted = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(secured.authority),
    }
    assert _heard(_reached(secured.tls, unique_name, trusted)) == ["one"]


def test_a_wrong_password_ends_the_source_without_showing_it(secured: SecuredBroker, unique_name: str) -> None:
    """Trying again is in vain."""
    with pytest.raises(SourceError, match=r"the brokers refuse: .*options under signal\.consumer") as caught:
        _channel(secured.sasl, unique_name, _login(SECRET))
    assert not isinstance(caught.value, RetriableSourceError)
    assert f"signal.kafka.topic: {unique_name} cannot be read" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_topic_of_signals_that_the_user_may_not_see_ends_the_source(secured: SecuredBroker, unique_name: str) -> None:
    _signal_topic(secured, unique_name)
    secured.allow("guest", unique_name, "read", kind="group")
    with pytest.raises(SourceError, match=f"{unique_name} cannot .* refuse: .*Topic authorization failed"):
        _channel(secured.sasl, unique_name, _login(user="guest"))


def test_a_broker_that_is_away_is_told_with_its_options(unique_name: str) -> None:
    with pytest.raises(RetriableSourceError) as caught:
        _channel("127.0.0.1:1", unique_name, {"socket.timeout.ms": "1000"})
    said = str(caught.value)
    assert "signal.kafka.bootstrap.servers" in said
    assert "signal.consumer.security.protocol" in said
    assert "Connection refused" in said
    assert "KafkaError{" not in said


def _captured(server: SQLServer, secured: SecuredBroker, topic: str, database: str, **logins: dict[str, str]) -> Any:
    properties: dict[str, str] = {}
    for client, login in logins.items():
        properties |= _under(f"schema.history.internal.{client}", login)
    return config_for(
        server,
        database_include_list=database,
        schema_history_internal="kafka",
        schema_history_internal_kafka_bootstrap_servers=secured.sasl,
        schema_history_internal_kafka_topic=topic,
        **properties,
    )


def test_the_history_is_written_and_read_by_a_connectors_logins(
    secured: SecuredBroker, mysql_server: SQLServer, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    """One who may write, and another who may read, as connectors have them."""
    secured.allow("writer", unique_name, "create", "write", "describe")
    secured.allow("guest", unique_name, "read", "describe")
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; USE {unique_name}; CREATE TABLE t (id INT PRIMARY KEY);")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    logins = {"producer": _login(), "consumer": _login(user="guest")}
    config = _captured(mysql_server, secured, unique_name, unique_name, **logins)
    with Capture(config, tmp_path).closing() as reading:
        reading.once()
    mysql_server.run_sql("INSERT INTO t VALUES (1);", database=unique_name)
    with Capture(config, tmp_path).closing() as reading:
        reading.state.replace_history(HISTORY, [])
        assert changes(reading.once()) == [("c", "t", None, (1,))]


def test_brokers_that_refuse_the_historys_producer_are_told(
    secured: SecuredBroker, mysql_server: SQLServer, unique_name: str, tmp_path: Path
) -> None:
    config = _captured(mysql_server, secured, unique_name, "nothing", producer=_login(SECRET))
    with Capture(config, tmp_path).closing() as reading, pytest.raises(StateError) as caught:
        reading.once()
    said = str(caught.value)
    assert f"schema.history.internal.kafka.topic: {unique_name} cannot be had: the brokers refuse: " in said
    assert "options under schema.history.internal.producer" in said
    assert SECRET not in said


def test_a_history_is_taken_over_by_a_file_of_the_consumers_properties(
    secured: SecuredBroker, unique_name: str, tmp_path: Path
) -> None:
    secured.broker.create_topic(unique_name)
    records = [{"position": {"pos": number}} for number in range(3)]
    _say(secured, unique_name, *records)
    secured.allow("writer", unique_name, "read", "describe")
    place, file = f"kafka://{secured.sasl}/{unique_name}", tmp_path / "consumer.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in _login().items()))
    assert list(read_history(place, HistoryClient.of_file(file))) == records
    file.write_text("".join(f"{name}={value}\n" for name, value in _login(SECRET).items()))
    with pytest.raises(SourceError, match="options under --history-consumer") as caught:
        list(read_history(place, replace(HistoryClient.of_file(file), patience=Patience(query=2))))
    assert SECRET not in str(caught.value)


def test_a_topics_source_logs_in_by_options_of_java(secured: SecuredBroker, unique_name: str, tmp_path: Path) -> None:
    secured.broker.create_topic(unique_name)
    _say(secured, unique_name, {"before": None, "after": {"id": 1}, "source": {"db": "d", "table": "t"}, "op": "c"})
    secured.allow("writer", unique_name, "read", "describe")
    secured.allow("writer", "cdckit-test", "read", kind="group")
    source: dict[str, Any] = {
        "type": "debezium",
        "bootstrap.servers": secured.sasl,
        "topics": [unique_name],
        "group.id": "cdckit-test",
    }
    source["request.timeout.ms"] = 3000
    [line] = pipeline_once(tmp_path, {**source, **_under("kafka", _login())})
    assert line["value"]["after"] == {"id": 1}
    (refused := tmp_path / "refused").mkdir()
    with pytest.raises(SourceError, match=r"the brokers refuse: .*options under source\.kafka") as caught:
        pipeline_once(refused, {**source, **_under("kafka", _login(SECRET))})
    assert not isinstance(caught.value, RetriableSourceError)
    assert SECRET not in str(caught.value)
