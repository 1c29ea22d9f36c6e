"""Reads the definitions of a running server: its own CREATE TABLE statements, given to the reader of the log's.

So a definition is the same whether it was read from the server or followed through the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pymysql.connections import Connection
from pymysql.constants import ER
from pymysql.cursors import Cursor
from pymysql.err import MySQLError, OperationalError, ProgrammingError

from cdckit_mysql.ddl.reader import DdlReader
from cdckit_mysql.ddl.session import SHOWN, Charset, Charsets, Collation, Flavor
from cdckit_mysql.ddl.shown import ShownTables
from cdckit_mysql.server.driver import Answer, ask_together
from cdckit_mysql.table import Database, Table, TableId, Tables

log = logging.getLogger(__name__)

Wanted = Callable[[str, str], bool]

_SYSTEM_DATABASES = frozenset({"information_schema", "mysql", "performance_schema", "sys"})
_SESSION: dict[str, str | int] = {
    "sql_mode": "",
    "sql_quote_show_create": 1,
    "show_gipk_in_create_table_and_information_schema": 1,
}
"""What a session must have set for SHOW CREATE TABLE to tell everything, where the server knows the variable."""
_CANNOT_OPEN = frozenset((
    ER.WRONG_MRG_TABLE, ER.CRASHED_ON_USAGE, ER.CRASHED_ON_REPAIR, ER.NOT_KEYFILE, ER.NOT_FORM_FILE, ER.FILE_NOT_FOUND,
    ER.CANT_OPEN_FILE, ER.GET_ERRNO, ER.UNKNOWN_STORAGE_ENGINE,
))  # fmt: skip
"""The server has the table, and cannot open it."""
_KINDS = (b"BASE TABLE", b"SYSTEM VERSIONED")
_TOGETHER = 100
"""The server is asked for the statements of so many tables at once."""


def load_tables(
    connection: Connection[Any], wanted: Wanted, flavor: Flavor, created: dict[TableId, str] | None = None
) -> Tables:
    """Return the definitions of a server's tables as they are now.

    Args:
        connection: an open connection with the character set utf8mb4; its session is left as it was.
        wanted: whether a table, given by database and name, is to be loaded.
        flavor: the server's kind.
        created: takes the server's own statement for each table, where it is given.

    Returns:
        The wanted tables, and all databases but the server's own. A table that vanishes meanwhile is left out.

    Raises:
        DdlError: the server's own statement cannot be read.
        pymysql.MySQLError: the server refuses.
    """
    return read_definitions(connection, wanted).tables(flavor, created)


@dataclass(frozen=True, slots=True)
class ServerDefinitions:
    """What a server tells of its tables, not read yet: that takes as long again, and needs no lock any more.

    Attributes:
        charsets: its character sets.
        lower_case_table_names: its variable of that name.
        databases: all but its own.
        statements: its CREATE TABLE statement for each wanted table; None for a sequence.
    """

    charsets: Charsets
    lower_case_table_names: int
    databases: Sequence[Database]
    statements: Mapping[TableId, str | None]

    def tables(self, flavor: Flavor, created: dict[TableId, str] | None = None) -> Tables:
        """Return the definitions.

        Args:
            flavor: the server's kind.
            created: takes the statement for each table, where it is given.

        Raises:
            DdlError: a statement cannot be read.
        """
        shown = ShownTables(DdlReader(flavor, charsets=self.charsets))
        tables = Tables(lower_case_table_names=self.lower_case_table_names)
        for database in self.databases:
            tables.put_database(database)
        for table_id, statement in self.statements.items():
            if statement is None:
                tables.put(Table(*table_id, sequence=True))
                continue
            told = shown.read(tables, table_id, statement)
            if created is not None:
                created[table_id] = told
        return tables


def read_definitions(connection: Connection[Any], wanted: Wanted, needed: Wanted | None = None) -> ServerDefinitions:
    """Return what a server tells of its tables as they are now.

    Args:
        connection: an open connection with the character set utf8mb4; its session is left as it was.
        wanted: whether a table, given by database and name, is to be loaded.
        needed: the wanted tables that cannot be left out where the server has them and cannot open them; None: all.

    Raises:
        pymysql.MySQLError: the server refuses.
    """
    charsets = load_charsets(connection)
    with _telling_session(connection):
        [(fold,)] = _rows(connection, "SELECT @@lower_case_table_names")
        databases = list(_databases(connection))
        statements = dict(
            pair
            for database in databases
            for pair in _create_statements(connection, database.name, wanted, needed or wanted)
        )
    return ServerDefinitions(charsets, int(fold), databases, statements)


def load_table(connection: Connection[Any], table_id: TableId, reader: DdlReader) -> Table | None:
    """Return the definition of one table as it is now, or None where there is none.

    Args:
        connection: an open connection with the character set utf8mb4; its session is left as it was.
        table_id: the table.
        reader: reads the server's statement.

    Raises:
        DdlError: the server's own statement cannot be read.
        pymysql.MySQLError: the server refuses.
    """
    return load_each(connection, [table_id], reader)[table_id]


def load_each(
    connection: Connection[Any], table_ids: Iterable[TableId], reader: DdlReader
) -> dict[TableId, Table | None]:
    """Return the definitions of some tables as they are now, None for one that is not there; many cost little more.

    Args:
        connection: an open connection with the character set utf8mb4; its session is left as it was.
        table_ids: the tables.
        reader: reads the server's statements.

    Raises:
        DdlError: one of the server's own statements cannot be read.
        pymysql.MySQLError: the server refuses.
    """
    databases = {database.name: database for database in _databases(connection)}
    with _telling_session(connection):
        shown = _asked(connection, list(table_ids))
    statements = {table_id: _statement(answer) for table_id, answer in shown.items()}
    return {
        table_id: None if statement is None else _shown(reader, databases, table_id, statement)
        for table_id, statement in statements.items()
    }


def _shown(reader: DdlReader, databases: Mapping[str, Database], table_id: TableId, statement: str) -> Table | None:
    """The definition that a server's own statement makes."""
    tables = Tables()
    if (database := databases.get(table_id.database)) is not None:
        tables.put_database(database)
    reader.apply(tables, table_id.database, statement, SHOWN)
    return tables.get(*table_id)


