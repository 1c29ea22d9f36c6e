"""Where events stand in a file of the log, told from their headers alone."""

from __future__ import annotations

from struct import Struct

from cdckit_mysql.binlog import event_types
from cdckit_mysql.binlog.events import Header

HEADER = Struct("<IBIIIH")
"""timestamp, type, server id, size, end position, flags (MySQL source documentation, "class Log_event_header")."""

HEADER_SIZE = HEADER.size

_WRAP = 1 << 32
_PLACELESS = frozenset({event_types.HEARTBEAT, event_types.HEARTBEAT_V2})
_BEGINNINGS = frozenset(
    {event_types.GTID, event_types.ANONYMOUS_GTID, event_types.TAGGED_GTID, event_types.MARIADB_GTID}
)


class LogPlace:
    """Follows the position in one file. A header keeps only 32 bits of it; a transaction may be longer.

    Attributes:
        position: the position behind the last event.
    """

    __slots__ = ("position",)

    def __init__(self, position: int) -> None:
        self.position = position

    @property
    def far(self) -> bool:
        """Whether a header may not tell the whole position any more."""
        return self.position >= _WRAP // 2

    def advance(self, header: Header) -> tuple[int, int]:
        """Go over the next event and tell its start and end; both the same for one without a place in the log."""
        low = header[4]
        if not low or header[5] & event_types.LOG_EVENT_ARTIFICIAL_F or header[1] in _PLACELESS:
            return self.position, self.position
        # A transaction may pass 4 GiB, and a file with it. No event is as long as half of that, so the place that is
        # known says how often a header's number has begun anew.
        end = low
        if self.far:
            end += self.position - self.position % _WRAP
            if end < self.position:
                end += _WRAP
        self.position = end
        return end - header[3], end


class HeaderScan:
    """Goes over the events of one file by their headers alone: 1 µs an event, for those who plan what to read.

    Args:
        position: where the first event stands.
    """

    __slots__ = ("_place",)

    def __init__(self, position: int = 4) -> None:
        self._place = LogPlace(position)

    def scan(self, buffer: bytes, at: int) -> tuple[int, int, int, bool]:
        """The type, start and end of the event at `at`, and whether it begins a transaction.

        Reading may begin at an event that begins a transaction (MySQL before 5.7 without GTIDs has none: there, only
        behind an XID). A ROTATE sets the position to that of the file which follows, or is read.
        """
        header = HEADER.unpack_from(buffer, at)
        code = header[1]
        if code == event_types.ROTATE:
            start, end = self._place.advance(header)
            self._place.position = int.from_bytes(buffer[at + 19 : at + 27], "little")
            return code, start, end, False
        return code, *self._place.advance(header), code in _BEGINNINGS
