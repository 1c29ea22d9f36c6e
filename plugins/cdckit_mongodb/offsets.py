"""Offsets and positions of the change stream.

An offset has the members of Debezium's own (`sec`, `ord`, `resume_token`, `initsync`, `transaction_id` …), so that one
can stand for the other, and some more for what Debezium does not keep.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from cdckit import Offset, StateError
from cdckit.connector.offset import ConnectorOffset, check_incremental, readable, shared_attributes
from cdckit.connector.resnapshot import Resnapshot
from cdckit_mongodb.tokens import Token, token_of, token_text, token_time

_COMPLETE = "cdckit_complete"
_TIE = "cdckit_tie"
_EVENT_IN_PART = "cdckit_event_in_part"
_SNAPSHOT = "cdckit_snapshot"

Moment = tuple[int, int]
"""A cluster time: seconds since 1970, and the number within the second."""


def moment_text(moment: Moment) -> str:
    """A cluster time as resume tokens have it: 16 hexadecimal digits, which sort as the times do."""
    return f"{moment[0]:08X}{moment[1]:08X}"


def stream_position(moment: str, operation: int, tie: int) -> str:
    """The text that the positions of all records of one event begin with."""
    return f"{moment}-0-{operation:012d}-{tie:03d}-" if operation or tie else f"{moment}-0-000000000000-000-"


SNAPSHOT_NUMBERS = 10**12
"""So many numbers there are for the documents of a snapshot …"""
IN_A_NUMBER = 1000
"""… and each has so many documents, where a chunk's are numbered."""


def snapshot_positions(moment: Moment, first: int, rows: int) -> list[str]:
    """The positions of documents that a snapshot found: behind the events up to its moment, before all later ones."""
    text = moment_text(moment)
    return [f"{text}-1-{row:012d}-000-0" for row in range(first, first + rows)]


def chunk_positions(moment: Moment, first: int, before: int, rows: int) -> list[str]:
    """The same of documents of a chunk.

    Args:
        moment: what the snapshot counts from.
        first: the number of the chunk's first document.
        before: how many of its documents come before these.
        rows: how many these are.
    """
    text, begin = moment_text(moment), first * IN_A_NUMBER + before
    numbers = (divmod(row, IN_A_NUMBER) for row in range(begin, begin + rows))
    return [f"{text}-1-{number:012d}-{rest:03d}-0" for number, rest in numbers]


@dataclass(frozen=True, slots=True)
class SnapshotPlace:
    """How far a snapshot has come.

    Attributes:
        collection: the collection (`database.name`) in hand; those that sort before it are done.
        after: the `_id` behind which to go on, as BSON in hexadecimal; None: from its beginning; `DONE`: it is done.
        rows: the number of the next document in the records' positions.
        included: whether the document with the `_id` `after` itself is still to be read.
        read: about how many of the collection's documents lie before that; for those who watch.
    """

    collection: str
    after: str | None = None
    rows: int = 0
    included: bool = False
    read: int = 0

    @property
    def order(self) -> tuple[str, str]:
        """The collection's place among others: Debezium takes them by their names, whatever the database."""
        database, _, name = self.collection.partition(".")
        return name, database

    @property
    def within(self) -> str | None:
        """The `_id` that it stands at; None: before the collection, or behind it."""
        return self.after or None

    def to_json(self) -> list[Any]:
        """What an offset keeps."""
        place = [self.collection, self.after, self.rows]
        return [*place, self.included, self.read] if self.included else place


DONE = ""


def _snapshot_place(
    collection: str, after: str | None, rows: int, included: bool = False, read: int = 0
) -> SnapshotPlace:
    """Raises ValueError or TypeError where it is none."""
    if after:
        bytes.fromhex(after)
    return SnapshotPlace(str(collection), after, int(rows), bool(included), int(read))


FIRST_PLACE = SnapshotPlace(".")
"""Before every collection."""


def _id(offset: ConnectorOffset) -> str:
    return "" if offset.resnapshot is None else offset.resnapshot.id


