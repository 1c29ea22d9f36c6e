"""Whether a log is whole (checksums, and places that follow each other), and what is said of bytes that are damaged.

MySQL source documentation, "class Log_event_footer" and "class Format_description_event": CRC-32 of the whole event,
little end first. The checksum of bytes with their own behind them is always the same number.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from zlib import crc32

from cdckit import DecodeError
from cdckit.connector import damage
from cdckit_mysql.binlog import event_types
from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.place import HEADER

# An event is read when it is asked for, so the readers of its members are many and look at nothing twice. Each layer
# that goes over events catches what they raise in one place, around its loop.
DAMAGE: tuple[type[Exception], ...] = (*damage.DAMAGE, DecodeError)
"""What reading bytes that are not what they should be may end in, an error without a place among it."""
_SHOWN = 32
"""So many bytes of an event's body are shown."""
_HEADER = 19
_TYPE = 4
CHECKSUM_SIZE = 4
CRC32 = 1
"""What a FORMAT_DESCRIPTION says before its own checksum, where events end in one."""
WHOLE = 0x2144DF1C
"""The CRC-32 of anything that ends in its own."""
_LOW = 0xFFFFFFFF
_CODE = 4
_SIZE_AND_END = Struct("<II").unpack_from
_SIZE_AT = 9
_FIXED = 19 + 8
"""Header and position of a ROTATE."""
_U64 = Struct("<Q").unpack_from
_HEARTBEATS = frozenset({event_types.HEARTBEAT, event_types.HEARTBEAT_V2})
_UNUSUAL = _HEARTBEATS | {event_types.ROTATE, event_types.FORMAT_DESCRIPTION}
_BEGINNINGS = frozenset(
    {
        event_types.GTID,
        event_types.ANONYMOUS_GTID,
        event_types.TAGGED_GTID,
        event_types.MARIADB_GTID,
        event_types.PREVIOUS_GTIDS,
        event_types.MARIADB_GTID_LIST,
        event_types.STOP,
        event_types.ROTATE,
    }
)
"""What may follow transactions that a server leaves out, as they are read already."""


