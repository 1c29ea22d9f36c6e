"""What the log says of a table, held to the tracked definition."""

from __future__ import annotations

from dataclasses import dataclass

from cdckit import DecodeError
from cdckit_mysql.binlog import column_types
from cdckit_mysql.binlog.tables import TableMap
from cdckit_mysql.table import Index, Table

_PERIOD = (column_types.TIMESTAMP2,) * 2
"""`row_start` and `row_end`."""
_LONG_TYPES = ("TEXT", "BLOB")
_SHORTEST_LONG_KEY = 767
"""Keys of more bytes may be too long for an index, by storage engine and row format."""
_LONGEST_CHARACTER = 4


@dataclass(frozen=True, slots=True)
class HiddenColumns:
    """What MariaDB's log has behind the columns that a definition names.

    Attributes:
        period: whether the first two are `row_start` and `row_end`.
        count: how many they are.
    """

    period: bool
    count: int


def hidden_columns(announced: TableMap, table: Table) -> HiddenColumns:
    """The columns that MariaDB's log has behind those that a definition names.

    A system-versioned table whose definition names no period has `row_start` and `row_end`; each UNIQUE key that is
    too long for an index has the hash of its values, a BIGINT `DB_ROW_HASH_n`, behind all others (MariaDB's server
    source, `TABLE_SHARE::init_from_binary_frm_image`).

    Raises:
        DecodeError: the log's columns are not those of the definition, nor such; the message says in what they differ.
    """
    extra = announced.types[len(table.columns) :]
    period = table.system_versioned and extra[:2] == _PERIOD
    if len(announced.types) < len(table.columns) or not _are_hashes(extra[2 * period :], table):
        raise DecodeError(
            f"the log has {len(announced.types)} columns, the tracked definition {len(table.columns)} "
            f"({', '.join(column.name for column in table.columns)})"
        )
    names = announced.column_metadata.names
    for place, (logged, column) in enumerate(zip(names or (), table.columns, strict=False), 1):
        if logged.lower() != column.name.lower():
            raise DecodeError(f"column {place} is '{logged}' in the log, '{column.name}' in the tracked definition")
    return HiddenColumns(period, len(extra))


def _are_hashes(extra: tuple[int, ...], table: Table) -> bool:
    long_keys = sum(index.unique and _is_long(index, table) for index in table.indexes)
    return len(extra) <= long_keys and set(extra) <= {column_types.LONGLONG}


def _is_long(index: Index, table: Table) -> bool:
    columns = [column for column in map(table.column, index.columns) if column is not None]
    if any(column.base_type.endswith(_LONG_TYPES) for column in columns):
        return True
    return sum(column.length or 0 for column in columns) * _LONGEST_CHARACTER > _SHORTEST_LONG_KEY
