"""Updates which carry, of JSON documents, only what was changed (`binlog_row_value_options=PARTIAL_JSON`).

MySQL source documentation, "class Partial_update_rows_event": before each after image stand options, and under option 1
one bit for each JSON column of the table that tells whether the image holds changes or the whole document.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cdckit_mysql.binlog.compression import packed_integer
from cdckit_mysql.binlog.rows_event import RowsEvent
from cdckit_mysql.rows.image import ImageReader
from cdckit_mysql.rows.row_reader import Row
from cdckit_mysql.values.column import ColumnValue
from cdckit_mysql.values.json_binary import json_text, parse_json
from cdckit_mysql.values.json_diff import apply_diffs

_PARTIAL_JSON = 1

ABSENT = object()
"""Stands in a tuple for a document that its image does not hold."""

JsonColumns = Sequence[tuple[int, ColumnValue] | None]
"""For each JSON column of the table its place in the tuples and what it is, or None where it is left out."""


def partial_updates(
    event: RowsEvent, before: ImageReader, after: ImageReader, columns: JsonColumns
) -> tuple[list[Row], int]:
    """The images of an event, before and after in turn, and where they end.

    Args:
        event: the event.
        before: reads the before images; JSON columns stay bytes, or are `ABSENT`.
        after: the same for the after images.
        columns: the JSON columns.
    """
    rows: list[Row] = []
    data, at, end = event.data, event.data_start, event.data_end
    while at < end:
        images: list[Row] = []
        at = before.read(data, at, at + 1, images.append)
        options, at = packed_integer(data, at)
        partial = 0
        if options & _PARTIAL_JSON:
            size = (len(columns) + 7) // 8
            partial, at = int.from_bytes(data[at : at + size], "little"), at + size
        at = after.read(data, at, at + 1, images.append)
        rows += _shown(images[0], images[1], partial, columns)
    return rows, at


def _shown(before: Row, after: Row, partial: int, columns: JsonColumns) -> tuple[Row, Row]:
    """Both images with their documents as text."""
    old, new = list(before), list(after)
    for bit, column in enumerate(columns):
        if column is None:
            continue
        place, value = column
        document = old[place]
        old[place] = _text(document, value)
        if not partial >> bit & 1:
            new[place] = _text(new[place], value)
        # Differences alone do not tell what they make: without the document before the column counts as unknown.
        elif document is ABSENT:
            new[place] = value.absent
        else:
            new[place] = _converted(json_text(apply_diffs(parse_json(document), new[place])), value)
    return tuple(old), tuple(new)


def _text(document: Any, value: ColumnValue) -> Any:
    if document is ABSENT:
        return value.absent
    return _converted(json_text(parse_json(document)), value) if document else value.null


def _converted(text: str, value: ColumnValue) -> Any:
    return text if value.convert is None else value.convert(text)
