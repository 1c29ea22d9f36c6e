"""Pieces of the log that may be read at the same time, and the bytes of their events where a planner keeps these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.streaming.begun_transaction import BegunTransaction
from cdckit_mysql.streaming.named_definitions import NamedDefinitions
from cdckit_mysql.streaming.spool import Spool, SpooledEvents, SpoolFile
from cdckit_mysql.table import Tables

SPOOLED_BYTES = 2 << 30
"""A range that is larger is not kept: a transaction may be as large as it likes."""


@dataclass(slots=True)
class LogPiece:
    """A stretch of the log between two transactions, or a part of a large one.

    Attributes:
        start: where it begins.
        end: where it ends.
        tables: the definitions in force at its start.
        at: how many bytes of the range lie before it.
        event: how many events do.
        size: how many bytes it has.
        events: how many events.
        checksums: whether its events end in checksums.
        changes: whether statements within it change definitions.
        names: which definitions it names.
        gtids: the transactions up to its end, where others may stand between its own; else None.
        begun: what lies before it of a transaction that it begins within; else None.
        within: whether it ends within a transaction.
        gaps: whether events were left out of it that were rolled back (MariaDB): whoever asks for the log again has to
            have whole transactions to leave them out, too.
    """

    start: LogOffset
    end: LogOffset
    tables: Tables
    at: int = 0
    event: int = 0
    size: int = 0
    events: int = 0
    checksums: bool = False
    changes: bool = False
    names: NamedDefinitions = field(default_factory=NamedDefinitions)
    gtids: str | None = None
    begun: BegunTransaction | None = None
    within: bool = False
    gaps: bool = False

    @property
    def part(self) -> bool:
        """Whether it begins or ends within a transaction."""
        return self.within or self.begun is not None

    def take(self, size: int) -> None:
        """An event of so many bytes belongs to it."""
        self.size += size
        self.events += 1

    def add(self, other: LogPiece) -> None:
        """Takes the piece that follows."""
        self.end, self.gtids = other.end, other.gtids
        self.size += other.size
        self.events += other.events
        self.changes |= other.changes
        self.within = other.within
        self.gaps |= other.gaps
        self.names.add(other.names)


def joined_pieces(pieces: Sequence[LogPiece], most: int, least: int) -> list[LogPiece]:
    """Neighbours put together.

    Args:
        pieces: in order.
        most: how many there are to be at the most.
        least: how many bytes each is to have at least, but for the last one.
    """
    size = max(least, -(-sum(piece.size for piece in pieces) // max(1, most)))
    found: list[LogPiece] = []
    for piece in pieces:
        if found and (most <= 1 or (found[-1].size < size and _may_join(found[-1], piece))):
            found[-1].add(piece)
        else:
            found.append(replace(piece, names=_copied(piece.names)))
    return found


def _may_join(piece: LogPiece, following: LogPiece) -> bool:
    """Whether both together can be read alone."""
    return not ((piece.begun is not None or following.within) and (piece.gaps or following.gaps))


def _copied(names: NamedDefinitions) -> NamedDefinitions:
    copied = NamedDefinitions()
    copied.add(names)
    return copied


class KeptEvents:
    """The events of a range: few of them in memory, many in a file where there is a spool, else none.

    Args:
        most: how many bytes are kept in memory at the most.
        spool: where files are kept.
    """

    def __init__(self, most: int, spool: Spool | None) -> None:
        self._left, self._room = most, SPOOLED_BYTES
        self._spool = spool
        self._events: list[bytes] | None = []
        self._file: SpoolFile | None = None

    def take(self, span: Span) -> None:
        """The event that follows."""
        buffer, at, end = span
        if self._file is not None:
            self._file.write(memoryview(buffer)[at:end])
            self._room -= end - at
            if self._room < 0:
                self._file.remove()
        elif self._events is not None:
            self._left -= end - at
            self._events.append(buffer[at:end])
            # Those of a range are kept for all of its pieces, or for none.
            if self._left < 0:
                self._move()

    def _move(self) -> None:
        events, self._events = self._events or (), None
        self._file = None if self._spool is None else self._spool.file()
        if self._file is not None:
            for event in events:
                self._file.write(event)

    def finish(self) -> None:
        """Nothing follows."""
        if self._file is not None:
            self._file.finish()

    def within(self, piece: LogPiece) -> tuple[bytes, ...] | None:
        """The events of a piece where they are in memory."""
        return None if self._events is None else tuple(self._events[piece.event : piece.event + piece.events])

    def spooled(self, piece: LogPiece) -> SpooledEvents | None:
        """Where they are in a file."""
        if self._file is None or not self._file.whole:
            return None
        return SpooledEvents(str(self._file.path), piece.at, piece.size)

    def remove(self) -> None:
        """Lets go of all."""
        if self._file is not None:
            self._file.remove()


def spans_of(events: Sequence[bytes]) -> Iterator[Span]:
    """The spans of events that are kept in memory."""
    return ((event, 0, len(event)) for event in events)
