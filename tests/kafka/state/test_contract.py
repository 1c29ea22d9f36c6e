"""The state store `kafka` keeps to its contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cdckit.testing import StateStoreSuite
from kafka.state.places import options_of
from testkit.servers.kafka import KafkaBroker


class TestKafkaStore(StateStoreSuite):
    type_name = "kafka"
    kills = 1
    """Each takes a broker long to notice; `tests/crash` has more of them."""

    @pytest.fixture(autouse=True)
    def _topic(self, kafka_broker: KafkaBroker, unique_name: str) -> None:
        self.broker, self.topic = kafka_broker, unique_name

    def options(self) -> Mapping[str, Any]:
        return options_of(self.broker, self.topic)
