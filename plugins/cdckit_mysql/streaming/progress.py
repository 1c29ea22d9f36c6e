"""Where the reading of the log is: file, transaction in hand, GTIDs done; and the offset that this makes."""

from __future__ import annotations

from collections.abc import Mapping

from cdckit import DecodeError, StateError
from cdckit_mysql.binlog.events import AnonymousGtid, Gtid, LogEvent, MariaDbGtid
from cdckit_mysql.binlog.gtid import GtidSet, MariaDbGtidSet, TransactionSource
from cdckit_mysql.offsets import LogOffset, ToldPart, file_number

_LATEST_US = (1 << 63) // 1000
"""The first moment that is too late for a number of nanoseconds."""
_FIRST_EVENT = 4
"""Where the first event of a log file stands, behind the magic number."""


class LogProgress:
    """Follows the events of the log and knows the offset behind each.

    Within a transaction the offset stays at its begin, and counts the events that are done, the begin included:
    `events_done`, which grows from outside, as do the rows of each table that were told, `rows_told`. Of a transaction
    that another server has told in part it says how many events were numbered there, `events_told`.

    Args:
        start: where reading begins.
        mariadb: whose GTIDs they are.
    """

    def __init__(self, start: LogOffset, *, mariadb: bool) -> None:
        self.epoch = start.epoch
        self.server = start.server
        self.file = start.file
        self.server_id = start.server_id
        self.time_us = start.ts_sec * 1_000_000
        self.gtid: str | None = None
        self.alters_nothing = False
        """Whether the statement that follows is one that MariaDB tells of without having carried it out."""
        self.in_transaction = False
        self.alone = False
        self.events_done = 0
        self._mariadb = mariadb
        self._at = (start.file, start.pos)
        self._skip = start.event
        self._skip_rows = start.row
        self._end_told = start.end_told
        self._row_in_part = start.row_in_part
        self.rows_told: dict[str, int] = {}
        self.events_told: Mapping[str, int] | None = None
        self._told = start.told
        self._rows_left: dict[str, int] = {}
        self._gtids = gtid_set(start.gtids, mariadb=mariadb)
        self._by_gtid_until = start.by_gtid_until
        self._incremental = start.incremental
        self._next: tuple[TransactionSource, int] | tuple[int, int, int] | None = None
        self._announced = False
        self._source: TransactionSource | None = None
        self._source_text = ""

    def reads(self, file: str) -> None:
        """The events that come stand in this file. Those before the offset may come once more, or none at all.

        A file that a killed server has left ends without a word: the next one says that the log goes on there.
        """
        if self._at[0] and (self.in_transaction or self.resuming):
            self.file = file
        else:
            self.rotate(file, _FIRST_EVENT)

    def rotate(self, file: str, pos: int) -> None:
        """The log goes on in another file."""
        self.file = file
        # A reading that begins by GTID, or behind a failover, is led through the heads of files that lie before the
        # offset: the place never moves back. Numbers are compared, as binlog.1000000 sorts before binlog.999999.
        if not self._at[0] or (file_number(file), pos) > (file_number(self._at[0]), self._at[1]):
            self._at = (file, pos)

    def passed(self, event: LogEvent) -> None:
        """An event that is no part of a transaction is done."""
        if not self.in_transaction and not self._announced and self.file == self._at[0]:
            self._at = (self.file, max(self._at[1], event.end))

    def reached(self, end: LogOffset) -> bool:
        """Whether everything before `end` is done."""
        # A planned end lies between transactions, so a place within one cannot be it.
        if self.in_transaction:
            return False
        file, pos = self._at
        return (file_number(file), pos) >= (file_number(end.file), end.pos)

    def mysql_gtid(self, event: Gtid) -> None:
        """A transaction follows, with this identifier.

        Raises:
            DecodeError: it is none of this server's, or was committed at no time.
        """
        source, number = event.source, event.number
        if source != self._source:
            self._source, self._source_text = source, f"{source}:"
        self.gtid = f"{self._source_text}{number}"
        self._next = (source, number)
        self._follows(event)

    def anonymous(self, event: AnonymousGtid) -> None:
        """A transaction follows, without an identifier; raises as `mysql_gtid`."""
        self.gtid = self._next = None
        self._follows(event)

    def _follows(self, event: Gtid) -> None:
        self.server_id = event.server_id
        self.time_us = event.commit_timestamp_us or event.timestamp * 1_000_000
        if self._mariadb or self.time_us >= _LATEST_US:
            what = (
                "an identifier of MySQL's stands in MariaDB's log" if self._mariadb else f"{self.time_us} µs is no time"
            )
            raise DecodeError(f"the transaction's begin is damaged: {what}")
        self._announced = True

    def mariadb_gtid(self, event: MariaDbGtid) -> None:
        """A transaction begins, or a statement that stands alone; raises as `mysql_gtid`."""
        if not self._mariadb:
            raise DecodeError("the transaction's begin is damaged: an identifier of MariaDB's stands in MySQL's log")
        self.gtid = event.gtid
        self.server_id = event.server_id
        self.time_us = event.timestamp * 1_000_000
        self._next = (event.domain, event.server_id, event.sequence)
        self.alters_nothing = event.gtid_flags & event.DDL != 0 and event.alters_nothing
        self._announced = True

    def unannounced(self, event: LogEvent) -> None:
        """A transaction or statement begins with this event, unless an identifier came before it (MySQL 5.6)."""
        if not self._announced:
            self.gtid = None
            self.server_id = event.server_id
            self.time_us = event.timestamp * 1_000_000

    def begin(self, pos: int, *, alone: bool = False) -> None:
        """A transaction begins with the event at `pos`, or (`alone`) what one more event makes complete."""
        self.in_transaction = True
        self.alone = alone
        self._at = (self.file, pos)
        self.events_done = 1
        if self._told is not None and self._told.gtid == self.gtid:
            self.rows_told, self._rows_left = dict(self._told.rows), dict(self._told.left)
            self.events_told, self._told = self._told.events, None
        elif self.rows_told:
            self.rows_told, self._rows_left = {}, {}

    @property
    def resuming(self) -> bool:
        """Whether the transaction in hand was begun before reading was interrupted."""
        return self._skip > 0

    @property
    def end_told(self) -> bool:
        """Whether the end of the transaction in hand, which has come, was told before reading was interrupted."""
        return self._end_told and self.events_done == self._skip

    def skips(self) -> bool:
        """Whether the event in hand was done before reading was interrupted."""
        return self.events_done < self._skip

    def rows_to_skip(self, table: str, rows: int) -> int:
        """How many of the rows of the event in hand, which are a table's, were done before reading was interrupted."""
        if self._skip_rows and self.events_done == self._skip:
            return self._skip_rows
        skipped = min(rows, self._rows_left.get(table, 0)) if self._rows_left else 0
        if skipped:
            self._rows_left[table] -= skipped
        return skipped

    def row_in_part(self) -> int | None:
        """The number of the row in the event in hand of which perhaps only the first record was told."""
        return self._skip_rows - 1 if self._row_in_part and self.events_done == self._skip else None

    def commit(self, pos: int) -> None:
        """What was begun ends with the event that ends at `pos`."""
        # Not before the end: a set that held the transaction in hand would have the server leave its rest out.
        if self._next is not None and self._gtids is not None:
            self._gtids.add(*self._next)
        self._next = None
        self._at = (self.file, pos)
        self.in_transaction = self.alone = self._announced = False
        self.events_done = self._skip = self._skip_rows = 0
        self._end_told = self._row_in_part = False
        self.events_told = None
        if self.rows_told:
            self.rows_told, self._rows_left = {}, {}

    def offset(self) -> LogOffset:
        """Where to go on when everything up to here is safe."""
        # While events come again that were told before (`_skip`), the offset stays behind the last of these: another
        # interruption in between must not make less of what was done.
        return LogOffset(
            file=self._at[0],
            pos=self._at[1],
            gtids=None if self._gtids is None else str(self._gtids),
            event=max(self.events_done, self._skip) if self.in_transaction else self._skip,
            row=self._skip_rows if self.events_done <= self._skip else 0,
            server_id=self.server_id,
            ts_sec=self.time_us // 1_000_000,
            epoch=self.epoch,
            server=self.server,
            incremental=self._incremental,
            by_gtid_until=self._unsettled(),
            end_told=self._end_told,
            row_in_part=self._row_in_part and self.events_done <= self._skip,
            told=self._part_told(),
        )

    def _part_told(self) -> ToldPart | None:
        """What `LogOffset.told` says; other transactions may come before the one that it is of."""
        if not self.in_transaction or not self.rows_told or self.gtid is None:
            return self._told
        left = {table: rows for table, rows in self._rows_left.items() if rows}
        return ToldPart(self.gtid, dict(self.rows_told), left)

    def _unsettled(self) -> str:
        """What `LogOffset.by_gtid_until` says."""
        if self._by_gtid_until:
            file, _, pos = self._by_gtid_until.rpartition(":")
            if self._at[0] and (file_number(self._at[0]), self._at[1]) >= (file_number(file), int(pos)):
                self._by_gtid_until = ""
        return self._by_gtid_until

    def is_in(self, transactions: GtidSet | MariaDbGtidSet) -> bool:
        """Whether the transaction in hand, or the one that has been announced, is one of some."""
        match self._next:
            case TransactionSource() as source, int(number):
                return isinstance(transactions, GtidSet) and transactions.contains(source, number)
            case int(domain), _, int(sequence):
                return isinstance(transactions, MariaDbGtidSet) and transactions.contains(domain, sequence)
        return False

    def covers(self, transactions: GtidSet | MariaDbGtidSet) -> bool:
        """Whether all of some transactions are done."""
        return covers(self._gtids, transactions)

    def has(self, end: LogOffset) -> bool:
        """Whether the transactions before an offset are done, by their identifiers."""
        if self.in_transaction or self._gtids is None:
            return False
        return covers(self._gtids, gtid_set(end.gtids, mariadb=isinstance(self._gtids, MariaDbGtidSet)))


