"""Table marks: what a source tells about a whole table at one place in commit order, besides the changes of its rows.

Records tell what happened to rows. That a snapshot of a table begins, that a table was emptied, dropped or given other
columns, happens to all its rows at once, and a sink that keeps tables must hear of it in order with them. Marks go
beside the records of a batch (`cdckit.api.batch.Batch.marks`), to sinks that keep tables and to no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from cdckit.api.record import Record


class MarkKind(StrEnum):
    """What happened to a table."""

    SNAPSHOT_BEGIN = "snapshot_begin"
    """From here on all its rows are told anew, as reads: rows from before that are not among them are gone."""
    SNAPSHOT_END = "snapshot_end"
    """All its rows were told."""
    TRUNCATE = "truncate"
    """It was emptied."""
    DROP = "drop"
    """It is gone, with its rows: dropped, or called something else now."""
    CREATE = "create"
    """It is there, without rows."""
    RENAME = "rename"
    """It holds what another table (`previous`) held until now."""
    UNTOLD = "untold"
    """Rows of it came or went without the log's telling which: a partition was dropped or exchanged, for one."""
    ALTER = "alter"
    """It has another definition (`change`)."""


EMPTYING = frozenset({MarkKind.SNAPSHOT_BEGIN, MarkKind.TRUNCATE, MarkKind.DROP, MarkKind.CREATE})
"""Behind these, a source table has no rows but those that are told from there on."""


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """What an altered table has otherwise than before; columns are named by their fields in events.

    Attributes:
        added: columns that came.
        dropped: columns that went; one that went and came again stands here and in `added`.
        renamed: old and new names.
        retyped: columns (by their new names) whose type, or what computes their values, is another one.
        rewritten: those of them whose values the server may have changed with it: cut, rounded, converted, computed.
        key: the key's fields before and after, where they differ.
        comments: the new comments of columns, and under "" that of the table, where they differ.
        unseen: those of the added columns that older rows have values in, under names that are left out.
    """

    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    retyped: tuple[str, ...] = ()
    rewritten: tuple[str, ...] = ()
    key: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    comments: Mapping[str, str | None] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.dropped or self.renamed or self.retyped or self.key or self.comments)


@dataclass(frozen=True, slots=True)
class TableExample:
    """Records of one table that stand for all of them: by what the transforms make of them is found where its rows go.

    Attributes:
        table: `database.table`.
        records: creates of two rows that differ in every column that cannot be null.
    """

    table: str
    records: tuple[Record, Record]


def no_tables() -> Iterable[TableExample]:
    """No table is known to be captured besides."""
    return ()


@dataclass(frozen=True, slots=True)
class TableMark:
    """One thing that happened to one captured table.

    Attributes:
        kind: what.
        position: where; it sorts behind the positions of all records before it, and before those of all after it.
        example: the table, by its definition at that place (of one that is gone: the last one).
        captured: gives all tables that are captured at that place.
        before: for ALTER: the table by its definition before.
        change: for ALTER: what is otherwise.
        previous: for RENAME: the `database.table` whose rows these were.
        statement: what the source's log has of it; "" where it was no statement.
        of_shared: whether it is only for targets that tables share without anything that tells their rows apart (True),
            or only for others (False); None: for all. Where a snapshot's tables are read one after the other, a shared
            target hears of all their begins with the first one.
        made_ms: when it happened at the source, in milliseconds since 1970; None where the source cannot tell.
    """

    kind: MarkKind
    position: str
    example: TableExample
    captured: Callable[[], Iterable[TableExample]] = no_tables
    before: TableExample | None = None
    change: DefinitionChange | None = None
    previous: str | None = None
    statement: str = ""
    of_shared: bool | None = None
    made_ms: int | None = None

    @property
    def table(self) -> str:
        """`database.table`."""
        return self.example.table


@dataclass(frozen=True, slots=True)
class RoutedMark:
    """A mark at the table of one topic that the source table's rows arrive at.

    Attributes:
        mark: as the source told it.
        topic: that of the rows, behind the transforms.
        scope: members of the key, with their values, which the transforms or the source have given to the key of every
            row of this source table and which are no columns of it; empty where there are none.
        sharing: the other captured tables whose rows arrive at the same topic, where no scope tells them apart.
        example: what the transforms make of the first example.
        before: the same of `mark.before`.
    """

    mark: TableMark
    topic: str
    scope: Mapping[str, Any]
    sharing: tuple[str, ...]
    example: Record
    before: Record | None = None
