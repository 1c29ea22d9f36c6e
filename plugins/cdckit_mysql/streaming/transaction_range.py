"""A range of the log by its transactions' identifiers, which is the same on every server of a topology.

Where a range was planned at one server and is read at another, neither files nor positions say where it ends, and
between its transactions may stand others: those that the server has carried out alone, or has got from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from cdckit_mysql.binlog import event_types
from cdckit_mysql.binlog.errors import PositionLostError
from cdckit_mysql.binlog.events import Gtid, MariaDbGtid, TaggedGtid
from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.gtid import GtidSet, MariaDbGtidSet, TransactionSource
from cdckit_mysql.binlog.integrity import CHECKSUM_SIZE, DAMAGE
from cdckit_mysql.binlog.place import HEADER, HEADER_SIZE
from cdckit_mysql.streaming.opened_log import LogOver, OpenedLog

_CODE = 4
"""Where an event's header holds its type."""
_BEGINS: dict[int, type[Gtid] | type[MariaDbGtid]] = {
    event_types.GTID: Gtid,
    event_types.TAGGED_GTID: TaggedGtid,
    event_types.MARIADB_GTID: MariaDbGtid,
}
_OF_THE_LOG = frozenset(
    {
        event_types.ROTATE,
        event_types.FORMAT_DESCRIPTION,
        event_types.PREVIOUS_GTIDS,
        event_types.STOP,
        event_types.INCIDENT,
        event_types.HEARTBEAT,
        event_types.HEARTBEAT_V2,
        event_types.MARIADB_GTID_LIST,
        event_types.MARIADB_BINLOG_CHECKPOINT,
        event_types.MARIADB_START_ENCRYPTION,
    }
)
"""Events that are no part of a transaction."""


class Transactions(Protocol):
    """Those of a range, as they are met."""

    @property
    def complete(self) -> bool:
        """Whether all of them have been met."""

    @property
    def missing(self) -> str:
        """The ones that have not been met and that a log may not lack, as text; "" for none."""

    def takes(self, event: Gtid | MariaDbGtid) -> bool:
        """Whether the transaction that begins with `event` is one of them, and met for the first time."""


class MySqlTransactions:
    """Those that one set has and another one lacks.

    Args:
        read: what lies before the range.
        end: what lies before its end.
        counts: which sources' transactions a log may not lack.
    """

    def __init__(self, read: GtidSet, end: GtidSet, counts: Callable[[TransactionSource], bool]) -> None:
        self._counts = counts
        self._wanted = end - read
        self._left = self._wanted.size
        self._met = GtidSet()

    @property
    def complete(self) -> bool:
        """See `Transactions`."""
        return not self._left

    @property
    def missing(self) -> str:
        """See `Transactions`."""
        return str((self._wanted - self._met).of(self._counts))

    def takes(self, event: Gtid | MariaDbGtid) -> bool:
        """See `Transactions`."""
        assert isinstance(event, Gtid)
        source, number = event.source, event.number
        if not self._wanted.contains(source, number) or self._met.contains(source, number):
            return False
        self._met.add(source, number)
        self._left -= 1
        return True


class MariaDbTransactions:
    """In each replication domain those behind one position, up to that of the end; a domain's order is one.

    Args:
        read: what lies before the range.
        end: what lies before its end.
        counts: which domains' transactions a log may not lack.
    """

    def __init__(self, read: MariaDbGtidSet, end: MariaDbGtidSet, counts: Callable[[str], bool]) -> None:
        self._counts = counts
        self._read = read
        known = dict(read.domains())
        self._last = {domain: last for domain, last in end.domains() if known.get(domain) != last}

    @property
    def complete(self) -> bool:
        """See `Transactions`."""
        return not self._last

    @property
    def missing(self) -> str:
        """See `Transactions`."""
        return str(MariaDbGtidSet({domain: last for domain, last in self._last.items() if self._counts(str(domain))}))

    def takes(self, event: Gtid | MariaDbGtid) -> bool:
        """See `Transactions`."""
        assert isinstance(event, MariaDbGtid)
        if event.domain not in self._last or self._read.contains(event.domain, event.sequence):
            return False
        if self._last[event.domain] == (event.server_id, event.sequence):
            del self._last[event.domain]
        return True


class TransactionRange(LogOver):
    """A log that gives the transactions of a range alone, and ends behind the last of them.

    Args:
        log: gives the log from the range's begin or before, and ends with it; closed with this one.
        transactions: the range's.

    Attributes:
        ended: whether all of them have been given.
    """

    def __init__(self, log: OpenedLog, transactions: Transactions) -> None:
        super().__init__(log)
        self._transactions = transactions
        self._taking = False
        self.ended = transactions.complete

    def packets(self, timeout: float) -> list[Span]:
        """The bytes of the range's events that have arrived; waits for the first up to `timeout` seconds.

        Raises:
            PositionLostError: the log ends before the range does.
            DecodeError: the begin of a transaction cannot be understood.
            SourceError: the log cannot be read.
        """
        while not self.ended:
            spans = self._log.packets(timeout)
            if kept := self._kept(spans):
                return kept
            if not spans:
                if self._log.ended:
                    self._finish()
                return []
        return []

    def _kept(self, spans: Sequence[Span]) -> list[Span]:
        kept: list[Span] = []
        for span in spans:
            code = span[0][span[1] + _CODE]
            if code in _BEGINS:
                # The last one ends where another begins, not where it is met: its rows are still to come.
                if self._transactions.complete:
                    self.ended = True
                    return kept
                self._taking = self._takes(code, span)
            if self._taking or code in _OF_THE_LOG:
                kept.append(span)
        return kept

    def _takes(self, code: int, span: Span) -> bool:
        try:
            return self._transactions.takes(self._beginning(code, span))
        except DAMAGE as error:
            raise self.parser.misread(span, error) from error

    def _beginning(self, code: int, span: Span) -> Gtid | MariaDbGtid:
        """The event; the parser is not asked, which is at an event before it."""
        buffer, at, end = span
        # Spans are looked at before the parser comes to them, and a parser that went ahead would take places and tables
        # from events that are left out.
        limit = end - CHECKSUM_SIZE * self.parser.checksums
        return _BEGINS[code](HEADER.unpack_from(buffer, at), 0, 0, buffer, at + HEADER_SIZE, limit)

    def _finish(self) -> None:
        """The log has ended."""
        if missing := self._transactions.missing:
            raise PositionLostError(
                f"the log that is read now lacks transactions of a range that was planned at another server ({missing})"
            )
        self.ended = True
