"""Table marks: what a statement of the log, or a snapshot, does to whole tables that are captured."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from cdckit import MarkKind, Record, TableExample, TableMark
from cdckit.connector.example_values import example_struct
from cdckit_mysql.ddl import ChangeKind, SchemaChange
from cdckit_mysql.events.altered_tables import definition_change
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import CHUNK_ROWS, LogPosition, record_position
from cdckit_mysql.splits import ChunkWork
from cdckit_mysql.table import Table, TableId, Tables

_BEFORE, _BEHIND = CHUNK_ROWS - 1, 10**14 - 1
"""Before and behind the numbers of all rows of a snapshot. What ends where it begins, like TRUNCATE, has lower ones."""
_REBUILT = re.compile(r"_+(?P<table>[^_].*)_(?:gho|new)")
"""What gh-ost and pt-online-schema-change call the copy with the new columns that takes a table's place."""
_WASTED = re.compile(r"_+(?P<table>[^_].*)_(?:del|old)")
"""… and what they call the table that was there before."""
_ALTERS = (ChangeKind.ALTER, ChangeKind.INDEX)


class TableMarker:
    """Makes the marks of one source.

    Args:
        filters: what is captured.
        versions: what makes records of rows.
        unnamed: gives the captured tables that the definitions which statements are read with do not have; none by
            default.
    """

    def __init__(
        self, filters: Filters, versions: TableVersions, unnamed: Callable[[], Iterable[Table]] = tuple
    ) -> None:
        self._filters = filters
        self._versions = versions
        self._unnamed = unnamed
        self._examples: dict[TableId, tuple[Table | None, TableExample]] = {}

    def of_snapshot(self, point: LogPosition, work: ChunkWork) -> Iterator[TableMark]:
        """That a snapshot begins, and that it ends, for each table of whose rows the first or last are read.

        Args:
            point: the place in the log that its rows stand for.
            work: what is read.
        """
        # All rows of the snapshot lie between the two marks, by position alone: no reader has to know how it was cut.
        begin, end = record_position(point.prefix, _BEFORE), record_position(point.prefix, _BEHIND)
        now = time.time_ns() // 1_000_000_000 * 1000

        def others() -> Iterator[TableExample]:
            return (self._example(table.id, table) for table in work.captured)

        for table in work.begun:
            shared = None if work.first else False
            yield self._begun(table, begin, others, shared, now)
        for table in work.ahead:
            yield self._begun(table, begin, others, True, now)
        for table in work.ended:
            yield TableMark(MarkKind.SNAPSHOT_END, end, self._example(table.id, table), others)

    def _begun(
        self, table: Table, begin: str, others: Callable[[], Iterable[TableExample]], shared: bool | None, now: int
    ) -> TableMark:
        example = self._example(table.id, table)
        return TableMark(MarkKind.SNAPSHOT_BEGIN, begin, example, others, of_shared=shared, made_ms=now)

    def of_statement(
        self, changes: Sequence[SchemaChange], tables: Tables, prefix: str, first: int, made_ms: int
    ) -> Iterator[TableMark]:
        """The marks of what one statement changed.

        Args:
            changes: what it changed, in order.
            tables: the definitions after it.
            prefix: what the positions of its records begin with.
            first: the number of the first one in the positions.
            made_ms: when it was made, in milliseconds since 1970.
        """
        statement = _Statement(self._filters, changes)
        found = [one for one in statement.found() if self._filters.captures(*one[1])]
        after = tables.copy() if found else tables

        def others() -> Iterator[TableExample]:
            named = (table for table in after if self._filters.captures(*table.id))
            return (self._example(table.id, table) for table in chain(named, self._unnamed()))

        for number, (kind, name, table, change) in enumerate(found, first):
            position = record_position(prefix, number)
            example = self._example(name, table)
            mark = TableMark(kind, position, example, others, statement=change.ddl, made_ms=made_ms)
            if kind is MarkKind.ALTER:
                mark = self._altered(mark, statement.before(name), table, change)
                if mark.change is not None and not mark.change:
                    continue
            elif kind is MarkKind.RENAME:
                mark = replace(mark, previous=str(statement.origin(name)))
            yield mark

    def example(self, table: Table) -> TableExample:
        """Two rows of a table by this definition."""
        return self._example(table.id, table)

    def _altered(self, mark: TableMark, before: Table | None, after: Table | None, change: SchemaChange) -> TableMark:
        """The mark with what the table has otherwise; of one whose definition was not known before nothing is told."""
        if before is None or after is None:
            return mark
        earlier = self._example(before.id, before)
        versions = self._versions.of(before), self._versions.of(after)
        difference = definition_change(*versions, change)
        return replace(mark, before=earlier, change=difference)

    def _example(self, name: TableId, table: Table | None) -> TableExample:
        """Two rows of a table, made once for a definition."""
        kept = self._examples.get(name)
        if kept is None or kept[0] != table:
            kept = self._examples[name] = (table, TableExample(str(name), self._records(name, table)))
        return kept[1]

    def _records(self, name: TableId, table: Table | None) -> tuple[Record, Record]:
        """Of a table whose definition is not known, records that say no more than its topic."""
        if table is None or table.sequence:
            unknown = Record(self._versions.topics.data(name), None, None)
            return unknown, unknown
        events = self._versions.of(table).events
        source = self._versions.blocks.block(table.id, 0, "", 0)
        one, two = (events.creates([example_struct(events.row_schema, n).values], source, "")[0] for n in (1, 2))
        return one, two