class LogIntegrity:
    """Looks at the events of one log as they come.

    Args:
        file: the file that the first event stands in, "" if a ROTATE will tell.
        position: where in it the first event stands.
        checksums: whether events end in checksums, until a FORMAT_DESCRIPTION tells.
        leaves_out: whether the server may leave out whole transactions, which it does when it is asked by GTID.
        in_file: whether the events are read from the file itself, where nothing is left out and each FORMAT_DESCRIPTION
            has a checksum that is right; a server that changes one sees to that only where events have checksums.

    Attributes:
        position: the place behind the last event that was found whole.
    """

    __slots__ = ("_checksums", "_file", "_in_file", "_leaves_out", "_placed", "_relayed", "position")

    def __init__(
        self, file: str, position: int, *, checksums: bool, leaves_out: bool = False, in_file: bool = False
    ) -> None:
        self._file = file
        self.position = position
        self._checksums = checksums
        self._leaves_out = leaves_out
        self._in_file = self._placed = in_file
        self._relayed = False

    def whole(self, spans: Sequence[Span]) -> tuple[Sequence[Span], DecodeError | None]:
        """The events up to the first that is not whole, and what is wrong with that one."""
        checksums, position, unusual = self._checksums, self.position, _UNUSUAL
        number, held, view = 0, b"", memoryview(b"")
        try:
            for number, (buffer, at, end) in enumerate(spans):
                # Hundreds of events lie in one buffer; the view lets their checksums be made without a copy of each.
                if buffer is not held:
                    held, view = buffer, memoryview(buffer)
                size, behind = _SIZE_AND_END(buffer, at + _SIZE_AT)
                if buffer[at + _CODE] in unusual or behind - size != position or size != end - at:
                    self.position = position
                    fault = self._unusual(buffer, at, end)
                    if fault is not None:
                        return spans[:number], fault
                    checksums, position = self._checksums, self.position
                # With the checksum's own bytes at the end any whole event comes to one number: nothing has to be cut
                # off and compared.
                elif checksums and crc32(view[at:end]) != WHOLE:
                    self.position = position
                    return spans[:number], self._damaged(position)
                else:
                    position = behind
        except DAMAGE as error:  # what is shorter than it can be
            _, at, end = spans[number]
            return spans[:number], misread(self._file, position, spans[number][0][at:end], error)
        self.position = position
        return spans, None

    def _unusual(self, buffer: bytes, at: int, end: int) -> DecodeError | None:
        """Looks at an event that has no place of its own, tells of others, or does not follow the one before."""
        header = HEADER.unpack_from(buffer, at)
        code, size, behind = header[1], header[3], header[4]
        describes = code == event_types.FORMAT_DESCRIPTION
        checksums = buffer[end - CHECKSUM_SIZE - 1] == CRC32 if describes else self._checksums
        ends_in_one = checksums or (describes and self._in_file)
        if size != end - at or (ends_in_one and crc32(memoryview(buffer)[at:end]) != WHOLE):
            return self._damaged(self.position)
        if describes:
            self._checksums = checksums
            # A relay log keeps the places that its events had at their source: they follow each other only now and
            # then.
            self._relayed |= bool(header[5] & event_types.LOG_EVENT_RELAY_LOG_F)
            self.position, self._placed = max(self.position, behind), self._in_file
            return None
        placed = behind and not header[5] & event_types.LOG_EVENT_ARTIFICIAL_F and code not in _HEARTBEATS
        fault = self._place(code, behind - size, behind) if placed else None
        if code == event_types.ROTATE:
            self._rotate(buffer, at, end)
        return fault

    def _rotate(self, buffer: bytes, at: int, end: int) -> None:
        """What follows stands elsewhere."""
        if self._in_file:
            return  # but not in this one
        limit = end - CHECKSUM_SIZE if self._checksums else end
        self._file = buffer[at + _FIXED : limit].decode("utf-8", "replace")
        self.position, self._placed = int(_U64(buffer, at + 19)[0]), False

    def _place(self, code: int, start: int, behind: int) -> DecodeError | None:
        """An event's place, which may be greater than its header can tell."""
        # Places are compared as the 32 bits that headers have: less than half of the range ahead is ahead, more is
        # behind.
        ahead = (start - self.position) & _LOW
        first, self._placed = not self._placed, True
        skips = self._relayed or (ahead < 1 << 31 and (first or (self._leaves_out and code in _BEGINNINGS)))
        if ahead and not skips:
            what = "missing" if ahead < 1 << 31 else "doubled"
            return DecodeError(
                f"{self._file}:{self.position}: the event that follows says that it stands at {start & _LOW}: "
                f"events are {what}, the log is damaged"
            )
        self.position = behind if self._relayed else self.position + ahead + ((behind - start) & _LOW)
        return None

    def _damaged(self, position: int) -> DecodeError:
        return DecodeError(f"{self._file}:{position}: the checksum of the event is wrong: the log is damaged")


def misread(file: str, start: int, event: bytes, error: Exception) -> DecodeError:
    """The error for an event that cannot be understood; one that tells its place already is left as it is.

    Args:
        file: the file that the event stands in.
        start: where in it.
        event: the event's bytes, header and all.
        error: what reading it has raised.
    """
    place = f"{file}:"
    if isinstance(error, DecodeError) and place in str(error):
        return error
    reason = str(error) if isinstance(error, DecodeError) else damage.reason_of(error)
    kind = f"type {event[_TYPE]}, " if len(event) > _TYPE else ""
    body = event[_HEADER : _HEADER + _SHOWN].hex(" ") or "no body"
    return DecodeError(f"{place}{start}: the event ({kind}{len(event)} bytes, {body}) cannot be understood: {reason}")
