"""The reader of DDL statements: keeps table definitions in step with the log."""

from __future__ import annotations

from datetime import datetime

from cdckit_mysql.ddl.changes import SchemaChange
from cdckit_mysql.ddl.charsets import Charsets
from cdckit_mysql.ddl.cursor import Cursor
from cdckit_mysql.ddl.passwords import without_passwords
from cdckit_mysql.ddl.session import DdlSession, Flavor, SqlMode
from cdckit_mysql.ddl.statements import read_statements
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
        sql = without_passwords(sql)
        cursor = Cursor(sql, self.flavor, self.charsets, version=self.version, session=session, database=database)
        try:
            return read_statements(cursor, tables)
        except (ValueError, ArithmeticError) as error:
            raise cursor.error(f"a value cannot be read ({error})") from error
        except RecursionError as error:
            raise cursor.error("it is nested too deeply") from error

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
