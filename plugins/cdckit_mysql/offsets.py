"""Offsets and positions of the binary log.

An offset has the members of Debezium's own (`file`, `pos`, `gtids`, `event`, `row`, `server_id`, `ts_sec`,
`snapshot`, `transaction_id` …), so that one can stand for the other, and two more for what Debezium does not keep:
which server it counts from (`server`), and the `epoch`, a number that grows whenever file names start to mean
something else, as they do after a failover.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, NamedTuple, Self

from cdckit import Offset, StateError
from cdckit.connector.offset import ConnectorOffset, check_incremental, readable, shared_attributes
from cdckit.connector.resnapshot import Resnapshot
from cdckit_mysql.binlog.gtid import GtidSet, MariaDbGtidSet
from cdckit_mysql.snapshot.cursor import SnapshotCursor

SNAPSHOT_RUNNING = "INITIAL"
"""What Debezium's offsets say in `snapshot` while the first snapshot is not finished."""

NO_GTID = "file="
"""What the id of a transaction without an identifier begins with: its place in the log."""

_EPOCH = "cdckit_epoch"
_SERVER = "cdckit_server"
_SNAPSHOT_CHUNKS = "cdckit_snapshot_chunks"
_CURSOR = "cdckit_snapshot_cursor"
_BY_GTID_UNTIL = "cdckit_by_gtid_until"
_END_TOLD = "cdckit_end_told"
_ROW_IN_PART = "cdckit_row_in_part"
_TOLD = "cdckit_told"


class LogPosition(NamedTuple):
    """A place in the log of one server, compared in commit order."""

    epoch: int
    file: str
    pos: int

    @property
    def prefix(self) -> str:
        """The fixed-width text that the positions of all records of one event begin with."""
        return f"{self.epoch:04d}-{file_number(self.file):010d}-{self.pos:012d}"

    def end(self) -> str:
        """A text that sorts behind every record of the event that ends here, and before all later ones."""
        return f"{self.prefix}~"

    def __str__(self) -> str:
        return f"{self.file}:{self.pos}"


class ToldPart(NamedTuple):
    """What has been told of the transaction in hand, as it is counted at every server of a topology.

    Attributes:
        gtid: its identifier.
        rows: of each table that is captured, how many rows.
        left: how many of these are still to be passed over, at a server that tells the transaction from its begin.
        events: of each table, how many events were numbered at the server before; None where events are not numbered.
    """

    gtid: str
    rows: Mapping[str, int]
    left: Mapping[str, int]
    events: Mapping[str, int] | None = None

    @classmethod
    def from_json(cls, part: Mapping[str, Any] | None) -> Self | None:
        """As an offset keeps it."""
        if not part:
            return None
        events = None if part.get("events") is None else _counted(part["events"])
        return cls(str(part["gtid"]), _counted(part["rows"]), _counted(part.get("left", {})), events)

    def to_json(self) -> dict[str, Any]:
        """As an offset keeps it."""
        events = {} if self.events is None else {"events": self.events}
        left = {"left": self.left} if self.left else {}
        return {"gtid": self.gtid, "rows": self.rows, **left, **events}


def _counted(rows: Mapping[str, Any]) -> dict[str, int]:
    counted = {str(name): int(number) for name, number in rows.items()}
    if min(counted.values(), default=0) < 0:
        raise ValueError("a number of rows is out of range")
    return counted


CHUNK_ROWS = 10**9
"""Each chunk of a snapshot has so many numbers of rows for itself in the positions, from this one on."""


def record_position(prefix: str, row: int, part: int = 0) -> str:
    """The position of a record: `EPOCH-FILE-POS-ROW-PART`, each of fixed width.

    Args:
        prefix: what `LogPosition.prefix` gives, of the end of the record's event.
        row: the number of the row in the event; in a snapshot, that of the row in the whole snapshot.
        part: which of the records that one row makes.
    """
    return f"{prefix}-{row:014d}-{part}"


def row_number(position: str) -> int:
    """The number of the row that a record's position has."""
    return int(position.rsplit("-", 2)[1])


_PLACE = re.compile(r"(?P<epoch>\d{4})-(?P<file>\d{10})-(?P<pos>\d{12})-")


def place_of_record(position: str) -> tuple[int, int, int] | None:
    """The epoch, the number of the log's file and the end in it of the event that a record's position tells of.

    None where it is no position of this source.
    """
    found = _PLACE.match(position)
    return None if found is None else (int(found["epoch"]), int(found["file"]), int(found["pos"]))


@lru_cache(maxsize=256)
@cache
def file_number(name: str) -> int:
    """The number at the end of a log file's name: 12 of `binlog.000012`."""
    _, _, number = name.rpartition(".")
    return int(number) if number.isdecimal() else 0


