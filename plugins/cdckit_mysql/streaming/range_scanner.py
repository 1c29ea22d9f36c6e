"""Looks at the log range by range: on one connection as long as they follow each other, and one ahead on demand."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from cdckit import CdcError, SourceError
from cdckit.waiting import ended_by_stop
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.streaming.log_pieces import KeptEvents, LogPiece
from cdckit_mysql.streaming.named_definitions import LookedAtDefinitions
from cdckit_mysql.streaming.range_scan import WHOLE, RangeScan
from cdckit_mysql.table import Tables

log = logging.getLogger("cdckit.mysql")

_MOMENT = 1.0
"""So many seconds a thread has to end that is not wanted any more."""


@dataclass(slots=True)
class LogRange:
    """A range of the log that was looked at.

    Attributes:
        start: where it begins, as it was asked for.
        end: where it ends.
        pieces: what it consists of.
        events: the bytes of its events, as far as they are kept.
        after: the definitions in force at its end.
        held: what notes the changes of definitions that are in it.
        begun: its begin, as the server counts that it was read at.
        elsewhere: whether its end was planned at another server than that.
        by_gtid: whether it was asked for by GTID, so that its places are known only with its end.
        gtids: the transactions up to its end; None without GTIDs.
    """

    start: LogOffset
    end: LogOffset
    pieces: list[LogPiece]
    events: KeptEvents
    after: Tables
    held: list[Callable[[], None]]
    begun: LogOffset
    elsewhere: bool
    by_gtid: bool
    gtids: str | None

    def lies_between(self, start: LogOffset, end: LogOffset) -> bool:
        """Whether it begins and ends there, on the same server and behind the same transactions."""
        return _place(self.start) == _place(start) and _place(self.end) == _place(end)

    def note(self) -> None:
        """Notes the changes of definitions, once."""
        held, self.held = self.held, []
        for note in held:
            note()


class OpenScan:
    """A scan on its connection, which may be left alone between two ranges.

    Args:
        start: where the next range begins, as it is asked for.
        scan: goes over the log from there.
        definitions: those in force there; they follow the scan.
        connection: is closed with this.
    """

    def __init__(
        self, start: LogOffset, scan: RangeScan, definitions: LookedAtDefinitions, connection: ExitStack
    ) -> None:
        self._at: LogOffset | None = start
        self._scan = scan
        self._definitions = definitions
        self._connection = connection

    def goes_on(self, start: LogOffset, end: LogOffset) -> bool:
        """Whether the range between two offsets is the next one."""
        here = (None, self._scan.start.server)
        return self._at is not None and _place(self._at) == _place(start) and end.server in here

    def next(self, end: LogOffset, most: int = WHOLE) -> LogRange:
        """The range up to `end`, or up to the first end of a transaction behind `most` bytes; raises as `RangeScan`."""
        start, self._at = self._at, None
        assert start is not None
        scan = self._scan
        pieces, events, goes_on = scan.next(end, most)
        found = LogRange(
            start,
            pieces[-1].end if goes_on else end,
            pieces,
            events,
            self._definitions.tables.copy(),
            self._definitions.take_held(),
            scan.start,
            scan.elsewhere,
            scan.by_gtid,
            pieces[-1].end.gtids if goes_on else scan.gtids,
        )
        if goes_on and not scan.by_gtid:
            self._at = found.end
        else:
            self.close()
        return found

    @property
    def at(self) -> LogOffset | None:
        """Where the next range begins; None where nothing follows."""
        return self._at

    def abandon(self) -> None:
        """Whoever goes on with it in another thread is to give up."""
        self._scan.abandoned = True

    def close(self) -> None:
        """Lets go of the connection, and of what was kept since the last range."""
        self._at = None
        self._connection.close()
        self._scan.let_go()


class RangeScanner:
    """Looks at one source's log.

    Args:
        open_scan: begins a scan at an offset, up to another one.
        stays: whether a connection is kept from a range to the next one.
    """

    def __init__(self, open_scan: Callable[[LogOffset, LogOffset, int], OpenScan], *, stays: bool) -> None:
        self._open_scan = open_scan
        self._stays = stays
        self._open: OpenScan | None = None
        self._ahead: _Ahead | None = None

    def cut(self, start: LogOffset, end: LogOffset, most: int) -> LogRange:
        """The range up to the first end of a transaction behind `most` bytes, or up to `end`.

        Raises:
            RetriableSourceError: the connection was lost, or the log ended before.
            DecodeError: a statement cannot be read.
        """
        ahead = self._taken_ahead(start)
        if ahead is not None and _lies_before(ahead.end, end):
            return ahead
        self._drop(ahead)
        return self._next(start, end, most, most)

    def whole(self, start: LogOffset, end: LogOffset, size: int) -> LogRange:
        """The range between two offsets, of about `size` bytes; raises as `cut`."""
        ahead = self._taken_ahead(start)
        if ahead is not None and ahead.lies_between(start, end):
            return ahead
        self._drop(ahead)
        return self._next(start, end, WHOLE, size)

    def look_ahead(self, end: LogOffset, most: int) -> None:
        """Begins with the next range, which is to be cut before `end`, while others read the one before."""
        if self._open is not None and self._open.at is not None and self._ahead is None:
            self._ahead = _Ahead(self._open, end, most)

    def close(self) -> None:
        """Lets go of the connection."""
        if self._ahead is not None:
            self._ahead.abandon()
            self._ahead = self._open = None
        if self._open is not None:
            self._open.close()
            self._open = None

    def _drop(self, ahead: LogRange | None) -> None:
        """A range that was looked at in vain."""
        if ahead is not None:
            ahead.events.remove()
            self.close()

    def _taken_ahead(self, start: LogOffset) -> LogRange | None:
        """The range that was looked at ahead, if it begins there."""
        if self._ahead is None:
            return None
        if _place(self._ahead.start) != _place(start):
            self.close()
            return None
        ahead, self._ahead = self._ahead, None
        return ahead.result()

    def _next(self, start: LogOffset, end: LogOffset, most: int, size: int) -> LogRange:
        if self._open is not None and self._open.goes_on(start, end):
            try:
                return self._kept_open(self._open, end, most)
            except SourceError as error:
                # It was left alone for as long as a batch took: the server may have gone meanwhile, or have said that
                # its log ended where it goes on by now.
                log.debug("the log is asked for anew from %s on: %s", start.position, error)
        self.close()
        return self._kept_open(self._open_scan(start, end, size), end, most)

    def _kept_open(self, scan: OpenScan, end: LogOffset, most: int) -> LogRange:
        self._open = scan
        try:
            found = scan.next(end, most)
        except BaseException:
            self.close()
            raise
        if scan.at is None or not self._stays:
            self.close()
        return found


class _Ahead:
    """The next range, looked at in a thread. What goes wrong there is of no concern: it is looked at again.

    Args:
        scan: where the log goes on.
        end: where it is known to go to.
        most: how many bytes the range has about.

    Attributes:
        start: where it begins.
    """

    def __init__(self, scan: OpenScan, end: LogOffset, most: int) -> None:
        assert scan.at is not None
        self.start = scan.at
        self._scan = scan
        self._abandoned = False
        self._found: LogRange | None = None
        self._thread = threading.Thread(target=self._look, args=(end, most), name="cdckit-ahead", daemon=True)
        self._thread.start()

    def result(self) -> LogRange | None:
        """The range, or None where it could not be read."""
        with ended_by_stop():
            self._thread.join()
        return self._found

    def abandon(self) -> None:
        """It is not wanted any more. The thread may still wait for the server, for whom nobody else waits then."""
        self._abandoned = True
        self._scan.abandon()
        self._thread.join(_MOMENT)
        if self._found is not None:
            self._found.events.remove()
            self._scan.close()

    def _look(self, end: LogOffset, most: int) -> None:
        try:
            found = self._scan.next(end, most)
        except (CdcError, OSError) as error:
            log.debug("what lies ahead in the log could not be read: %s", error)
            self._scan.close()
            return
        if self._abandoned:
            found.events.remove()
            self._scan.close()
        else:
            self._found = found


def _place(offset: LogOffset) -> tuple[object, ...]:
    return offset.position, offset.server, offset.gtids, offset.by_gtid_until


def _lies_before(found: LogOffset, end: LogOffset) -> bool:
    return found.server == end.server and found.position.prefix <= end.position.prefix
