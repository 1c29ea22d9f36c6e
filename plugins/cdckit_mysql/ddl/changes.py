"""What statements do to the definitions, and where they do it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from cdckit_mysql.ddl.lexer import Cursor
from cdckit_mysql.ddl.session import Collation
from cdckit_mysql.table import Table, TableId, Tables


class ChangeKind(StrEnum):
    """What happened."""

    CREATE = "CREATE"
    ALTER = "ALTER"
    INDEX = "INDEX"
    """CREATE INDEX or DROP INDEX."""
    RENAME = "RENAME"
    DROP = "DROP"
    TRUNCATE = "TRUNCATE"
    SEQUENCE = "SEQUENCE"
    """One of MariaDB's sequences was created or dropped; the log names them as tables."""
    VIEW = "VIEW"
    """A view was created, altered or dropped: no definition changes."""
    CREATE_DATABASE = "CREATE DATABASE"
    ALTER_DATABASE = "ALTER DATABASE"
    DROP_DATABASE = "DROP DATABASE"


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One change of one table, view or database; a statement over several gives several, in order.

    Attributes:
        kind: what happened.
        database: whose change it is: that of the table as it was named before, or the database itself.
        before: the table's name before, None if it did not exist, or for a change of a database.
        after: its name after, None if it is gone, or for a change of a database.
        previous: its definition before, as far as known.
        table: its definition after, as far as known: a table that was not loaded and then altered stays unknown.
        ddl: the statement, or of one over several tables a statement for this one alone.
        renamed: the old and new names of columns that the statement renames.
        made_anew: columns, in lower case, that the statement drops and adds again.
        computed: columns, in lower case, to which the statement may have given other values: by an expression, or by
            AUTO_INCREMENT.
        strict: whether values that do not fit a new definition were errors.
        moves_rows: whether rows of the table come or go by it, which the log does not tell: those of a partition.
        exchanged: the table that such rows come from, or go to.
        dropped: of a dropped database, the tables that were known.
        session_database: of an index, the default database of the session that made it; empty without one.
    """

    kind: ChangeKind
    database: str
    ddl: str
    before: TableId | None = None
    after: TableId | None = None
    previous: Table | None = None
    table: Table | None = None
    renamed: tuple[tuple[str, str], ...] = ()
    made_anew: tuple[str, ...] = ()
    computed: tuple[str, ...] = ()
    strict: bool = False
    moves_rows: bool = False
    exchanged: TableId | None = None
    dropped: tuple[Table, ...] = ()
    session_database: str = ""


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