@dataclass(frozen=True, slots=True)
class LogOffset(ConnectorOffset):
    """How far the log has been read.

    Attributes:
        file: the log file in which to go on; empty when nothing is known yet.
        pos: where in it, in bytes: the begin of the transaction in hand, or the end of the last one.
        gtids: the transactions that are completely read, or None without GTIDs.
        event: how many events of the transaction in hand are done, its begin being the first.
        row: how many rows of the event after those are done.
        server_id: the server that the last event came from.
        ts_sec: when that was logged, in seconds since 1970.
        snapshot: `INITIAL` while a snapshot is not finished.
        epoch: see above.
        server: the identity of the server that file names belong to.
        snapshot_chunks: which parts of a snapshot that is not finished have been read, and of which plan.
        cursor: how far a snapshot has come whose chunks are read in several batches, and are followed by the log from
            this offset's place on; None: there is none.
        by_gtid_until: the place (`FILE:POS`) up to which the server's log may hold what was read at another server, and
            before `pos` what was not read yet: until then `gtids` alone say where to go on. Empty where `pos` does.
        end_told: whether the end of the transaction in hand has been told, if that comes next.
        row_in_part: whether of the last of these rows perhaps only the first record has been told: of a delete, or a
            change of the key, tombstone and create may be left.
        told: what has been told of the transaction in hand, for another server that logs it in other events.
    """

    file: str = ""
    pos: int = 0
    gtids: str | None = None
    event: int = 0
    row: int = 0
    server_id: int = 0
    ts_sec: int = 0
    snapshot: str | None = None
    epoch: int = 0
    server: str | None = None
    snapshot_chunks: str = ""
    cursor: SnapshotCursor | None = None
    by_gtid_until: str = ""
    end_told: bool = False
    row_in_part: bool = False
    told: ToldPart | None = None

    @property
    def position(self) -> LogPosition:
        """The place in the log."""
        return LogPosition(self.epoch, self.file, self.pos)

    @property
    def snapshot_due(self) -> bool:
        """Whether tables are to be read before the log."""
        return self.snapshot is not None or not self.file

    @property
    def snapshot_begun(self) -> bool:
        """As the cursor says."""
        return self.snapshot is not None and self.cursor is not None

    @property
    def by_gtid(self) -> bool:
        """Whether only `gtids` say where to go on: files are not known, or hold other transactions in between."""
        return not self.file or bool(self.by_gtid_until)

    @property
    def only(self) -> tuple[str, ...] | None:
        """The names of the tables that a snapshot is confined to; None: it is not."""
        return None if self.resnapshot is None else self.resnapshot.tables

    def before_rows(self, again: Resnapshot) -> Self:
        """Before a snapshot of these tables, of which first come the changes up to a new consistent point.

        As in a snapshot that was stopped when all other tables were finished.
        """
        return self.with_changes(snapshot=SNAPSHOT_RUNNING, snapshot_chunks="", cursor=None, resnapshot=again)

    def without_snapshot(self) -> Self:
        """The same where that snapshot is not begun."""
        return self.with_changes(snapshot=None, snapshot_chunks="", cursor=None, resnapshot=None)

    def behind_snapshot(self) -> Self:
        """The same where the log comes next, the snapshot's rows having been read together."""
        again = None if self.resnapshot is None else self.resnapshot.finished()
        return self.with_changes(after_snapshot=True, snapshot=None, snapshot_chunks="", cursor=None, resnapshot=again)

    def within_snapshot(self, cursor: SnapshotCursor) -> Self:
        """Of such an offset behind a snapshot: the place within it where the cursor stands."""
        again = None if self.resnapshot is None else replace(self.resnapshot, done=False)
        return self.with_changes(snapshot=SNAPSHOT_RUNNING, cursor=cursor, resnapshot=again)

    def moved_to(self, server: str) -> Self:
        """The same in the log of another server: by GTID alone, and the epoch begins anew."""
        return self.with_changes(
            epoch=self.epoch + 1,
            server=server,
            file="",
            pos=0,
            event=0,  # the events of a transaction in hand need not be the same there: its rows are counted
            row=0,
            told=self._told_again(),
            transaction_id=None,
            counts={},
            by_gtid_until="",
            end_told=False,
            row_in_part=False,
        )

    def _told_again(self) -> ToldPart | None:
        """What was told of the transaction in hand, where that comes from its begin."""
        gtid = self.transaction_id
        if gtid is None or gtid.startswith(NO_GTID):
            return None if self.told is None else self.told._replace(left=self.told.rows)
        rows = self.told.rows if self.told is not None and self.told.gtid == gtid else {}
        return ToldPart(gtid, rows, rows, self.counts)

    def same_log(self, other: Self) -> bool:
        """Whether both count in the log of one server."""
        return self.server == other.server

    def to_json(self) -> Offset:
        """The offset as a runner keeps it; members that say nothing are left out."""
        members = {
            "ts_sec": self.ts_sec,
            "file": self.file,
            "pos": self.pos,
            "gtids": self.gtids,
            "row": self.row,
            "server_id": self.server_id,
            "event": self.event,
            "snapshot": self.snapshot,
            **self.shared_members(),
            _EPOCH: self.epoch,
            _SERVER: self.server,
            _SNAPSHOT_CHUNKS: self.snapshot_chunks,
            _CURSOR: self.cursor and self.cursor.to_json(),
            _BY_GTID_UNTIL: self.by_gtid_until,
            _END_TOLD: self.end_told,
            _ROW_IN_PART: self.row_in_part,
            _TOLD: self.told and self.told.to_json(),
        }
        return {name: value for name, value in members.items() if value or (name == "gtids" and value is not None)}

    @classmethod
    def from_json(cls, offset: Offset) -> Self:
        """Reads an offset of this source or of Debezium's connectors.

        Raises:
            StateError: a member has a value that it cannot have.
        """
        with readable(offset, "MySQL"):
            return cls(
                file=offset.get("file") or "",
                pos=int(offset.get("pos") or 0),
                gtids=offset.get("gtids"),
                event=int(offset.get("event") or 0),
                row=int(offset.get("row") or 0),
                server_id=int(offset.get("server_id") or 0),
                ts_sec=int(offset.get("ts_sec") or 0),
                snapshot=_unfinished_snapshot(offset),
                epoch=int(offset.get(_EPOCH) or 0),
                server=offset.get(_SERVER),
                snapshot_chunks=offset.get(_SNAPSHOT_CHUNKS) or "",
                cursor=SnapshotCursor.from_json(offset.get(_CURSOR)),
                by_gtid_until=offset.get(_BY_GTID_UNTIL) or "",
                end_told=bool(offset.get(_END_TOLD)),
                row_in_part=bool(offset.get(_ROW_IN_PART)),
                told=ToldPart.from_json(offset.get(_TOLD)),
                **shared_attributes(offset),
            )

    @classmethod
    def kept(cls, offset: Offset) -> Self:
        """The same of an offset that was kept elsewhere, where it may have been damaged: all its texts are read.

        Raises:
            StateError: a member has a value that it cannot have.
        """
        made = cls.from_json(offset)
        with readable(offset, "MySQL"):
            _check_texts(made)
        return made

    @classmethod
    def of_connector(cls, offset: Offset) -> Self:
        """The same of an offset of Debezium, whose records of a transaction's begin and end have special ones.

        That of the begin does not count it among the events that are done. That of the end is the one from before it,
        and differs from a row's in that it names no row. All records of one row have the same.

        Raises:
            StateError: a member has a value that it cannot have.
        """
        made = cls.kept(offset)
        if made.row:
            return made.with_changes(row_in_part=True)
        if made.transaction_id is None:
            return made
        return made.with_changes(end_told=True) if made.event else made.with_changes(event=1)

    def for_connector(self) -> Offset:
        """The same as Debezium's connectors have it, at the begin of the transaction in hand.

        Raises:
            StateError: there is no place in the log for them to go on from.
        """
        if self.snapshot is not None:
            raise StateError("the snapshot is not finished: start the connector without an offset, or finish it first")
        if not self.file:
            raise StateError("the place in this server's log is not known yet: let the pipeline read a change first")
        members = {"ts_sec": self.ts_sec, "file": self.file, "pos": self.pos, "server_id": self.server_id}
        return members if self.gtids is None else {**members, "gtids": self.gtids}


