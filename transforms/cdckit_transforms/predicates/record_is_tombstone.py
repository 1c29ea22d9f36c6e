"""RecordIsTombstone: has the record no value?"""

from __future__ import annotations

from cdckit import PluginConfig, Predicate, Record
from cdckit_transforms.envelope import is_null


class RecordIsTombstoneConfig(PluginConfig):
    """There is nothing to set."""


class RecordIsTombstone(Predicate):
    """Whether the value is null."""

    def __init__(self, config: RecordIsTombstoneConfig) -> None:
        pass

    def test(self, record: Record) -> bool:
        """Whether the record's value is null, with or without a schema."""
        return is_null(record.value)
