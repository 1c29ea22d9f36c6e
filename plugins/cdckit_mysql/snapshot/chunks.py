"""Reads chunks of a snapshot which the log completes: a row may already be newer than the point that it stands for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cdckit import Batch, Notices, Record
from cdckit.connector.snapshot_progress import PartProgress
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.server.connection import Connection, driver_errors, release
from cdckit_mysql.server.facts import Dialect
from cdckit_mysql.snapshot.changed import as_noted
from cdckit_mysql.snapshot.chunk_plan import Chunk
from cdckit_mysql.snapshot.marked_rows import MarkedRows, seconds_as_us
from cdckit_mysql.snapshot.reading import OpenChunk, read_chunk
from cdckit_mysql.snapshot.selection import chosen_table, select
from cdckit_mysql.snapshot.sessions import connect_for_snapshot
from cdckit_mysql.streaming.opening import require_point


def read_chunks(
    config: MySqlConfig,
    filters: Filters,
    versions: TableVersions,
    chunks: Sequence[Chunk],
    point: LogOffset,
    notices: Notices,
    dialect: Dialect,
) -> Iterator[Batch]:
    """The records of some chunks; `point` is where the log goes on from, `notices` is told how far each chunk is.

    Raises:
        RetriableSourceError: the connection was lost, leads to a server that has not come to the point yet, or
            a table's definition has changed since the point.
        SourceError: the server refuses.
    """
    connection = connect_for_snapshot(config)
    try:
        require_point(connection, config, point)
        for chunk in chunks:
            progress = PartProgress(notices, str(chunk.table.id), chunk.part, chunk.of)
            with driver_errors(config, f"reading {chunk.table.id}"), as_noted(connection, config, dialect, chunk.table):
                for records in _records(connection, config, filters, versions, chunk, point, progress):
                    if records:
                        yield Batch(records, None)
    finally:
        release(connection)


def _records(
    connection: Connection,
    config: MySqlConfig,
    filters: Filters,
    versions: TableVersions,
    chunk: Chunk,
    point: LogOffset,
    progress: PartProgress,
) -> Iterator[list[Record]]:
    marked = MarkedRows(versions.blocks, point, seconds_as_us(), begins=chunk.begins)
    version = versions.of(chunk.table)
    statement = select(chosen_table(chunk.table, config, filters, chunk.estimate), version, chunk.condition)
    first = chunk.first
    for _, rows in read_chunk(connection, config, OpenChunk(chunk.number, version, statement)):
        if rows is not None:
            yield marked.take(chunk.number, version, rows, first=first)
            first = False
            progress.read(len(rows))
    progress.finished()
    yield marked.end(chunk.number, chunk.table.id, ends_table=chunk.last) + marked.finish(ends=chunk.ends)