def _check_texts(at: LogOffset) -> None:
    """Raises one of `DAMAGE` where a member's text cannot be read."""
    texts = (at.file, at.gtids or "", at.server or "", at.transaction_id or "", at.snapshot_chunks, at.by_gtid_until)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a text is none")
    if min(at.pos, at.event, at.row, at.epoch, at.ts_sec) < 0 or max(at.pos, at.ts_sec) >> 63:
        raise ValueError("a number is out of range")
    at.position.prefix  # noqa: B018 - the file's number is read
    if at.gtids:
        (GtidSet if ":" in at.gtids else MariaDbGtidSet).parse(at.gtids)
    if at.by_gtid_until:
        int(at.by_gtid_until.rpartition(":")[2])
    check_incremental(at.incremental)


def check_given(offset: Offset) -> None:
    """Looks at an offset that a user gives.

    Raises:
        StateError: it does not say where in the log to go on.
    """
    at = LogOffset.kept(offset)
    if at.snapshot is None and not (at.file and at.pos):
        raise StateError(
            "`file` and `pos` say where in the log to go on, as `cdc offsets show` prints them", number="CDC7108"
        )


def _unfinished_snapshot(offset: Offset) -> str | None:
    """Older Debeziums say `true` while a snapshot runs, newer ones `INITIAL`; and some whether it is completed."""
    found = offset.get("snapshot")
    completed = str(offset.get("snapshot_completed", "false")).lower() == "true"
    return None if completed or found in (None, False, "false", "") else SNAPSHOT_RUNNING
