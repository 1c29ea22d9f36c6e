"""What the offsets of every database have in common, and how they are kept as JSON."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

from cdckit.api.record import Offset
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.connector.incremental.state import IncrementalState
from cdckit.connector.resnapshot import MEMBER, Resnapshot
from cdckit.errors import StateError

_COUNTS = "transaction_data_collection_order_"
_AFTER_SNAPSHOT = "cdckit_after_snapshot"
_INCREMENTAL = "cdckit_incremental"


def chunk_follows(offset: Offset) -> bool:
    """Whether an incremental snapshot goes on behind an offset, which is not paused."""
    left = offset.get(_INCREMENTAL)
    return isinstance(left, Mapping) and bool(left.get("wanted")) and not left.get("paused")


def with_chunks(offset: Offset, later: Offset) -> Offset:
    """An offset behind the chunks, too, that a later one is behind of the same snapshot; itself if there are none."""
    left, then = offset.get(_INCREMENTAL), later.get(_INCREMENTAL)
    if not left or left == then:
        return offset
    state = IncrementalState.from_json(left).with_chunks_of(IncrementalState.from_json(then))
    others = {name: value for name, value in offset.items() if name != _INCREMENTAL}
    return others if (kept := state.to_json()) is None else {**others, _INCREMENTAL: kept}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorOffset(ABC):
    """How far a database has been read; a source adds where in its log.

    Attributes:
        transaction_id: the id of the transaction in hand, for its records.
        counts: how many events of it each table or collection has had (`database.name`).
        after_snapshot: whether the tables are read between the offset before and this one, which is where the log
            goes on from.
        incremental: what snapshots that signals ask for have left to do.
        resnapshot: the tables that are read again before this offset, or, within a snapshot, at its end.
    """

    transaction_id: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    after_snapshot: bool = False
    incremental: dict[str, Any] | None = None
    resnapshot: Resnapshot | None = None

    @property
    @abstractmethod
    def snapshot_due(self) -> bool:
        """Whether tables are to be read before the log."""

    @property
    def snapshot_begun(self) -> bool:
        """Whether a snapshot is due of which some chunks were read, so that it goes on with those that are left."""
        return False

    @abstractmethod
    def before_rows(self, again: Resnapshot) -> Self:
        """Before a snapshot of these tables alone; what comes behind it goes on from here."""

    @abstractmethod
    def without_snapshot(self) -> Self:
        """The same where that snapshot is not begun."""

    def same_log(self, other: Self) -> bool:
        """Whether both count in the log of one server; True where all servers have the same."""
        return True

    @abstractmethod
    def to_json(self) -> Offset:
        """The offset as a runner keeps it; members that say nothing are left out."""

    @classmethod
    @abstractmethod
    def from_json(cls, offset: Offset) -> Self:
        """Reads an offset of this source or of Debezium's connectors.

        Raises:
            StateError: a member has a value that it cannot have.
        """

    @classmethod
    def kept(cls, offset: Offset) -> Self:
        """The same of an offset that was kept elsewhere, where it may have been damaged.

        Raises:
            StateError: a member has a value that it cannot have.
        """
        return cls.from_json(offset)

    def with_changes(self, **changes: Any) -> Self:
        """An offset like this one but for `changes`."""
        return replace(self, **changes)

    def shared_members(self) -> Offset:
        """What `to_json` gives of these attributes."""
        return {
            "transaction_id": self.transaction_id,
            **{_COUNTS + name: count for name, count in self.counts.items()},
            _AFTER_SNAPSHOT: self.after_snapshot,
            _INCREMENTAL: self.incremental,
            MEMBER: self.resnapshot and self.resnapshot.to_json(),
        }


def shared_attributes(offset: Offset) -> dict[str, Any]:
    """What `shared_members` gave, read: arguments of the offset's constructor.

    Raises:
        StateError, or one of `DAMAGE`: a member has a value that it cannot have.
    """
    counts = {name.removeprefix(_COUNTS): value for name, value in offset.items() if name.startswith(_COUNTS)}
    return {
        "transaction_id": offset.get("transaction_id"),
        "counts": {name: int(count) for name, count in counts.items()},
        "after_snapshot": bool(offset.get(_AFTER_SNAPSHOT)),
        "incremental": offset.get(_INCREMENTAL),
        "resnapshot": Resnapshot.from_json(offset.get(MEMBER)),
    }


def check_incremental(incremental: Mapping[str, Any] | None) -> None:
    """Looks whether what is left of incremental snapshots can be read.

    Raises:
        StateError, or one of `DAMAGE`: it cannot.
    """
    IncrementalState.from_json(None if incremental is None else dict(incremental))


@contextmanager
def readable(offset: Offset, system: str) -> Iterator[None]:
    """Gives what goes wrong while an offset is read as an error of the state.

    Args:
        offset: the offset.
        system: whose offset it should be.

    Raises:
        StateError: a member has a value that it cannot have.
    """
    try:
        yield
    except DAMAGE as error:
        raise StateError(
            f"the offset {offset} is not one of a {system} source: {reason_of(error)}", number="CDC7108"
        ) from error


@dataclass(frozen=True, slots=True)
class NumberedOffset(ConnectorOffset):
    """An offset for logs whose places are numbers.

    Attributes:
        number: the last one that was read.
        due: whether a snapshot comes before the log.
    """

    number: int = 0
    due: bool = False

    @property
    def snapshot_due(self) -> bool:
        """As it says."""
        return self.due

    def before_rows(self, again: Resnapshot) -> Self:
        """Before a snapshot of these tables alone; what comes behind it goes on from here."""
        return self.with_changes(due=True, resnapshot=again)

    def without_snapshot(self) -> Self:
        """The same where that snapshot is not begun."""
        return self.with_changes(due=False, resnapshot=None)

    def to_json(self) -> Offset:
        """`number`, and what else there is to say."""
        members = {"due": self.due, **self.shared_members()}
        return {"number": self.number, **{name: value for name, value in members.items() if value}}

    @classmethod
    def from_json(cls, offset: Offset) -> Self:
        """Reads what `to_json` gave; as `ConnectorOffset.from_json`."""
        with readable(offset, "row log"):
            return cls(number=int(offset["number"]), due=bool(offset.get("due")), **shared_attributes(offset))
