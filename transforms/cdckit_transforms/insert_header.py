"""InsertHeader: gives each record the same header (Kafka Connect's transform of that name)."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from cdckit import Header, Record, Transform
from cdckit_transforms.connect_literal import parse_literal
from cdckit_transforms.record_part import KafkaConfig


def _checked(text: str) -> str:
    parse_literal(text)
    return text


class InsertHeaderConfig(KafkaConfig):
    """The header."""

    header: str
    """The header's name; a header that has it already stays beside the new one."""
    value_literal: Annotated[str, AfterValidator(_checked)]
    """The header's value, read as Kafka Connect reads headers: `true`, a number, a date, time or timestamp by ISO 8601,
    `[1, 2]` and `{"a": 1}` have such types, everything else is a text."""


class InsertHeader(Transform):
    """Records with one more header."""

    def __init__(self, config: InsertHeaderConfig) -> None:
        schema, value = parse_literal(config.value_literal)
        self._header = Header(config.header, value, schema)
        self._given: tuple[Header, ...] | None = None
        self._made: tuple[Header, ...] = ()

    def apply(self, record: Record) -> Record:
        """The record with the header; records that share their headers do so still."""
        given = record.headers
        if given is not self._given:
            self._given, self._made = given, (*given, self._header)
        return Record(
            record.topic, record.key, record.value, self._made, record.position, record.timestamp, record.partition
        )
