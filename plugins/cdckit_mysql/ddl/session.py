"""What besides its text decides what a statement means: the server's kind and the session's variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntFlag, StrEnum


class Flavor(StrEnum):
    """The two lines of servers; their grammars and defaults differ."""

    MYSQL = "mysql"
    MARIADB = "mariadb"


class SqlMode(IntFlag):
    """The bits of `sql_mode` that change how DDL is read, or what it does to rows.

    The numbers are those of the status variable Q_SQL_MODE_CODE in a QUERY event, the same on both servers; other
    bits may be set and mean nothing here.
    """

    NONE = 0
    REAL_AS_FLOAT = 1 << 0
    ANSI_QUOTES = 1 << 2
    ORACLE = 1 << 9
    NO_BACKSLASH_ESCAPES = 1 << 20
    STRICT_TRANS_TABLES = 1 << 21
    STRICT_ALL_TABLES = 1 << 22


@dataclass(frozen=True, slots=True)
class DdlSession:
    """The variables of the session that ran a statement, from the QUERY event's status variables.

    Attributes:
        sql_mode: Q_SQL_MODE_CODE.
        collation_server: third number of Q_CHARSET_CODE, as a name; what a new database gets.
        default_collations: for a character set a session may set another default collation: MySQL's
            `default_collation_for_utf8mb4`, MariaDB's `character_set_collations`.
        explicit_defaults_for_timestamp: when off, TIMESTAMP columns are NOT NULL and get defaults unless the
            statement says otherwise.
        time_zone: the session's, or None where the event does not tell.
        now: when the statement began, or None where that is not known.
        shown: the statement is what a server shows of a table: there NOT NULL stands wherever it holds, and
            AUTO_INCREMENT does not imply it.
    """

    sql_mode: SqlMode = SqlMode.NONE
    collation_server: str | None = None
    default_collations: Mapping[str, str] = field(default_factory=dict)
    explicit_defaults_for_timestamp: bool = True
    time_zone: str | None = None
    now: datetime | None = None
    shown: bool = False

    @property
    def strict(self) -> bool:
        """Whether values that do not fit are errors."""
        return bool(self.sql_mode & (SqlMode.STRICT_TRANS_TABLES | SqlMode.STRICT_ALL_TABLES))


SHOWN = DdlSession(shown=True)
"""The session of statements that a server shows."""