def create_statement(connection: Connection[Any], table_id: TableId) -> str | None:
    """Return the server's own statement for a table, or None where there is no such table.

    Args:
        connection: an open connection with the character set utf8mb4; its session is left as it was.
        table_id: the table.
    """
    with _telling_session(connection):
        return _statement(_asked(connection, [table_id])[table_id])


def load_charsets(connection: Connection[Any]) -> Charsets:
    """Return a server's character sets and collations, for the reader of its DDL.

    Args:
        connection: an open connection with the character set utf8mb4.
    """
    known = {
        name: Charset(collation, size)
        for name, collation, size in _rows(
            connection,
            "SELECT CHARACTER_SET_NAME, DEFAULT_COLLATE_NAME, MAXLEN FROM information_schema.CHARACTER_SETS",
        )
    }
    [server] = _rows(connection, "SELECT @@character_set_server, @@collation_server")
    collations = {number: Collation(charset, name) for name, charset, number in _collations(connection)}
    return Charsets(known, Collation(*server), "utf8mb3" if "utf8mb3" in known else "utf8", collations)


def _collations(connection: Connection[Any]) -> tuple[tuple[Any, ...], ...]:
    """Return name, character set and number of each collation; MariaDB lists those of several sets elsewhere."""
    try:
        return _rows(
            connection,
            "SELECT FULL_COLLATION_NAME, CHARACTER_SET_NAME, ID "
            "FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY",
        )
    except OperationalError as error:
        if error.args[0] != ER.BAD_FIELD_ERROR:
            raise
    return _rows(connection, "SELECT COLLATION_NAME, CHARACTER_SET_NAME, ID FROM information_schema.COLLATIONS")


