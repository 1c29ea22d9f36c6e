"""What a source takes over from Debezium's connectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ConnectOffset:
    """One offset.

    Attributes:
        connector: the connector's name.
        partition: which of its offsets this is, such as `{"server": "PREFIX"}`.
        offset: None where it was deleted.
    """

    connector: str
    partition: Mapping[str, Any]
    offset: dict[str, Any] | None


HistoryRecord = dict[str, Any]
"""A document of the history: `source`, `position`, `databaseName`, `ddl`, `tableChanges` …."""
