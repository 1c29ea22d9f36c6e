"""Fixtures of the tests that read real topics."""

from __future__ import annotations

from pathlib import Path

import pytest

from testkit.servers.kafka import KafkaBroker
from ticdc.topics import Topic


@pytest.fixture
def topic(kafka_broker: KafkaBroker, unique_name: str, tmp_path: Path) -> Topic:
    kafka_broker.create_topic(unique_name, 3)
    return Topic(kafka_broker, unique_name, tmp_path)
