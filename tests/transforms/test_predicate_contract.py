"""The contract of a predicate, held to by Kafka Connect's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdckit.testing import PredicateSuite


class TestTopicNameMatches(PredicateSuite):
    type_name = "TopicNameMatches"

    def options(self) -> Mapping[str, Any]:
        return {"pattern": r"test\.shop\..*"}


class TestHasHeaderKey(PredicateSuite):
    type_name = "HasHeaderKey"

    def options(self) -> Mapping[str, Any]:
        return {"name": "key"}


class TestRecordIsTombstone(PredicateSuite):
    type_name = "RecordIsTombstone"
