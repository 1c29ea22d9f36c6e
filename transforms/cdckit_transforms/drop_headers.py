"""DropHeaders: leaves headers out (Kafka Connect's transform of that name)."""

from __future__ import annotations

from cdckit import Header, Record, Transform
from cdckit_transforms.name_lists import SomeNames, names
from cdckit_transforms.record_part import KafkaConfig


class DropHeadersConfig(KafkaConfig):
    """Which headers go."""

    headers: SomeNames
    """The headers' names, with commas between."""


class DropHeaders(Transform):
    """Records without some of their headers."""

    def __init__(self, config: DropHeadersConfig) -> None:
        self._names = frozenset(names(config.headers))
        self._given: tuple[Header, ...] = ()
        self._kept: tuple[Header, ...] = ()

    @property
    def conceals(self) -> bool:
        """It does."""
        return True

    def apply(self, record: Record) -> Record:
        """The record without the headers; those that follow each other mostly share theirs."""
        given = record.headers
        if given is not self._given:
            kept = tuple(header for header in given if header.key not in self._names)
            self._given, self._kept = given, given if len(kept) == len(given) else kept
        if self._kept is given:
            return record
        return Record(
            record.topic, record.key, record.value, self._kept, record.position, record.timestamp, record.partition
        )
