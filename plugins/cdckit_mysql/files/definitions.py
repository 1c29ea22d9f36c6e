"""The definitions in force in log files: those of the history and the log's statements, else the log's own metadata."""

from __future__ import annotations

import re

from cdckit_mysql.binlog.tables import TableMap
from cdckit_mysql.ddl import Charsets, Collation, Flavor
from cdckit_mysql.files.metadata import table_of
from cdckit_mysql.server.facts import Dialect, RowLogging
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.streaming.failures import InconsistentSchemaError
from cdckit_mysql.table import Table
from cdckit_mysql.values.charset import charset_of_collation

_COLLATION_NUMBERS = range(1, 4096)
_MYSQL_EXPLICIT, _MARIADB_EXPLICIT = 80000, 101000
"""From which versions on `explicit_defaults_for_timestamp` is on by default."""


def dialect_of(version: str) -> Dialect:
    """What the version in a log file tells of its server, whose defaults are taken for granted.

    Args:
        version: as the FORMAT_DESCRIPTION has it: `10.11.6-MariaDB-log`.
    """
    mariadb = "mariadb" in version.lower()
    major, minor, patch = ([int(part) for part in re.findall(r"\d+", version)] + [0, 0, 0])[:3]
    number = major * 10000 + minor * 100 + patch
    return Dialect(
        mariadb=mariadb,
        version=number,
        charsets=_charsets(Flavor.MARIADB if mariadb else Flavor.MYSQL),
        explicit_timestamps=number >= (_MARIADB_EXPLICIT if mariadb else _MYSQL_EXPLICIT),
        rows=RowLogging(mariadb, complete=True),
    )


def _charsets(flavor: Flavor) -> Charsets:
    """Statements name collations by number: of these the character set matters for reading rows."""
    plain = Charsets.of(flavor)
    collations = {number: _collation(plain, number) for number in _COLLATION_NUMBERS}
    return Charsets(plain.known, plain.server, plain.utf8, collations)


def _collation(charsets: Charsets, number: int) -> Collation:
    return charsets.default(charset_of_collation(number), {})


class FileDefinitions(Definitions):
    """The same as a server's, and for a table that no statement has defined what the log says of it."""

    def of(self, announced: TableMap) -> Table | None:
        """The definition of a table that the log announces.

        Raises:
            InconsistentSchemaError: neither the history nor the log knows it.
        """
        known = super().of(announced)
        if known is None:
            known = table_of(announced, self.reader.charsets)
            if known is None:
                raise InconsistentSchemaError(
                    "its definition stands neither in the schema history nor in the log: read the files with the state "
                    "of a pipeline that has captured this server, begin with a file before its CREATE TABLE, or let "
                    "the server log its rows with binlog_row_metadata=FULL",
                    number="CDC5102",
                )
            self.tables.put(known)
        return known
