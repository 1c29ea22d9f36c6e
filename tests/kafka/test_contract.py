"""The contract of a sink, held to by the Kafka sink."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from cdckit.testing import Delivered, SinkSuite
from kafka.reading import read_topic, topic_names
from testkit.servers.kafka import KafkaBroker


class TestKafkaSink(SinkSuite):
    type_name = "kafka"

    @pytest.fixture(autouse=True)
    def _own_topic(self, kafka_broker: KafkaBroker, unique_name: str) -> None:
        self.broker = kafka_broker
        self.topic = unique_name

    def options(self) -> Mapping[str, Any]:
        return {"bootstrap.servers": self.broker.bootstrap, "topic.creation.default.partitions": 3}

    def delivered(self) -> Sequence[Delivered]:
        if self.topic not in topic_names(self.broker.bootstrap):
            return []
        return [
            Delivered(record.topic, _parsed(record.key), _parsed(record.value))
            for record in read_topic(self.broker.bootstrap, self.topic)
        ]


def _parsed(text: bytes | None) -> Any:
    return None if text is None else json.loads(text)
