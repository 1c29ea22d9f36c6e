"""HasHeaderKey: does the record carry a certain header?"""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from cdckit import PluginConfig, Predicate, Record


class HasHeaderKeyConfig(PluginConfig):
    """Which header is meant."""

    name: Annotated[str, StringConstraints(min_length=1)]
    """The header's name."""


class HasHeaderKey(Predicate):
    """Whether at least one header has the name."""

    def __init__(self, config: HasHeaderKeyConfig) -> None:
        self._name = config.name

    def test(self, record: Record) -> bool:
        """Whether the record has the header."""
        return record.header(self._name) is not None
