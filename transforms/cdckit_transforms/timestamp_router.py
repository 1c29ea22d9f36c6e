"""TimestampRouter: topics with the record's time in their name (Kafka Connect's transform of that name)."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from cdckit import Record, Transform, TransformError
from cdckit.java.date_format import DateFormat
from cdckit_transforms.record_part import KafkaConfig


def _checked(pattern: str) -> str:
    DateFormat(pattern)
    return pattern


DatePattern = Annotated[str, AfterValidator(_checked)]
"""A pattern of Java's SimpleDateFormat."""


class TimestampRouterConfig(KafkaConfig):
    """How topics are called."""

    topic_format: str = "${topic}-${timestamp}"
    """The new topic, in which `${topic}` stands for the old one and `${timestamp}` for the time; in a pipeline file
    written `$${topic}` and `$${timestamp}`, since `${…}` is a variable there."""
    timestamp_format: DatePattern = "yyyyMMdd"
    """The time's pattern, one of Java's SimpleDateFormat; the time is UTC."""


class TimestampRouter(Transform):
    """Renames topics by the records' times; a record without one stops the pipeline."""

    def __init__(self, config: TimestampRouterConfig) -> None:
        self._format = DateFormat(config.timestamp_format)
        self._unit = self._format.unit
        self._topic_format = config.topic_format
        self._last: tuple[str, int] | None = None
        self._topic = ""

    def apply(self, record: Record) -> Record:
        """The record under its new topic; the last one is remembered, as those that follow mostly go there too."""
        time = record.timestamp
        if time is None:
            raise TransformError("the record has no timestamp, of which the topic is made (timestamp.format)")
        key = (record.topic, time // self._unit)
        if key != self._last:
            self._topic = self._named(record.topic, time)
            self._last = key
        return Record(self._topic, record.key, record.value, record.headers, record.position, time, record.partition)

    def _named(self, topic: str, time: int) -> str:
        return self._topic_format.replace("${topic}", topic).replace("${timestamp}", self._format.format(time))
