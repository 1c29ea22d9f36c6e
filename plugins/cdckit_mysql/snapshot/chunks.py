"""Reads chunks of a snapshot which the log completes: a row may already be newer than the point that it stands for."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from cdckit.record import Batch
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.connection import Connection, connect, release, told
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.rows import open_rows
from cdckit_mysql.server import query
from cdckit_mysql.snapshot.chunk_plan import Chunk
from cdckit_mysql.snapshot.marked_rows import MarkedRows, RowChunk
from cdckit_mysql.snapshot.selection import chosen_table

_NUMBERS = 10**9
"""Each chunk has so many row numbers of its own in the records' positions."""


def read_chunks(
    config: MySqlConfig, versions: TableVersions, chunks: Sequence[Chunk], point: LogOffset
) -> Iterator[Batch]:
    """The records of some chunks; `point` is where the log goes on from.

    Raises:
        RetriableSourceError: the connection was lost.
        SourceError: the server refuses, or a table has changed since the point.
    """
    connection = connect(config)
    try:
        with told(config):
            query(connection, "SET time_zone = '+00:00'")
        for chunk in chunks:
            yield from _read_chunk(connection, config, versions, chunk, point)
    finally:
        release(connection)


def _read_chunk(
    connection: Connection, config: MySqlConfig, versions: TableVersions, chunk: Chunk, point: LogOffset
) -> Iterator[Batch]:
    now = time.time_ns() // 1_000_000_000 * 1_000_000
    marked = MarkedRows(
        versions.blocks,
        point,
        now,
        first_number=chunk.number * _NUMBERS,
        begins=chunk.begins,
        ends=chunk.ends,
        ends_table=chunk.last,
    )
    for records in marked.records(_rows(connection, config, versions, chunk)):
        if records:
            yield Batch(records, None)


def _rows(connection: Connection, config: MySqlConfig, versions: TableVersions, chunk: Chunk) -> Iterator[RowChunk]:
    table = chosen_table(versions.of(chunk.table), config, chunk.estimate)
    values = [value for _, value in table.version.shown]
    first = chunk.first
    with told(config, f"reading {table.id}"), open_rows(connection, table.select(chunk.condition), values) as found:
        for rows in found:
            yield RowChunk(table.version, rows, first)
            first = False
