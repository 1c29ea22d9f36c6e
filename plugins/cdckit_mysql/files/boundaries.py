"""Where transactions end in a log file, and which identifiers have been seen up to there.

Only headers are read, but for statements and identifiers.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdckit import DecodeError
from cdckit_mysql.binlog import event_types
from cdckit_mysql.binlog.events import Gtid, LogEvent, MariaDbGtid, MariaDbGtidList, PreviousGtids
from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.gtid import GtidSet, MariaDbGtidSet, TransactionSource
from cdckit_mysql.binlog.integrity import DAMAGE
from cdckit_mysql.binlog.parser import EventParser
from cdckit_mysql.binlog.query import Query
from cdckit_mysql.files.reading import LogFileReader

_TYPE_AT = 4
_ENDS = frozenset({event_types.XID, event_types.XA_PREPARE, event_types.TRANSACTION_PAYLOAD})
_IDENTIFIED = frozenset({event_types.GTID, event_types.TAGGED_GTID})
_HEADERS = frozenset(
    {
        event_types.FORMAT_DESCRIPTION,
        event_types.PREVIOUS_GTIDS,
        event_types.MARIADB_GTID_LIST,
        event_types.MARIADB_BINLOG_CHECKPOINT,
    }
)
"""What a file begins with."""
_OF_MYSQL = (Gtid, PreviousGtids)
_OF_MARIADB = (MariaDbGtid, MariaDbGtidList)
_READ = _IDENTIFIED | {
    event_types.ANONYMOUS_GTID,
    event_types.MARIADB_GTID,
    event_types.PREVIOUS_GTIDS,
    event_types.MARIADB_GTID_LIST,
    event_types.QUERY,
    event_types.MARIADB_QUERY_COMPRESSED,
    event_types.EXECUTE_LOAD_QUERY,
}


@dataclass(frozen=True, slots=True)
class Boundary:
    """A place between two transactions.

    Attributes:
        position: in bytes from the file's begin.
        gtids: the transactions before it, from the log's own beginning on; None where the log has no identifiers.
        at_end: whether nothing follows in the file, not even a part of a transaction.
    """

    position: int
    gtids: str | None
    at_end: bool


def last_boundary(reader: LogFileReader, until: int | None = None) -> Boundary:
    """The last place between transactions in a file, or the last one that is not beyond `until`.

    The earliest is behind the events that every file begins with.

    Raises:
        SourceError: the file cannot be read.
        DecodeError: an event cannot be understood.
    """
    scan = _Scan(reader)
    while spans := reader.spans():
        at = reader.position - sum(end - start for _, start, end in spans)
        for span in spans:
            at += span[2] - span[1]
            if not scan.take(span, at, until):
                return Boundary(scan.at, scan.known, at_end=False)
    return Boundary(scan.at, scan.known, at_end=scan.at == reader.position and not reader.cut_short)


class _Scan:
    """Goes over the events of one file.

    Attributes:
        at: behind the last transaction that is complete, or event outside of one.
    """

    def __init__(self, reader: LogFileReader) -> None:
        self.at = reader.position
        self._mariadb = b"mariadb" in reader.description.lower()
        self._parser = EventParser(reader.file.name, reader.position, checksums=reader.checksums)
        self._gtids: GtidSet | MariaDbGtidSet | None = None
        self._next: tuple[TransactionSource, int] | tuple[int, int, int] | None = None
        self._announced = self._inside = False

    @property
    def known(self) -> str | None:
        """The identifiers up to `at`, as offsets hold them."""
        return None if self._gtids is None else str(self._gtids)

    def take(self, span: Span, behind: int, until: int | None) -> bool:
        """Takes the event that ends at `behind`; false where no place up to `until` can follow.

        Raises:
            DecodeError: it cannot be understood.
        """
        try:
            return self._take(span, behind, until)
        except DAMAGE as error:
            raise self._parser.misread(span, error) from error

    def _take(self, span: Span, behind: int, until: int | None) -> bool:
        code = span[0][span[1] + _TYPE_AT]
        if code in _IDENTIFIED and self._gtids is None:
            self._gtids = GtidSet()
        if until is not None and behind > until and code not in _HEADERS:
            return False
        if code in _READ:
            self._read_event(self._parser.event(*span), behind)
        elif code in _ENDS:
            self._end(behind)
        elif not (self._announced or self._inside):
            self.at = behind
        return True

    def _read_event(self, event: LogEvent, behind: int) -> None:
        if isinstance(event, _OF_MYSQL if self._mariadb else _OF_MARIADB):
            raise DecodeError("it is one of another kind of server")
        if isinstance(event, Query):
            self._statement(event, behind)
        elif isinstance(event, MariaDbGtid):
            self._announced, self._inside = True, not event.standalone
            self._next = (event.domain, event.server_id, event.sequence)
        elif isinstance(event, Gtid):
            self._announced = True
            self._next = (event.source, event.number) if event.gtid else None
        elif isinstance(event, PreviousGtids | MariaDbGtidList):
            self.at = behind
            self._gtids = event.gtids or (event.gtids if isinstance(event, MariaDbGtidList) else None)

    def _statement(self, event: Query, behind: int) -> None:
        keyword = event.keyword
        words = event.sql.upper().split()
        if event.is_begin or (keyword == "XA" and words[1:2] in (["START"], ["BEGIN"])):
            self._inside = True
        elif keyword == "XA":
            if words[1:2] != ["END"]:
                self._end(behind)
        elif not self._inside or keyword == "COMMIT" or (keyword == "ROLLBACK" and "TO" not in words):
            self._end(behind)

    def _end(self, behind: int) -> None:
        if self._next is not None and self._gtids is not None:
            self._gtids.add(*self._next)
        self._next = None
        self._announced = self._inside = False
        self.at = behind
