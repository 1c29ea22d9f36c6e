"""Changes of rows that the log has as statements, not as rows: which these are, and which tables they may concern.

https://dev.mysql.com/doc/refman/en/sql-data-manipulation-statements.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from cdckit_mysql.ddl import DdlError
from cdckit_mysql.ddl.lexer import Cursor
from cdckit_mysql.table import TableId

ROW_CHANGES = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "WITH", "CALL", "DO", "SELECT"})
"""The first words of statements that change rows, or call what may."""
_MODIFIERS = ("LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "QUICK", "IGNORE", "HISTORY")


def statement_verb(cursor: Cursor) -> str:
    """Reads up to the word by which a statement is known, and gives it; MariaDB's variables may stand before it.

    Raises:
        DdlError: no FOR ends these.
    """
    cursor.skip_variables()
    while cursor.accept("("):
        pass
    return cursor.advance().key


def written_tables(cursor: Cursor) -> Sequence[TableId] | None:
    """The tables that a statement may write to: the one that it names, or of a statement over several all its names.

    Args:
        cursor: at the statement's beginning.

    Returns:
        None where no name says it: triggers aside, a function that is called may write to any table.
    """
    try:
        read = _STATEMENTS.get(statement_verb(cursor))
        while cursor.accept_any(*_MODIFIERS):
            pass
        return None if read is None else read(cursor)
    except DdlError:
        return None


def names(cursor: Cursor) -> Iterator[TableId]:
    """Every name from here on that may be a table's, with its database: an alias or a column may be among them."""
    while not cursor.done:
        if not cursor.at_name():
            cursor.advance()
            continue
        name = cursor.identifier()
        if cursor.accept(".") and cursor.at_name():
            yield TableId(name, cursor.identifier())
        else:
            yield TableId(cursor.database, name)


def _inserted(cursor: Cursor) -> Sequence[TableId]:
    cursor.accept("INTO")
    return [cursor.table_id()]


def _deleted(cursor: Cursor) -> Sequence[TableId]:
    start = cursor.mark()
    if cursor.accept("FROM"):
        table = cursor.table_id()
        if not cursor.at_any(",", ".", "USING"):
            return [table]
    cursor.reset(start)
    return [*names(cursor)]


def _updated(cursor: Cursor) -> Sequence[TableId]:
    start = cursor.mark()
    table = cursor.table_id()
    cursor.accept("AS")
    if cursor.at("SET") or cursor.ahead(1).key == "SET":
        return [table]
    cursor.reset(start)
    return [*names(cursor)]


_STATEMENTS: dict[str, Callable[[Cursor], Sequence[TableId]]] = {
    "INSERT": _inserted,
    "REPLACE": _inserted,
    "DELETE": _deleted,
    "UPDATE": _updated,
}
