"""What a task of Spark has read of rows, for the driver, which adds up what all tasks of a batch have read."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from cdckit.engine.ledger.marked import Marked
from cdckit.engine.ledger.row_form import RowForm
from cdckit.engine.ledger.sums import Sums
from cdckit.engine.ledger.window import Changed

_CHANGE = struct.Struct("16s16s?")
"""The hash of a key, that of its row, and whether there is one."""
CHANGE_BYTES = _CHANGE.size
"""So much a change takes where it is told by its key."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a task has to know of the ledger, as it was before the batch.

    Attributes:
        open: whether rows of tables that begin are known by their keys.
        forms: by topic the columns that are added up.
        keyed: the topics whose rows are known by their keys.
    """

    open: bool
    forms: Mapping[str, RowForm]
    keyed: frozenset[str]

    def by_keys(self, topic: str, *, reading: bool) -> bool:
        """Whether the rows of a topic are told by their keys; those of a snapshot always are."""
        return reading or topic in self.keyed or (self.open and topic not in self.forms)


@dataclass(slots=True)
class RowsRead:
    """Rows of one topic and schema.

    Attributes:
        topic: the topic.
        sources: the tables that they are of, in the order in which they came.
        reading: whether a snapshot has read them.
        form: all their columns.
        names: the columns that are added up.
        key: those that identify a row.
        position: that of the first one.
        keyed: whether they are told by their keys, and not by sums.
        sums: what came, less what went.
        changes: by keys: each change, as `_CHANGE` has it.
    """

    topic: str
    sources: dict[str, None]
    reading: bool
    form: RowForm
    names: tuple[str, ...]
    key: tuple[str, ...]
    position: str
    keyed: bool
    sums: Sums = field(default_factory=Sums)
    changes: bytearray = field(default_factory=bytearray)

    def change(self, key: bytes, row: bytes | None) -> None:
        """Notes what became of a key; None: its row is gone."""
        self.changes += _CHANGE.pack(key, row or bytes(16), row is not None)

    def by_keys(self) -> Iterator[Changed]:
        """The changes by keys, in order."""
        return ((key, row if there else None) for key, row, there in _CHANGE.iter_unpack(self.changes))


@dataclass(frozen=True, slots=True)
class Emptied:
    """All rows of a topic are gone."""

    topic: str


@dataclass(frozen=True, slots=True)
class Spoilt:
    """The sums of a topic tell nothing from here on.

    Attributes:
        topic: the topic.
        why: the reason.
    """

    topic: str
    why: str


@dataclass(frozen=True, slots=True)
class Reached:
    """How far the records lie.

    Attributes:
        lanes: by lane the position of the last one.
    """

    lanes: Mapping[str, str]


Step = RowsRead | Emptied | Spoilt | Marked | Reached
