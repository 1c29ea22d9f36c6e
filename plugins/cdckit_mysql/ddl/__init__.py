"""Keeps table definitions in step with the DDL statements of a MySQL or MariaDB log."""

from cdckit_mysql.ddl.changes import ChangeKind, SchemaChange
from cdckit_mysql.ddl.charsets import Charsets, Collation
from cdckit_mysql.ddl.errors import DdlError
from cdckit_mysql.ddl.prefix import is_schema_change
from cdckit_mysql.ddl.reader import DdlReader
from cdckit_mysql.ddl.session import SHOWN, DdlSession, Flavor, SqlMode

__all__ = [
    "SHOWN",
    "ChangeKind",
    "Charsets",
    "Collation",
    "DdlError",
    "DdlReader",
    "DdlSession",
    "Flavor",
    "SchemaChange",
    "SqlMode",
    "is_schema_change",
]
