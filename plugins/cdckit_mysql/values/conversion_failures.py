"""Values that cannot be shown, where the user wants them left out (`event.converting.failure.handling.mode`)."""

from __future__ import annotations

import logging
import struct
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

from cdckit import DecodeError, SourceCounts
from cdckit_mysql.table import TableId

log = logging.getLogger("cdckit.mysql")

Guard = Callable[[Callable[[], Any]], Any]
"""Calls a function that makes a value, and gives another value where it fails."""
FAILURES = (DecodeError, struct.error, IndexError, KeyError, ValueError, OverflowError)
"""What a value that does not fit its column's definition raises."""


class ConversionFailures:
    """Counts values that are left out; the first of each column is logged.

    Args:
        handling: `warn` logs each of them.

    Attributes:
        place: what is being read, for messages.
        skipped: how many values of each column were left out.
        counts: told of each of them, by table.
    """

    def __init__(self, handling: Literal["warn", "skip"]) -> None:
        self._handling = handling
        self.place = "snapshot"
        self.skipped: Counter[str] = Counter()
        self.counts = SourceCounts()

    def guard(self, table: TableId, column: str, instead: Any) -> Guard:
        """The guard of a column, which shows `instead`."""

        def guarded(read: Callable[[], Any]) -> Any:
            try:
                return read()
            except FAILURES as error:
                self._met(str(table), f"{table}.{column}", error)
                return instead

        return guarded

    def _met(self, table: str, column: str, error: Exception) -> None:
        self.counts.skipped[table] += 1
        self.skipped[column] += 1
        if self.skipped[column] == 1 or self._handling == "warn":
            log.warning(
                "%s: a value of %s cannot be shown and is left out, %d so far of this column: %s",
                self.place,
                column,
                self.skipped[column],
                error,
            )
