"""What a reader has to know of a transaction that it begins to read within: planners cut large ones into parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cdckit_mysql.offsets import LogOffset


@dataclass(frozen=True, slots=True)
class BegunTransaction:
    """What lies before a place within a transaction, as far as the rest of it needs that.

    Attributes:
        pos: where in its file it begins.
        events: those before the place that say more than rows do: its identifier, its begin, the statement's text and
            the tables that are announced.
        checksums: whether these end in checksums.
        counts: how many events of it each table (`database.table`) has had, where its metadata are told.
    """

    pos: int
    events: tuple[bytes, ...]
    checksums: bool
    counts: Mapping[str, int]

    def resumed(self, start: LogOffset) -> LogOffset:
        """The place as that of an interrupted reading: nothing from before it is told again."""
        return start.with_changes(event=1, counts=self.counts)
