"""What a statement did to the definitions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from cdckit_mysql.table import Table, TableId


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
    strict: bool = False
    moves_rows: bool = False
    exchanged: TableId | None = None
    dropped: tuple[Table, ...] = ()
    session_database: str = ""
