"""What the statements share: where they are read, and the definitions that they change."""

from __future__ import annotations

from dataclasses import dataclass

from cdckit_mysql.ddl.changes import ChangeKind, SchemaChange
from cdckit_mysql.ddl.charsets import Collation
from cdckit_mysql.ddl.cursor import Cursor
from cdckit_mysql.table import Table, TableId, Tables

Changes = list[SchemaChange] | None
"""What a statement changed; None says that it is of a kind which changes no definition."""


@dataclass(slots=True)
class Scope:
    """One statement while it is read.

    Attributes:
        cursor: where it is read.
        tables: the definitions that it changes.
        start: offset of its first word.
    """

    cursor: Cursor
    tables: Tables
    start: int

    @property
    def text(self) -> str:
        """The statement as far as it is read."""
        return self.cursor.text_since(self.start)

    def spelled(self, table_id: TableId) -> TableId:
        """Return a table's name as the server stores it."""
        return TableId(self.tables.spelling(table_id.database), self.tables.spelling(table_id.name))

    def table_id(self) -> TableId:
        """Read a table's name."""
        return self.spelled(self.cursor.table_id())

    def table_ids(self) -> list[TableId]:
        """Read a list of tables' names."""
        table_ids = [self.table_id()]
        while self.cursor.accept(","):
            table_ids.append(self.table_id())
        return table_ids

    def database_name(self) -> str:
        """Read a database's name."""
        return self.tables.spelling(self.cursor.identifier())

    def skip_wait(self) -> None:
        """Read MariaDB's `WAIT n` and `NOWAIT`."""
        if self.cursor.accept("WAIT"):
            self.cursor.advance()
        self.cursor.accept("NOWAIT")

    def server_collation(self) -> Collation:
        """Return what a database gets that names no character set."""
        name = self.cursor.session.collation_server
        return self.cursor.charsets.collation(name) if name else self.cursor.charsets.server

    def database_collation(self, database: str) -> Collation:
        """Return what a table of a database gets that names no character set."""
        known = self.tables.database(database)
        if known and known.charset and known.collation:
            return Collation(known.charset, known.collation)
        return self.server_collation()

    def changed(self, kind: ChangeKind, before: Table, after: Table) -> SchemaChange:
        """Keep a table's new definition."""
        self.tables.put(after)
        session = self.cursor.database
        return SchemaChange(
            kind, before.database, self.text, before.id, after.id, before, after, session_database=session
        )

    def unchanged(self, kind: ChangeKind, table_id: TableId) -> SchemaChange:
        """Return a change that leaves a definition as it is, or as unknown as it is."""
        table = self.tables.get(*table_id)
        session = self.cursor.database
        return SchemaChange(
            kind, table_id.database, self.text, table_id, table_id, table, table, session_database=session
        )
