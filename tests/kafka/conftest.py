"""Fixtures of the Kafka sink's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from py4j.java_gateway import JavaGateway, find_jar_path

from kafka.secured import SecuredBroker, secured_broker
from testkit.servers.java import ensure_java
from testkit.servers.kafka import KafkaBroker


@pytest.fixture(scope="session")
def java(kafka_broker: KafkaBroker) -> Iterator[JavaGateway]:
    """A Java process with Kafka's own clients."""
    gateway = JavaGateway.launch_gateway(
        classpath=f"{kafka_broker.jars}/*",
        jarpath=find_jar_path(),
        java_path=str(ensure_java()),
        javaopts=["-Xmx128m", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"],
        die_on_exit=True,
    )
    yield gateway
    gateway.shutdown()


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """One broker that wants logins, for all tests of a module."""
    with secured_broker(tmp_path_factory.mktemp("certificates")) as broker:
        yield broker
