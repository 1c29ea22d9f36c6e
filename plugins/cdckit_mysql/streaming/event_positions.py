"""The positions of records, from the places of their events in the log."""

from __future__ import annotations

from cdckit_mysql.binlog.events import LogEvent
from cdckit_mysql.offsets import LogPosition
from cdckit_mysql.streaming.progress import LogProgress

_POS_DIGITS = 12
"""How many digits a position within a file has in the text of a record's position."""
EVENT_ROWS = 10**8
"""Events of a compressed transaction share a position: each gets so many row numbers of its own."""


class EventPositions:
    """Gives the events of one log their positions, in order.

    Args:
        progress: knows the epoch and the file.
    """

    def __init__(self, progress: LogProgress) -> None:
        self._progress = progress
        self._file = self._front = ""
        self._last_end = -1
        self._inner = 0

    def prefix(self, event: LogEvent) -> str:
        """What the positions of an event's records begin with."""
        file = self._progress.file
        if file != self._file:
            self._file, self._front = file, LogPosition(self._progress.epoch, file, 0).prefix[:-_POS_DIGITS]
        return f"{self._front}{event.end:012d}"

    def first(self, event: LogEvent) -> int:
        """The first row number of an event with records among those that share its position."""
        # Asked of events that are skipped, too: a reading that goes on within a transaction has to give the rest of it
        # the numbers that one without a stop gives, or a sink that knows records by their positions takes them twice.
        if event.end == self._last_end:
            self._inner += 1
        else:
            self._last_end, self._inner = event.end, 0
        return self._inner * EVENT_ROWS