def gtid_set(text: str | None, *, mariadb: bool) -> GtidSet | MariaDbGtidSet | None:
    """The transactions that an offset names; None where it names none.

    Raises:
        StateError: the text names none of such a server.
    """
    if text is None:
        return None
    try:
        return MariaDbGtidSet.parse(text) if mariadb else GtidSet.parse(text)
    except (ValueError, AttributeError) as error:
        raise StateError(f"the offset's gtids are {text!r}, which name no transactions: {error}") from error


def covers(done: GtidSet | MariaDbGtidSet | None, wanted: GtidSet | MariaDbGtidSet | None) -> bool:
    """Whether all that are wanted are done; false where either has none to compare."""
    if isinstance(done, GtidSet) and isinstance(wanted, GtidSet):
        return done.issuperset(wanted)
    return isinstance(done, MariaDbGtidSet) and isinstance(wanted, MariaDbGtidSet) and done.issuperset(wanted)


def is_beyond(end: LogOffset, at: LogOffset, *, mariadb: bool) -> bool:
    """Whether the end of a server's log is further than an offset that counts on the same server."""
    if not at.by_gtid:
        # Another place is enough: on one server a log's end only moves on.
        return (end.file, end.pos) != (at.file, at.pos)
    return not covers(gtid_set(at.gtids, mariadb=mariadb), gtid_set(end.gtids, mariadb=mariadb))