def _create_statements(
    connection: Connection[Any], database: str, wanted: Wanted, needed: Wanted
) -> Iterator[tuple[TableId, str | None]]:
    """Yield the tables of a database with the statements that make them; a sequence has none."""
    rows = _rows(connection, f"SHOW FULL TABLES FROM {_quoted(database)}")
    listed = [(TableId(database, _text(name)), kind) for name, kind in rows]
    shown = _asked(connection, [table for table, kind in listed if kind in _KINDS and wanted(*table)])
    for table_id, kind in listed:
        if kind == b"SEQUENCE":
            yield table_id, None
        elif table_id in shown:
            statement = None
            with _left_out_or_named(table_id, needed=needed(*table_id)):
                statement = _statement(shown[table_id])
            if statement is not None:
                yield table_id, statement


@contextmanager
def _left_out_or_named(table_id: TableId, *, needed: bool) -> Iterator[None]:
    """A table that the server cannot open, such as a MERGE table without those that it is made of."""
    try:
        yield
    except MySQLError as error:
        code, text = (*error.args, "", "")[:2]
        if code not in _CANNOT_OPEN:
            raise
        if needed:
            advice = f"table {table_id}: repair or drop it, or name it in table.exclude.list"
            raise type(error)(code, f"{text}; {advice}") from error
        log.warning(
            "%s, which is not captured, is passed over: the server cannot open it (%s: %s)", table_id, code, text
        )


def _databases(connection: Connection[Any]) -> Iterator[Database]:
    found = _rows(
        connection,
        "SELECT SCHEMA_NAME, DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA",
    )
    for row in found:
        name, charset, collation = map(_text, row)
        if name.lower() not in _SYSTEM_DATABASES:
            yield Database(name, charset, collation)


def _asked(connection: Connection[Any], table_ids: Sequence[TableId]) -> dict[TableId, Answer]:
    """What the server answers to SHOW CREATE TABLE for each table."""
    found: dict[TableId, Answer] = {}
    for first in range(0, len(table_ids), _TOGETHER):
        part = table_ids[first : first + _TOGETHER]
        asked = [f"SHOW CREATE TABLE {'.'.join(map(_quoted, table_id))}" for table_id in part]
        found.update(zip(part, ask_together(connection, asked), strict=True))
    return found


def _statement(answer: Answer) -> str | None:
    """The statement of an answer; None where there is no such table."""
    if isinstance(answer, MySQLError):
        if isinstance(answer, ProgrammingError) and answer.args[0] == ER.NO_SUCH_TABLE:
            return None
        raise answer
    [(_, statement)] = answer
    return _text(statement)


@contextmanager
def _telling_session(connection: Connection[Any]) -> Iterator[None]:
    """Set the session up for SHOW CREATE TABLE, and to return bytes: MariaDB prints binary defaults as they are."""
    names = ", ".join(f"'{name}'" for name in _SESSION)
    before = _rows(connection, f"SHOW SESSION VARIABLES WHERE Variable_name IN ({names})")
    use_unicode, connection.use_unicode = connection.use_unicode, False
    try:
        _set(connection, {_text(name): _SESSION[_text(name)] for name, _ in before})
        yield
    finally:
        connection.use_unicode = use_unicode
        if connection.open:  # else why it is lost is to be told
            _set(connection, {_text(name): _text(value) for name, value in before})


def _set(connection: Connection[Any], variables: dict[str, str | int]) -> None:
    wanted = ", ".join(f"SESSION {name} = %s" for name in variables)
    with connection.cursor(Cursor) as cursor:
        cursor.execute(f"SET {wanted}", tuple(variables.values()))


def _rows(connection: Connection[Any], sql: str) -> tuple[tuple[Any, ...], ...]:
    with connection.cursor(Cursor) as cursor:
        cursor.execute(sql)
        return tuple(cursor.fetchall())


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
