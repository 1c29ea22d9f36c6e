"""Where a planner cuts a transaction that is too large for one reader: before rows events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cdckit_mysql.binlog.events import Gtid, MariaDbGtid
from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.query import Query
from cdckit_mysql.streaming.event_counts import EventCounts, MakeCounting
from cdckit_mysql.streaming.log_pieces import LogPiece
from cdckit_mysql.streaming.opened_log import OpenedLog
from cdckit_mysql.streaming.rollback_filter import CommittedLog
from cdckit_mysql.streaming.transaction_in_hand import TransactionInHand

_COUNTED_PARTS = 4
"""A transaction whose events have to be counted for it is cut only if it has as much as so many pieces."""


@dataclass(frozen=True, slots=True)
class CutOptions:
    """How a stretch of the log may be cut.

    Attributes:
        piece_bytes: how large a piece is to be at least.
        transactions: whether transactions may be cut.
        farthest: the first place in a file that no reader can be sent to.
        texts: whether readers want the text of the statement that rows are of.
        counting: makes what counts the events of transactions, where their metadata are told; else None.
    """

    piece_bytes: int
    transactions: bool = True
    farthest: int = 1 << 63
    texts: bool = False
    counting: MakeCounting | None = None


class TransactionCuts:
    """Follows the transactions of one log, and says before which rows they are to be cut.

    Args:
        options: how it may be cut.
        connection: gives the log.
        mariadb: whose log it is.
    """

    def __init__(self, options: CutOptions, connection: OpenedLog, *, mariadb: bool) -> None:
        self._options = options
        self._connection = connection
        self._hand = TransactionInHand(mariadb=mariadb)
        self._counts: EventCounts | None = None
        self.announces, self.rows = self._hand.announces, self._hand.rows

    def begins(
        self, span: Span, start: int, at: int, event: Gtid | MariaDbGtid, counts: Callable[[MakeCounting], EventCounts]
    ) -> None:
        """An identifier tells of the transaction that follows.

        Args:
            span: the event.
            start: where it stands in its file.
            at: how many bytes of the range lie before it.
            event: the same, parsed.
            counts: makes what counts the transaction's events.
        """
        self._hand.begins(span, start, at)
        self._counts = None
        if not self._options.transactions:
            self._hand.stays_whole()
        elif self._options.counting is not None:
            # Told beforehand: when it has turned out to be large, most of what was to be counted has gone by.
            if self._told_bytes(event) >= self._options.piece_bytes * _COUNTED_PARTS:
                self._counts = counts(self._options.counting)
            else:
                self._hand.stays_whole()

    def statement(self, event: Query, span: Span, start: int, at: int) -> None:
        """A statement, which may begin the transaction; the arguments are those of `begins`."""
        if event.is_begin or event.starts_xa:
            self._hand.opens(span, start, at)
            if not self._options.transactions or (self._options.counting is not None and self._counts is None):
                self._hand.stays_whole()

    def says(self, span: Span) -> None:
        """The text of the statement whose rows follow."""
        if self._options.texts:
            self._hand.says(span)

    def stays_whole(self) -> None:
        """The transaction in hand is not to be cut any more."""
        self._hand.stays_whole()
        self._counts = None

    def ends(self) -> None:
        """What follows is no part of the transaction."""
        self._hand.ends()

    def due(self, piece: LogPiece, start: int, at: int) -> bool:
        """Whether a piece is to end before the rows that come; the other arguments are those of `begins`."""
        options = self._options
        return (
            piece.size >= options.piece_bytes
            and self._hand.large(at, piece.size, options.piece_bytes)
            and not piece.gaps
            and start < options.farthest
        )

    def begin(self, piece: LogPiece, *, checksums: bool) -> None:
        """Tells a piece that begins before the rows that come what its reader must know.

        Args:
            piece: the piece.
            checksums: whether the transaction's events end in checksums.
        """
        for buffer, table, _ in self._hand.tables:
            piece.names.announce(buffer, table)
        counts = {} if self._counts is None else self._counts.counts
        piece.begun = self._hand.begun(counts, checksums=checksums)

    def took(self, span: Span) -> None:
        """An event of the transaction belongs to the piece in hand."""
        if self._counts is not None and not self._counts.take(span):
            self.stays_whole()

    def _told_bytes(self, event: Gtid | MariaDbGtid) -> int:
        if isinstance(event, Gtid):
            return event.transaction_bytes
        return self._connection.given_bytes if isinstance(self._connection, CommittedLog) else 0
