"""Keeps table definitions in step with the DDL statements of a MySQL or MariaDB log."""

from cdckit_mysql.ddl.changes import ChangeKind, SchemaChange
from cdckit_mysql.ddl.lexer import DdlError, Kind, Token, tokenize
from cdckit_mysql.ddl.loader import (
    ServerDefinitions,
    create_statement,
    load_charsets,
    load_each,
    load_table,
    load_tables,
    read_definitions,
)
from cdckit_mysql.ddl.reader import DdlReader
from cdckit_mysql.ddl.session import SHOWN, Charsets, Collation, DdlSession, Flavor, SqlMode
from cdckit_mysql.ddl.statement_text import first_word, is_schema_change

__all__ = [
    "SHOWN",
    "ChangeKind",
    "Charsets",
    "Collation",
    "DdlError",
    "DdlReader",
    "DdlSession",
    "Flavor",
    "Kind",
    "SchemaChange",
    "ServerDefinitions",
    "SqlMode",
    "Token",
    "create_statement",
    "first_word",
    "is_schema_change",
    "load_charsets",
    "load_each",
    "load_table",
    "load_tables",
    "read_definitions",
    "tokenize",
]
