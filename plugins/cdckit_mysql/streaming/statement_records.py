"""What statements that change definitions are told by: table marks, records of emptied tables, schema changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from cdckit import Record, Struct, TableMark
from cdckit_mysql.ddl import ChangeKind, SchemaChange
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.schema_changes.records import SchemaChangeRecords
from cdckit_mysql.streaming.processor_parts import ProcessorParts
from cdckit_mysql.table import Table, TableId


class StatementRecords:
    """Makes them for one processor."""

    def __init__(self, parts: ProcessorParts) -> None:
        config, versions = parts.config, parts.versions
        self._filters = parts.filters
        self._definitions = parts.definitions
        self._marker = parts.marker
        self._truncates = versions.format.truncates and "t" not in config.skipped
        self._schema_changes = (
            SchemaChangeRecords(config, parts.filters, versions) if config.include_schema_changes else None
        )

    def marks(self, changes: Sequence[SchemaChange], prefix: str, first: int, made_ms: int) -> Sequence[TableMark]:
        """The table marks of a statement at a position, with numbers from `first` on."""
        if self._marker is None or not changes:
            return ()
        return list(self._marker.of_statement(changes, self._definitions.tables, prefix, first, made_ms))

    def emptied(self, changes: Sequence[SchemaChange]) -> Iterator[Table]:
        """The captured tables that it empties, where that is told of."""
        emptied = (change.table for change in changes if change.kind is ChangeKind.TRUNCATE)
        for table in emptied if self._truncates else ():
            if table is not None and self._filters.captures(*table.id):
                yield table

    def schema_changes(
        self, changes: Sequence[SchemaChange], source: Callable[[TableId], Struct], behind: LogOffset, first: int
    ) -> Sequence[Record]:
        """The records of schema changes, where such are made."""
        if self._schema_changes is None or not changes:
            return ()
        return self._schema_changes.of_statement(changes, self._definitions.tables, source, behind, first)
