"""Blocking snapshots: tables read at one consistent point while the log waits."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext

from cdckit import Record
from cdckit.connector.incremental import UnreadableError, Wanted
from cdckit.connector.notifications.snapshots import BlockingSnapshotNotices, ScanStatus
from cdckit.connector.signals.signal import one_line
from cdckit.connector.table_events import Row
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.ddl import DdlReader, load_table
from cdckit_mysql.events.versions import TableVersion, TableVersions
from cdckit_mysql.incremental.conditions import is_statement
from cdckit_mysql.incremental.limits import conditioned
from cdckit_mysql.incremental.server import SnapshotServer
from cdckit_mysql.incremental.visibility import begin_behind
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.rows import open_rows
from cdckit_mysql.server.connection import Connection, connect, driver_errors, release
from cdckit_mysql.server.facts import query
from cdckit_mysql.snapshot.marked_rows import MarkedRows, seconds_as_us
from cdckit_mysql.snapshot.selection import ChosenTable, select
from cdckit_mysql.table import TableId

log = logging.getLogger("cdckit.mysql")

_VISIBLE_POLL = 0.005
"""How often, in seconds, it is asked whether what was told is visible, which it is in a moment."""
_FIRST_CHUNK = 50_000
"""The positions of these rows lie behind those of all events before the place where the log waits."""


class BlockingSnapshot:
    """Reads some tables. Their rows may be newer than the place where the log waits; the log tells of that later.

    Args:
        config: the source's options.
        server: told how far it is.
        versions: what makes records of rows.
        reader: reads the server's definitions.
        at: where the log waits.
    """

    def __init__(
        self, config: MySqlConfig, server: SnapshotServer, versions: TableVersions, reader: DdlReader, at: LogOffset
    ) -> None:
        self._config = config
        self._server = server
        self._versions = versions
        self._reader = reader
        self._at = at

    def records(self, wanted: Sequence[Wanted]) -> Iterator[list[Record]]:
        """The rows of the tables, one after the other.

        Raises:
            RetriableSourceError: the connection was lost.
            SourceError: the server refuses.
        """
        notices = BlockingSnapshotNotices(self._server.notifications, [one.name for one in wanted])
        notices.started()
        marked = MarkedRows(self._versions.blocks, self._at, seconds_as_us())
        connection = connect(self._config)
        try:
            with driver_errors(self._config, "taking a consistent point"):
                query(connection, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                query(connection, "SET time_zone = '+00:00'")
                while not begin_behind(connection, self._server.facts(), self._at):
                    time.sleep(_VISIBLE_POLL)
            for number, one in enumerate(wanted, _FIRST_CHUNK):
                yield from self._table(connection, one, number, marked, notices)
        finally:
            release(connection)
        yield marked.finish()
        notices.completed()

    def _table(
        self, connection: Connection, wanted: Wanted, number: int, marked: MarkedRows, notices: BlockingSnapshotNotices
    ) -> Iterator[list[Record]]:
        table_id = TableId(*wanted.name.split(".", 1))
        with driver_errors(self._config, f"reading {wanted.name}"):
            table = load_table(connection, table_id, self._reader)
            if table is None:
                return
            version, rows = self._versions.of(table), 0
            notices.begins(wanted.name)
            status: ScanStatus = "SUCCEEDED"
            try:
                for found in self._rows(connection, version, wanted):
                    yield marked.take(number, version, found, first=rows == 0)
                    rows += len(found)
                    notices.read(len(found))
            except UnreadableError as error:
                log.warning("blocking snapshot: %s is left after %d rows: %s", wanted.name, rows, one_line(error))
                status = error.status
            yield marked.end(number, table_id, ends_table=True)
            notices.ends(wanted.name, status)

    def _rows(self, connection: Connection, version: TableVersion, wanted: Wanted) -> Iterator[list[Row]]:
        limit = conditioned(connection, self._config, wanted.name, mariadb=self._server.facts().mariadb)
        with (
            limit if wanted.filter else nullcontext(),
            open_rows(connection, _statement(version, wanted), [value for _, value in version.shown]) as chunks,
        ):
            yield from chunks


def _statement(version: TableVersion, wanted: Wanted) -> str:
    if is_statement(wanted.filter):
        return select(ChosenTable(version.table, 0, wanted.filter), version)
    return select(ChosenTable(version.table, 0, None), version, wanted.filter)
