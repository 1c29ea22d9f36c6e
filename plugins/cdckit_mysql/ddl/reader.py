"""The reader of DDL statements: keeps table definitions in step with the log."""

from __future__ import annotations

from datetime import datetime

from cdckit_mysql.ddl.changes import Changes, SchemaChange, Scope
from cdckit_mysql.ddl.lexer import Cursor
from cdckit_mysql.ddl.session import Charsets, DdlSession, Flavor, SqlMode
from cdckit_mysql.ddl.statement_text import without_passwords
from cdckit_mysql.ddl.statements import (
    alter_database,
    alter_table,
    at_create_index,
    create_database,
    create_index,
    create_sequence,
    create_table,
    define_view,
    drop_database,
    drop_index,
    drop_sequences,
    drop_tables,
    drop_views,
    rename_tables,
    truncate_table,
)
from cdckit_mysql.table import Tables

_MARIADB_LOGS_EXPLICIT = 101000
"""The version from which on MariaDB's sessions can set `explicit_defaults_for_timestamp`, and log it."""
_MARIADB_EXPLICIT = 1 << 24
"""OPTION_EXPLICIT_DEF_TIMESTAMP of Q_FLAGS2_CODE."""


class DdlReader:
    """Reads the DDL statements of one server's log.

    Args:
        flavor: the server's kind.
        version: the server's version as 90704 for 9.7.4, which decides on version comments; 0 reads all of them.
        charsets: the server's character sets; without them those of a recent server are assumed.
    """

    def __init__(self, flavor: Flavor, *, version: int = 0, charsets: Charsets | None = None) -> None:
        self.flavor = flavor
        self.version = version
        self.charsets = charsets or Charsets.of(flavor)

    def apply(self, tables: Tables, database: str, sql: str, session: DdlSession | None = None) -> list[SchemaChange]:
        """Carry out a statement on the definitions.

        Args:
            tables: the definitions before; changed in place.
            database: the statement's default database, empty if it had none.
            sql: the statement. Bytes that its character set does not know may stand in it as surrogate escapes.
            session: the variables under which it ran; the server's defaults when left out.

        Returns:
            What changed, in order; nothing for a statement that concerns neither tables nor views nor databases.

        Raises:
            DdlError: it cannot be read, or contradicts the definitions.
        """
        cursor = self.cursor(without_passwords(sql), database, session)
        try:
            return _read_statements(cursor, tables)
        except (ValueError, ArithmeticError) as error:
            raise cursor.error(f"a value cannot be read ({error})") from error
        except RecursionError as error:
            raise cursor.error("it is nested too deeply") from error

    def cursor(self, sql: str, database: str, session: DdlSession | None = None) -> Cursor:
        """A statement as its server splits it into words.

        Args:
            sql: the statement.
            database: its default database, empty if it had none.
            session: the variables under which it ran; the server's defaults when left out.

        Raises:
            DdlError: a quote or a comment is not closed.
        """
        return Cursor(sql, self.flavor, self.charsets, version=self.version, session=session, database=database)

    def session(
        self,
        *,
        sql_mode: int | None,
        collation_server: int | None,
        default_collation_for_utf8mb4: int | None,
        explicit_timestamps: bool | None,
        options: int | None,
        explicit_timestamps_by_default: bool,
        time_zone: str | None = None,
        now: datetime | None = None,
    ) -> DdlSession:
        """Return the session of a statement from its QUERY event's status variables, None where it has none.

        Args:
            sql_mode: Q_SQL_MODE_CODE.
            collation_server: the third number of Q_CHARSET_CODE.
            default_collation_for_utf8mb4: Q_DEFAULT_COLLATION_FOR_UTF8MB4.
            explicit_timestamps: Q_EXPLICIT_DEFAULTS_FOR_TIMESTAMP.
            options: Q_FLAGS2_CODE, in which MariaDB has the same.
            explicit_timestamps_by_default: the server's `explicit_defaults_for_timestamp`, for servers whose log does
                not tell the session's.
            time_zone: Q_TIME_ZONE_CODE.
            now: when the statement began: the event's time and Q_MICROSECONDS.
        """
        collations = self.charsets.collations
        if explicit_timestamps is None and self.flavor is Flavor.MARIADB and self.version >= _MARIADB_LOGS_EXPLICIT:
            explicit_timestamps = bool((options or 0) & _MARIADB_EXPLICIT)
        if explicit_timestamps is None:
            explicit_timestamps = explicit_timestamps_by_default
        server = collations.get(collation_server or 0)
        utf8mb4 = collations.get(default_collation_for_utf8mb4 or 0)
        return DdlSession(
            sql_mode=SqlMode(sql_mode or 0),
            collation_server=server and server.name,
            default_collations={"utf8mb4": utf8mb4.name} if utf8mb4 else {},
            explicit_defaults_for_timestamp=explicit_timestamps,
            time_zone=time_zone,
            now=now,
        )


# -- what a statement is


def _read_statements(cursor: Cursor, tables: Tables) -> list[SchemaChange]:
    """Read all statements of a text and apply them; one which changes no definition ends the reading.

    Raises:
        DdlError: one of them cannot be read.
    """
    changes: list[SchemaChange] = []
    while not cursor.done:
        if cursor.accept(";"):
            continue
        found = _read_statement(Scope(cursor, tables, cursor.token.start))
        if found is None:
            break
        if not (cursor.done or cursor.at(";")):
            raise cursor.error("expected the end of the statement")
        changes += found
    return changes


def _read_statement(scope: Scope) -> Changes:
    cursor = scope.cursor
    cursor.skip_variables()
    if cursor.accept("CREATE"):
        return _create(scope)
    if cursor.accept("ALTER"):
        return _alter(scope)
    if cursor.accept("DROP"):
        return _drop(scope)
    if cursor.accept("RENAME", "TABLE") or cursor.accept("RENAME", "TABLES"):
        return rename_tables(scope)
    return truncate_table(scope) if cursor.accept("TRUNCATE") else None


def _create(scope: Scope) -> Changes:
    cursor = scope.cursor
    replaces = cursor.accept("OR", "REPLACE")
    if cursor.accept_any("DATABASE", "SCHEMA"):
        return create_database(scope, replaces=replaces)
    cursor.accept_any("EXTERNAL", "ONLINE", "OFFLINE")
    if cursor.accept("TABLE"):
        return create_table(scope, replaces=replaces)
    if cursor.accept("SEQUENCE"):
        return create_sequence(scope, replaces=replaces)
    if at_create_index(cursor):
        return create_index(scope, replaces=replaces)
    return define_view(scope)


def _alter(scope: Scope) -> Changes:
    cursor = scope.cursor
    if cursor.accept_any("DATABASE", "SCHEMA"):
        return alter_database(scope)
    words = set()
    while word := cursor.accept_any("ONLINE", "OFFLINE", "IGNORE"):
        words.add(word)
    return alter_table(scope, ignores="IGNORE" in words) if cursor.accept("TABLE") else define_view(scope)


def _drop(scope: Scope) -> Changes:
    cursor = scope.cursor
    if cursor.accept_any("DATABASE", "SCHEMA"):
        return drop_database(scope)
    cursor.accept_any("ONLINE", "OFFLINE")
    if cursor.accept("INDEX"):
        return drop_index(scope)
    if cursor.accept_any("TABLE", "TABLES"):
        return drop_tables(scope)
    if cursor.accept("SEQUENCE"):
        return drop_sequences(scope)
    return drop_views(scope) if cursor.accept("VIEW") else None
