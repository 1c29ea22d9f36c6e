"""Logging in, certificates and rights, on a broker that checks them."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from cdckit.errors import SinkError
from cdckit_kafka.sink import KafkaSink
from kafka.reading import read_topic
from kafka.secured import PASSWORD, SecuredBroker
from kafka.writing import Outgoing, configured, deliver


def _login(user: str, password: str = PASSWORD) -> dict[str, Any]:
    return {
        "kafka.security.protocol": "sasl_plaintext",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.username": user,
        "kafka.sasl.password": password,
    }


def test_a_user_with_rights_writes(secured: SecuredBroker, unique_name: str) -> None:
    secured.allow("writer", unique_name, "create", "write")
    deliver(secured.sasl, [Outgoing(unique_name, b"k", b"v")], _login("writer"))
    assert [record.value for record in read_topic(secured.broker.bootstrap, unique_name)] == [b"v"]


def test_a_connectors_own_way_to_log_in_works(secured: SecuredBroker, unique_name: str) -> None:
    secured.allow("writer", unique_name, "create", "write")
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    options = {
        "producer.override.security.protocol": "SASL_PLAINTEXT",
        "producer.override.sasl.mechanism": "PLAIN",
        "producer.override.sasl.jaas.config": f'{module} required username="writer" password="{PASSWORD}";',
    }
    deliver(secured.sasl, [Outgoing(unique_name, b"k", b"v")], options)
    assert len(read_topic(secured.broker.bootstrap, unique_name)) == 1


def test_a_wrong_password_ends_the_start_without_showing_it(
    secured: SecuredBroker, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(SinkError, match="cannot log in to Kafka") as caught:
        deliver(secured.sasl, [], {**_login("writer", "hunter2"), "kafka.debug": "security,broker"})
    assert "Authentication" in str(caught.value)
    assert "hunter2" not in str(caught.value) + caplog.text


def test_tls_with_the_right_authority_works(secured: SecuredBroker, unique_name: str) -> None:
    secured.broker.create_topic(unique_name)
    options = {"kafka.security.protocol": "ssl", "kafka.ssl.ca.location": str(secured.authority)}
    secured.allow("ANONYMOUS", unique_name, "write")
    deliver(secured.tls, [Outgoing(unique_name, b"k", b"v")], options)
    assert len(read_topic(secured.broker.bootstrap, unique_name)) == 1


def test_a_certificate_of_an_unknown_authority_ends_the_start(secured: SecuredBroker) -> None:
    with pytest.raises(SinkError, match=r"cannot log in to Kafka .*certificate"):
        deliver(secured.tls, [], {"kafka.security.protocol": "ssl"})


def test_without_the_right_to_create_the_topic_is_named(secured: SecuredBroker, unique_name: str) -> None:
    with pytest.raises(SinkError, match=f"topic '{unique_name}' .*Grant the sink's user CREATE"):
        deliver(secured.sasl, [Outgoing(unique_name, b"k", b"v")], _login("guest"))


def test_without_the_right_to_write_the_topic_is_named(secured: SecuredBroker, unique_name: str) -> None:
    secured.broker.create_topic(unique_name)
    secured.allow("writer", f"{unique_name}.other", "write")
    secured.allow("writer", unique_name, "describe")
    with pytest.raises(SinkError, match=f"topic '{unique_name}' .*WRITE"):
        deliver(secured.sasl, [Outgoing(unique_name, b"k", b"v")], _login("writer"))


def test_a_user_who_may_write_nothing_gets_no_producer(secured: SecuredBroker, unique_name: str) -> None:
    secured.broker.create_topic(unique_name)
    secured.allow("guest", unique_name, "describe")
    with pytest.raises(SinkError, match=r"the Kafka producer cannot go on: .*CLUSTER_AUTHORIZATION_FAILED.*Grant"):
        deliver(secured.sasl, [Outgoing(unique_name, b"k", b"v")], _login("guest"))


def test_validation_sees_who_may_not_create_topics(secured: SecuredBroker) -> None:
    found = {finding.name: finding for finding in KafkaSink.check(configured(secured.sasl, _login("guest")))}
    assert found["connection"].status == "ok"
    assert found["right to create topics"].status == "warn"


def test_validation_sees_a_wrong_password(secured: SecuredBroker) -> None:
    [finding] = KafkaSink.check(configured(secured.sasl, {**_login("guest", "wrong"), "timeout": 1}))
    assert (finding.name, finding.status) == ("connection", "fail")
    assert "Authentication" in finding.message
