"""Definitions of captured tables, told to whoever asks for them."""

from __future__ import annotations

from collections.abc import Iterable

from cdckit import DefinedColumn, Notices
from cdckit_mysql.table import Table


def tell_definitions(tables: Iterable[Table], notices: Notices) -> None:
    """Tells of each table, where somebody asks."""
    if notices.wants_definitions:
        for table in tables:
            columns = [DefinedColumn(one.name, one.type_expression, one.comment) for one in table.columns]
            notices.table_defined(str(table.id), columns)
