"""What the log says of a table, held to the tracked definition."""

from __future__ import annotations

import logging

from cdckit import DecodeError
from cdckit_mysql.binlog import column_types
from cdckit_mysql.binlog.tables import TableMap
from cdckit_mysql.table import Index, Table

log = logging.getLogger("cdckit.mysql")

_PERIODS = ((column_types.TIMESTAMP2,) * 2, (column_types.LONGLONG,) * 2)
"""`row_start` and `row_end` as times, or as numbers of transactions."""
_LONG_TYPES = ("TEXT", "BLOB")
_SHORTEST_LONG_KEY = 767
"""Keys of more bytes may be too long for an index, by storage engine and row format."""
_LONGEST_CHARACTER = 4


def hidden_columns(announced: TableMap, table: Table) -> int:
    """How many columns MariaDB's log has behind those that a definition names.

    A system-versioned table whose definition names no period has `row_start` and `row_end`; each UNIQUE key that is
    too long for an index has the hash of its values, a BIGINT `DB_ROW_HASH_n`, behind all others (MariaDB's server
    source, `TABLE_SHARE::init_from_binary_frm_image`).

    Raises:
        DecodeError: the log's columns are not those of the definition, nor such; the message says in what they differ.
    """
    extra = announced.types[len(table.columns) :]
    if len(announced.types) < len(table.columns) or not _may_be_hidden(extra, table):
        raise DecodeError(
            f"the log has {len(announced.types)} columns, the tracked definition {len(table.columns)} "
            f"({', '.join(column.name for column in table.columns)})"
        )
    names = announced.column_metadata.names
    for place, (logged, column) in enumerate(zip(names or (), table.columns, strict=False), 1):
        if logged.lower() != column.name.lower():
            raise DecodeError(f"column {place} is '{logged}' in the log, '{column.name}' in the tracked definition")
    if extra[:2] in _PERIODS and table.system_versioned:
        log.warning(
            "%s is system-versioned and names no period: its log has a row for each old version, which events cannot "
            "tell from the new ones; define the columns of its period (GENERATED ALWAYS AS ROW START, … ROW END)",
            table.id,
        )
    return len(extra)


def _may_be_hidden(extra: tuple[int, ...], table: Table) -> bool:
    period = 2 if table.system_versioned and extra[:2] in _PERIODS else 0
    hashes = extra[period:]
    long_keys = sum(index.unique and _is_long(index, table) for index in table.indexes)
    return len(hashes) <= long_keys and set(hashes) <= {column_types.LONGLONG}


def _is_long(index: Index, table: Table) -> bool:
    columns = [column for column in map(table.column, index.columns) if column is not None]
    if any(column.base_type.endswith(_LONG_TYPES) for column in columns):
        return True
    return sum(column.length or 0 for column in columns) * _LONGEST_CHARACTER > _SHORTEST_LONG_KEY
