"""Batches that were begun while another server was read, told apart by what is the same at every server.

Files, positions and the cut of a transaction into events are not. Its identifier is, and so are its rows, in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from cdckit_mysql.binlog.errors import PositionLostError
from cdckit_mysql.binlog.events import MariaDbGtid
from cdckit_mysql.binlog.gtid import GtidSet, MariaDbGtidSet
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.options.capture import GtidOptions
from cdckit_mysql.streaming.gtid_start import GtidStart
from cdckit_mysql.streaming.progress import LogProgress, gtid_set

Ends = Mapping[int, LogOffset]
"""The offsets that batches end at, by the batches' numbers."""
NO_ENDS: Ends = MappingProxyType({})


def transactions_of(end: LogOffset) -> str:
    """The transactions of which something lies before an offset, that in hand among them."""
    done = end.gtids or ""
    if end.told is None:
        return done
    if ":" in end.told.gtid:
        return str(GtidSet.parse(done) | GtidSet.parse(end.told.gtid))
    both = MariaDbGtidSet.parse(done)
    for domain, last in MariaDbGtidSet.parse(end.told.gtid).domains():
        both.add(domain, *last)
    return str(both)


def begun_elsewhere(ends: Ends, start: LogOffset) -> Ends:
    """All that can be compared, where positions of some batches do not sort with those behind a place; else none."""
    here = start.server, start.epoch
    if start.gtids is None or all((end.server, end.epoch) == here for end in ends.values()):
        return {}
    return {number: end for number, end in ends.items() if end.gtids is not None}


def behind_all(start: LogOffset, ends: Ends) -> LogOffset:
    """A place with such an epoch that positions from there on sort behind those of batches at other servers."""
    others = (end.epoch + 1 for end in begun_elsewhere(ends, start).values() if end.server != start.server)
    return start.with_changes(epoch=max(start.epoch, *others, 0))


class BegunBatch:
    """One batch.

    Args:
        end: the offset that it ends at.
        start: where reading begins, at the server that is read.
        options: which sources count.
        mariadb: whose GTIDs they are.
    """

    def __init__(self, end: LogOffset, start: LogOffset, options: GtidOptions, *, mariadb: bool) -> None:
        done = gtid_set(end.gtids, mariadb=mariadb)
        assert done is not None
        self._done = done
        self._due = GtidStart(options).counted(end.gtids or "", mariadb=mariadb)
        self._end = end
        self._part = None if end.told is None else gtid_set(end.told.gtid, mariadb=mariadb)
        self._last = list(_lasts([self._due, self._part], start)) if mariadb else []

    def holds(self, progress: LogProgress) -> bool:
        """Whether what is told of the transaction in hand, but for its rows, lies in it."""
        return progress.is_in(self._done) or self._in_part(progress)

    def holds_end(self, progress: LogProgress) -> bool:
        """Whether the end of the transaction in hand does."""
        return progress.is_in(self._done)

    def holds_row(self, progress: LogProgress, table: str, number: int) -> bool:
        """Whether a row of the transaction in hand does, by its number among those of its table there."""
        if progress.is_in(self._done):
            return True
        told = self._end.told
        return told is not None and told.gtid == progress.gtid and number < told.rows.get(table, 0)

    def _in_part(self, progress: LogProgress) -> bool:
        told = self._end.told
        began = self._end.transaction_id if told is None else told.gtid
        return began is not None and began == progress.gtid

    def has_come(self, progress: LogProgress) -> bool:
        """Whether all that it holds has been told."""
        return progress.covers(self._due) and (self._part is None or self._part_has_come(self._part, progress))

    def _part_has_come(self, part: GtidSet | MariaDbGtidSet, progress: LogProgress) -> bool:
        told = self._end.told
        assert told is not None
        if progress.in_transaction and progress.gtid == told.gtid:
            return all(progress.rows_told.get(table, 0) >= rows for table, rows in told.rows.items())
        return progress.covers(part)

    def check(self, event: MariaDbGtid) -> None:
        """Sees that a domain has the transactions that the batch ended with, where one of MariaDB's begins.

        Raises:
            PositionLostError: it has others in their place.
        """
        for last in [*self._last]:
            domain, server, sequence = last
            if event.domain != domain or event.sequence < sequence:
                continue
            gtid, told = f"{domain}-{server}-{sequence}", self._end.told
            # A server logs its own transactions in their order: a replica that lacks one and has a later one has left
            # it out, as its filters say. Of one that was told of in part the rest would be missing.
            left_out = event.server_id == server and (told is None or gtid != told.gtid)
            if event.gtid != gtid and not left_out:
                raise PositionLostError(
                    f"the server does not have transaction {gtid}, which was read at another one "
                    f"(it has {event.gtid}): it has taken over from a server that died with it"
                )
            self._last.remove(last)


def _lasts(sets: Sequence[GtidSet | MariaDbGtidSet | None], start: LogOffset) -> Iterator[tuple[int, int, int]]:
    """The domain, server and number of the last transactions of sets, as far as they lie behind a place."""
    read = MariaDbGtidSet.parse(start.gtids or "")
    for one in sets:
        for domain, (server, sequence) in one.domains() if isinstance(one, MariaDbGtidSet) else ():
            if not read.contains(domain, sequence):
                yield domain, server, sequence
