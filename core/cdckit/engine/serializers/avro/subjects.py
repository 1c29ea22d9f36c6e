"""Under which subject of the registry a schema stands (Confluent's subject name strategies)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from cdckit.engine.serializers.registered import Written

Strategy = Literal["topic", "record", "topic.record"]
Subject = Callable[[str, Written], str]
"""The subject of a topic and a schema."""

_PACKAGE = "io.confluent.kafka.serializers.subject"
CLASSES: dict[str, Strategy] = {
    f"{_PACKAGE}.TopicNameStrategy": "topic",
    f"{_PACKAGE}.RecordNameStrategy": "record",
    f"{_PACKAGE}.TopicRecordNameStrategy": "topic.record",
}


def subject_of(strategy: Strategy, part: str, name: Callable[[Written], str]) -> Subject:
    """The function of a strategy, for a topic's keys or values.

    It raises a `ValueError` where a schema has no name and the strategy wants one.

    Args:
        strategy: which.
        part: `key` or `value`.
        name: gives a schema's name.
    """
    if strategy == "topic":
        return lambda topic, _: f"{topic}-{part}"
    if strategy == "record":
        return lambda _, written: name(written)
    return lambda topic, written: f"{topic}-{name(written)}"


def record_name(written: Written) -> str:
    """The full name of a record's schema.

    Raises:
        ValueError: it is no record.
    """
    if isinstance(written, list):
        written = next((branch for branch in written if isinstance(branch, dict)), None)
    if not isinstance(written, dict) or written.get("type") != "record":
        raise ValueError("its schema is no record, so it has no name: choose the subject name strategy 'topic'")
    return f"{space}.{written['name']}" if (space := written.get("namespace")) else str(written["name"])