Found = tuple[MarkKind, TableId, Table | None, SchemaChange]
"""What happened to which table, its definition (of one that is gone the last one), and the change that says so."""


class _Statement:
    """What one statement comes to, table by table: renames one after the other may swap tables.

    Args:
        filters: what is tracked.
        changes: of the statement, in order.
    """

    def __init__(self, filters: Filters, changes: Sequence[SchemaChange]) -> None:
        self._filters = filters
        self._changes = changes
        self._holds: dict[TableId, TableId | None] = {}
        self._were: dict[TableId, Table | None] = {}

    def found(self) -> Iterator[Found]:
        """What happened."""
        renames: dict[TableId, SchemaChange] = {}
        for change in self._changes:
            yield from _rows_of(change)
            if change.before is not None and change.after is not None and change.before != change.after:
                self._rename(change.before, change.after, change, renames)
            elif change.kind in _ALTERS and change.after is not None and change.table is not None:
                self._were.setdefault(change.after, change.previous)
                yield MarkKind.ALTER, change.after, change.table, change
        yield from self._renamed(renames)

    def _rename(self, old: TableId, new: TableId, change: SchemaChange, renames: dict[TableId, SchemaChange]) -> None:
        if change.previous is None and self._filters.tracks(*old):
            return  # a view
        origin = self._holds.pop(old, old)
        if origin is not None:
            self._were.setdefault(origin, change.previous)
        self._holds[old], self._holds[new] = None, origin
        renames[old] = renames[new] = change

    def _renamed(self, renames: dict[TableId, SchemaChange]) -> Iterator[Found]:
        """Tables that lost their name or got another, first those that are gone."""
        for name, origin in sorted(self._holds.items(), key=lambda pair: pair[1] is not None):
            change = renames[name]
            if origin is None:
                if name in self._were:  # else it was there within the statement alone
                    yield MarkKind.DROP, name, self._were[name], change
            elif origin != name:
                yield self._taken(name, origin), name, change.table, change

    def _taken(self, name: TableId, origin: TableId) -> MarkKind:
        """What it is to a table that the rows of another are there now: an online change's copy has its own rows.

        The old table that such a change leaves under another name is waste, of which nobody expects the rows.
        """
        if self._rebuilt(name):
            return MarkKind.ALTER
        wasted = _WASTED.fullmatch(name.name)
        left = wasted is not None and wasted["table"] == origin.name and self._rebuilt(origin)
        return MarkKind.DROP if left else MarkKind.RENAME

    def _rebuilt(self, name: TableId) -> bool:
        """Whether a table's copy with other columns, as tools for online changes make it, takes its place."""
        origin = self._holds.get(name)
        copied = _REBUILT.fullmatch(origin.name) if origin is not None else None
        return copied is not None and copied["table"] == name.name and self._were.get(name) is not None

    def origin(self, name: TableId) -> TableId | None:
        """The name that a table's rows were under before."""
        return self._holds.get(name)

    def before(self, name: TableId) -> Table | None:
        """The definition that a name had before."""
        return self._were.get(name)


def _rows_of(change: SchemaChange) -> Iterator[Found]:
    """What a change does to the rows of tables, renames aside."""
    name = change.after or change.before
    if change.kind is ChangeKind.TRUNCATE and name is not None:
        yield MarkKind.TRUNCATE, name, change.table, change
    elif change.kind is ChangeKind.DROP and name is not None:
        yield MarkKind.DROP, name, change.previous, change
    elif change.kind is ChangeKind.DROP_DATABASE:
        yield from ((MarkKind.DROP, table.id, table, change) for table in change.dropped)
    elif change.moves_rows and name is not None:
        yield MarkKind.UNTOLD, name, change.table, change
        if change.exchanged is not None:
            yield MarkKind.UNTOLD, change.exchanged, None, change
    elif change.kind is ChangeKind.CREATE and change.before is None and name is not None:
        yield MarkKind.CREATE, name, change.table, change
