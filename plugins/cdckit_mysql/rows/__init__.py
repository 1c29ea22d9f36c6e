"""Rows to tuples: generated decoders for the log's row images and for the snapshot's result rows.

Of the log, one decoder for each table version and TABLE_MAP, with one `ColumnValue` (or None: leave it out) for each
column of the map, in its order:

    decoder = RowDecoder(event.table, column_values)
    decoder.write_rows(event)    # list[tuple]
    decoder.update_rows(event)   # list[tuple[tuple, tuple]], before and after
    decoder.delete_rows(event)   # list[tuple]

Of a snapshot, the same `ColumnValue`s in the order of the SELECT list; the session must be in UTC
(`SET time_zone = '+00:00'`) and its character set utf8mb4:

    with open_rows(connection, sql, column_values) as rows:
        for chunk in rows: ...   # list[tuple]

Tuples hold Connect values in the order of the columns that are not left out.
"""

from cdckit_mysql.rows.decoder import RowDecoder
from cdckit_mysql.rows.result_rows import ResultRows, open_rows

__all__ = ["ResultRows", "RowDecoder", "open_rows"]
