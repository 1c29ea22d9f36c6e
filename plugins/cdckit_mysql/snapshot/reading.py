"""Reads the chunks of a snapshot through one connection, or through several at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from cdckit.connector.parallel_reading import ParallelReading
from cdckit.connector.table_events import Row
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.versions import TableVersion
from cdckit_mysql.rows import open_rows
from cdckit_mysql.server.connection import Connection, driver_errors
from cdckit_mysql.server.driver import hang_up

_WAITING = 2
"""So many lists of rows wait for the sink, for each connection."""


class OpenChunk(NamedTuple):
    """A chunk that is to be read.

    Attributes:
        number: its number.
        version: its table.
        sql: the statement that gives its rows.
    """

    number: int
    version: TableVersion
    sql: str


class ChunkRows(NamedTuple):
    """Some rows of a chunk, in order; None where it has no more."""

    chunk: OpenChunk
    rows: list[Row] | None


def read_chunk(connection: Connection, config: MySqlConfig, chunk: OpenChunk) -> Iterator[ChunkRows]:
    """The rows of one chunk, as they arrive, `snapshot.fetch.size` at a time at the most.

    Raises:
        RetriableSourceError: the connection was lost, or the table's definition is a new one.
        SourceError: the server refuses.
    """
    values = [value for _, value in chunk.version.shown]
    most = config.snapshot_fetch_size
    with driver_errors(config, f"reading {chunk.version.table.id}"), open_rows(connection, chunk.sql, values) as found:
        for rows in found:
            for start in range(0, len(rows), most or len(rows)):
                yield ChunkRows(chunk, rows[start : start + most] if most else rows)
    yield ChunkRows(chunk, None)


def read_all(
    connections: Sequence[Connection], config: MySqlConfig, chunks: Iterator[OpenChunk]
) -> Iterator[ChunkRows]:
    """The rows of all chunks: in order through one connection, in turns through several."""
    readers = [partial(read_chunk, connection, config) for connection in connections]
    if len(readers) == 1:
        return (rows for chunk in chunks for rows in readers[0](chunk))
    room = _WAITING * len(readers)
    return ParallelReading(readers, chunks, room, lambda number: _hang_up(connections[number])).parts()


def _hang_up(connection: Connection) -> None:
    """Ends a thread's wait for the server."""
    with suppress(OSError, AttributeError):
        hang_up(connection)
