"""Rows that foreign keys change: where InnoDB does so by itself, the log has none of these changes.

MySQL's bug 32506, and its release notes of 9.6; https://mariadb.com/kb/en/foreign-keys/.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from cdckit import some_names
from cdckit_mysql.table import TableId

_CONSTRAINT = "CONSTRAINT `"
_ACTS = re.compile(r"\bON (?:DELETE|UPDATE) (?:CASCADE|SET NULL|SET DEFAULT)\b").search


def changed_by_foreign_keys(
    statements: Mapping[TableId, str | None], captures: Callable[[str, str], bool]
) -> list[TableId]:
    """The captured tables whose rows change, or go, with those of another table.

    Args:
        statements: the server's own CREATE TABLE statement of each table.
        captures: whether a table is captured.
    """
    return sorted(table for table, text in statements.items() if text and captures(*table) and _cascades(text))


def _cascades(statement: str) -> bool:
    lines = (line.strip() for line in statement.splitlines())
    return any(line.startswith(_CONSTRAINT) and _ACTS(line) is not None for line in lines)


def untold(tables: list[TableId]) -> str:
    """What is wrong with these tables, in words."""
    named = some_names([*map(str, tables)])
    return (
        f"{named}: foreign keys with CASCADE or SET NULL change rows there, and the server's log does not tell of "
        "that: such changes are missed"
    )
