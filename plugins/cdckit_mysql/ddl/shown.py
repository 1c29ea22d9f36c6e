"""Reads what a server shows of its tables: those of one shape, which differ by their names alone, once.

Thousands of tables often have few shapes: one for each customer, or shard. A statement's text is quickly compared, and
tables that are read from the same text share their columns, so that whatever is made of a column can be shared, too.
"""

from __future__ import annotations

import re
from dataclasses import replace

from cdckit_mysql.ddl.changes import SchemaChange
from cdckit_mysql.ddl.reader import DdlReader
from cdckit_mysql.ddl.session import SHOWN
from cdckit_mysql.table import Table, TableId, Tables

_NEXT_NUMBER = re.compile(r"(?P<engine>ENGINE=\w+) AUTO_INCREMENT=\d+").match
"""What the options of a table begin with that counts its rows; no definition has the number."""
_OPTIONS = "\n) "
"""Behind the last of these, in the server's own layout, stand a table's options."""

_Shape = tuple[str | None, str | None, str]
"""The defaults of a table's database, and its statement behind the name."""


class ShownTables:
    """Reads statements of one server.

    Args:
        reader: reads those that no other one was like.
    """

    def __init__(self, reader: DdlReader) -> None:
        self._reader = reader
        self._known: dict[_Shape, Table] = {}

    def read(self, tables: Tables, table_id: TableId, statement: str) -> str:
        """Puts a table's definition among the others, and gives the statement as the history is to have it.

        Args:
            tables: take the definition.
            table_id: its name, as the server spells it.
            statement: what SHOW CREATE TABLE has answered.

        Raises:
            DdlError: the statement cannot be read.
        """
        head = f"CREATE TABLE `{table_id.name.replace('`', '``')}` ("
        if not statement.startswith(head):
            return self._read(tables, table_id, statement).ddl
        inherited = tables.database(table_id.database)
        defaults = (None, None) if inherited is None else (inherited.charset, inherited.collation)
        shape = (*defaults, _without_next_number(statement[len(head) :]))
        known = self._known.get(shape)
        if known is not None:
            database, name = map(tables.spelling, table_id)
            tables.put(replace(known, database=database, name=name))
            return statement
        change = self._read(tables, table_id, statement)
        if change.ddl == statement and change.table is not None:  # else a password was taken out of it
            self._known[shape] = change.table
        return change.ddl

    def _read(self, tables: Tables, table_id: TableId, statement: str) -> SchemaChange:
        [change] = self._reader.apply(tables, table_id.database, statement, SHOWN)
        return change


def _without_next_number(statement: str) -> str:
    """The statement without the next value of AUTO_INCREMENT."""
    before, found, options = statement.rpartition(_OPTIONS)
    counted = _NEXT_NUMBER(options)
    return statement if counted is None else f"{before}{found}{counted['engine']}{options[counted.end() :]}"
