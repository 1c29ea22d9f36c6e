"""Filter: drops records, those that its predicate means (Kafka Connect's transform of that name)."""

from __future__ import annotations

from cdckit import PluginConfig, Record, Transform


class FilterConfig(PluginConfig):
    """There is nothing to set; which records go is said by `predicate` and `negate`."""


class Filter(Transform):
    """Drops every record that it sees."""

    def __init__(self, config: FilterConfig) -> None:
        pass

    def apply(self, record: Record) -> None:
        """Nothing."""
