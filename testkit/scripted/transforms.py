"""A transform and a predicate."""

from __future__ import annotations

from cdckit.api.record import Record
from cdckit.api.transform import Predicate, Transform
from testkit.scripted.config import RenameConfig, TopicIsConfig


class Rename(Transform):
    """Gives records another topic; one without a value cannot be renamed."""

    def __init__(self, config: RenameConfig) -> None:
        self.config = config

    def apply(self, record: Record) -> Record:
        if record.value is None:
            raise ValueError("a tombstone has no name")
        return record.replace(topic=self.config.topic)


class TopicIs(Predicate):
    """Holds for the records of one topic."""

    def __init__(self, config: TopicIsConfig) -> None:
        self.config = config

    def test(self, record: Record) -> bool:
        return record.topic == self.config.topic
