"""Reads the chunks of a snapshot through one connection, or through several at the same time."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.connection import Connection, told
from cdckit_mysql.events.table_events import Row
from cdckit_mysql.events.versions import TableVersion
from cdckit_mysql.rows import open_rows

_WAITING = 2
"""So many lists of rows wait for the sink, for each connection."""
_NAP = 0.1
"""After so many seconds a thread that waits for the sink looks whether it is to end."""


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
    with told(config, f"reading {chunk.version.table.id}"), open_rows(connection, chunk.sql, values) as found:
        for rows in found:
            for start in range(0, len(rows), most or len(rows)):
                yield ChunkRows(chunk, rows[start : start + most] if most else rows)
    yield ChunkRows(chunk, None)


def read_all(
    connections: Sequence[Connection], config: MySqlConfig, chunks: Iterator[OpenChunk]
) -> Iterator[ChunkRows]:
    """The rows of all chunks: in order through one connection, in turns through several."""
    if len(connections) > 1:
        return ParallelChunks(connections, config, chunks).rows()
    return (rows for chunk in chunks for rows in read_chunk(connections[0], config, chunk))


class ParallelChunks:
    """A thread for each connection; what they have read waits in a short queue.

    Args:
        connections: one for each thread.
        config: the source's options.
        chunks: what to read; each goes to the first thread that is free.
    """

    def __init__(self, connections: Sequence[Connection], config: MySqlConfig, chunks: Iterator[OpenChunk]) -> None:
        self._connections = connections
        self._config = config
        self._chunks = chunks
        self._choosing = threading.Lock()
        self._queue: queue.Queue[ChunkRows | BaseException | None] = queue.Queue(_WAITING * len(connections))
        self._ending = threading.Event()

    def rows(self) -> Iterator[ChunkRows]:
        """The rows, as they come.

        Raises:
            CdcError: a thread's error; the others end.
        """
        threads = [
            threading.Thread(target=self._read, args=(each,), name=f"snapshot-{number}", daemon=True)
            for number, each in enumerate(self._connections)
        ]
        for thread in threads:
            thread.start()
        try:
            yield from self._arriving(len(threads))
        finally:
            self._end(threads)

    def _arriving(self, threads: int) -> Iterator[ChunkRows]:
        while threads:
            found = self._queue.get()
            if isinstance(found, BaseException):
                raise found
            if found is None:
                threads -= 1
            else:
                yield found

    def _read(self, connection: Connection) -> None:
        try:
            while (chunk := self._next()) is not None:
                for rows in read_chunk(connection, self._config, chunk):
                    if not self._put(rows):
                        return
            self._put(None)
        except BaseException as error:  # noqa: BLE001 - raised again by who reads
            self._put(error)

    def _next(self) -> OpenChunk | None:
        with self._choosing:
            return next(self._chunks, None)

    def _put(self, found: ChunkRows | BaseException | None) -> bool:
        """Whether it was taken; not where the reading ends."""
        while not self._ending.is_set():
            with suppress(queue.Full):
                self._queue.put(found, timeout=_NAP)
                return True
        return False

    def _end(self, threads: Sequence[threading.Thread]) -> None:
        """Ends the threads, those too that wait for the server."""
        self._ending.set()
        for connection, thread in zip(self._connections, threads, strict=True):
            if thread.is_alive():
                with suppress(OSError, AttributeError):
                    connection._sock.shutdown(socket.SHUT_RDWR)  # type: ignore[attr-defined]
                thread.join()
