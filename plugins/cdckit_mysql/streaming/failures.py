"""What becomes of events that cannot be decoded."""

from __future__ import annotations

import logging
from collections import Counter

from cdckit.errors import DecodeError
from cdckit.source_counts import SourceCounts
from cdckit_mysql.binlog.tables import TableMap
from cdckit_mysql.options.processing import FailureHandling

log = logging.getLogger("cdckit.mysql")


class Failures:
    """Stops at an event that cannot be decoded, or counts those that the user wants left out.

    Args:
        handling: `event.deserialization.failure.handling.mode`.

    Attributes:
        skipped: how many events of each table were left out.
        counts: told of each of them, too.
    """

    def __init__(self, handling: FailureHandling) -> None:
        self._handling = handling
        self.skipped: Counter[str] = Counter()
        self.counts = SourceCounts()

    def met(self, error: DecodeError, table: TableMap, place: str) -> None:
        """Takes a failure; the first of each table is logged whatever the mode is called.

        Raises:
            DecodeError: with the place and the table.
        """
        name = f"{table.database}.{table.name}"
        message = f"{place}: rows of {name} cannot be decoded: {error}"
        if self._handling == "fail":
            raise DecodeError(
                f"{message}; event.deserialization.failure.handling.mode=warn leaves such events out"
            ) from error
        self.skipped[name] += 1
        self.counts.skipped[name] += 1
        if self.skipped[name] == 1 or self._handling == "warn":
            log.warning("%s; left out, %d so far of this table", message, self.skipped[name])