@dataclass(frozen=True, slots=True)
class StreamOffset(ConnectorOffset):
    """How far the changes have been read.

    Attributes:
        sec: the cluster time of what was read last: seconds since 1970 …
        ord: … and the number within the second.
        complete: whether everything of that time has been read; a transaction's events share theirs.
        token: behind which event or moment to go on; None: by the time alone.
        snapshot_due: whether collections are to be read before the stream.
        snapshot: how far that has come.
        tie: how many events before the token's had the same time and operation number, as on several shards.
        event_in_part: whether of the token's event perhaps only the first record has been told: a delete's tombstone
            may be left.
    """

    sec: int = 0
    ord: int = 0
    complete: bool = False
    token: Token | None = None
    snapshot_due: bool = False
    snapshot: SnapshotPlace | None = None
    tie: int = 0
    event_in_part: bool = False

    @property
    def time(self) -> Moment:
        """The cluster time of what was read last."""
        return self.sec, self.ord

    @property
    def moment(self) -> Moment:
        """Everything up to this cluster time has been read."""
        return self.time if self.complete else (self.sec, self.ord - 1)

    @property
    def snapshot_begun(self) -> bool:
        """As the place in the snapshot says."""
        return self.snapshot_due and self.snapshot not in (None, FIRST_PLACE)

    def before_rows(self, again: Resnapshot) -> Self:
        """Before a snapshot of these collections alone; what comes behind it goes on from here."""
        return self.with_changes(snapshot_due=True, snapshot=FIRST_PLACE, resnapshot=again)

    def without_snapshot(self) -> Self:
        """The same where that snapshot is not begun."""
        return self.with_changes(snapshot_due=False, snapshot=None, resnapshot=None)

    def behind_snapshot(self) -> Self:
        """The same where the stream comes next, the snapshot's documents having been read together."""
        again = None if self.resnapshot is None else self.resnapshot.finished()
        return self.with_changes(after_snapshot=True, snapshot_due=False, snapshot=None, resnapshot=again)

    def within_snapshot(self, place: SnapshotPlace) -> Self:
        """Of such an offset behind a snapshot: that of a place within it."""
        again = None if self.resnapshot is None else replace(self.resnapshot, done=False)
        return self.with_changes(snapshot_due=True, snapshot=place, resnapshot=again)

    def reached(self, end: Self) -> SnapshotPlace | None:
        """How far the snapshot that counts from the moment of `end` has come here; None: it begins."""
        same = self.time == end.time and self.complete == end.complete and _id(self) == _id(end)
        return self.snapshot if self.snapshot_begun and same else None

    def to_json(self) -> Offset:
        """The offset as a runner keeps it; members that say nothing are left out."""
        place = self.snapshot
        members = {
            "sec": self.sec,
            "ord": self.ord,
            "resume_token": None if self.token is None else token_text(self.token),
            "initsync": self.snapshot_due,
            **self.shared_members(),
            _COMPLETE: self.complete,
            _SNAPSHOT: None if place is None else place.to_json(),
            _TIE: self.tie,
            _EVENT_IN_PART: self.event_in_part,
        }
        return {name: value for name, value in members.items() if value or name in ("sec", "ord")}

    @classmethod
    def from_json(cls, offset: Offset) -> Self:
        """Reads an offset of this source or of Debezium's connector.

        Raises:
            StateError: a member has a value that it cannot have.
        """
        with readable(offset, "MongoDB"):
            text = offset.get("resume_token")
            token = token_of(text) if text else None
            sec, order = token_time(token) if token and not offset.get("sec") else (0, 0)
            place = offset.get(_SNAPSHOT)
            shared = shared_attributes(offset)
            check_incremental(shared["incremental"])
            return cls(
                sec=int(offset.get("sec") or sec),
                ord=int(offset.get("ord") or order),
                complete=bool(offset.get(_COMPLETE)),
                token=token,
                snapshot_due=str(offset.get("initsync", "false")).lower() == "true",
                snapshot=_snapshot_place(*place) if place else None,
                tie=int(offset.get(_TIE) or 0),
                event_in_part=bool(offset.get(_EVENT_IN_PART)),
                **shared,
            )

    def for_connector(self) -> Offset:
        """The same as Debezium's connector has it; what may have been told in part is told again, by its time.

        Raises:
            StateError: it is to read collections first.
        """
        if self.snapshot_due:
            raise StateError("the snapshot is not finished: start the connector without an offset, or finish it first")
        whole = self.with_changes(token=None, transaction_id=None, counts={}) if self.event_in_part else self
        return {name: value for name, value in whole.to_json().items() if not name.startswith("cdckit_")}
