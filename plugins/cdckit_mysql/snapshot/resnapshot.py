"""Tables that `cdc resnapshot` asks for: when their rows are read, by each kind of planning."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from cdckit import StateStore
from cdckit.connector.resnapshot import Resnapshot, pending, settle
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import SNAPSHOT_RUNNING, LogOffset, file_number
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import Dialect
from cdckit_mysql.snapshot.selection import ChosenTable
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.streaming.newly_captured import take_over_missing
from cdckit_mysql.streaming.progress import is_beyond
from cdckit_mysql.table import Tables

log = logging.getLogger("cdckit.mysql")


class TablesAgain:
    """Decides for one source.

    Args:
        state: where it is kept what was asked for.
        log_end: gives where the log ends now.
    """

    def __init__(self, state: Callable[[], StateStore], log_end: Callable[[], LogOffset]) -> None:
        self._state = state
        self._log_end = log_end
        self._behind: LogOffset | None = None

    def due(self, at: LogOffset) -> Resnapshot | None:
        """What is to be read beyond `at`, where everything before that is saved."""
        return pending(self._state(), at.to_json())

    def settled(self, at: LogOffset) -> None:
        """Everything before `at` is safe."""
        if at.resnapshot is not None and at.resnapshot.done:
            settle(self._state(), at.to_json())

    def begun(self, at: LogOffset) -> LogOffset:
        """Where reading goes on: before a snapshot of these tables, where one is due.

        First come the changes up to a new consistent point, then the rows at that: as in a snapshot that was stopped
        when all other tables were finished.
        """
        wanted = None if at.snapshot_due else self.due(at)
        if wanted is None:
            return at
        say(wanted)
        return at.with_changes(snapshot=SNAPSHOT_RUNNING, snapshot_chunks="", resnapshot=wanted)

    def next_end(self, at: LogOffset, *, mariadb: bool) -> LogOffset | None:
        """Where the next batch ends, as long as one of these is due: the log as it is now, then the tables' chunks."""
        wanted = self.due(at)
        if wanted is None:
            self._behind = None
            return None
        if self._behind is None or self._behind.server != at.server:
            self._behind = self._log_end()
        if _lies_before(at, self._behind, mariadb=mariadb):
            return self._behind.with_changes(epoch=at.epoch, ts_sec=int(time.time()))
        say(wanted)
        return at.with_changes(after_snapshot=True, resnapshot=wanted.finished())


def tables_now(
    connection: Connection,
    config: MySqlConfig,
    filters: Filters,
    dialect: Dialect,
    history: SchemaHistory,
    tables: Tables,
    at: LogOffset,
) -> Tables:
    """The definitions at the log's end, with those of tables that are captured only from now on."""
    definitions = Definitions(tables, config, filters, dialect, history=history)
    take_over_missing(connection, config, filters, definitions, at.position)
    return definitions.tables


def plain(at: LogOffset) -> LogOffset:
    """`at` without tables that another runner has begun to read again; the state knows of them, too."""
    if at.resnapshot is None or at.resnapshot.done:
        return at
    return at.with_changes(snapshot=None, snapshot_chunks="", resnapshot=None)


def say(wanted: Resnapshot) -> None:
    """Tells that it begins."""
    log.info("%s: read again (cdc resnapshot)", ", ".join(wanted.tables))


def warn_of_missing(wanted: Resnapshot | None, chosen: Sequence[ChosenTable]) -> None:
    """Tells which of the tables are gone by now."""
    found = {str(table.id) for table in chosen}
    for name in wanted.tables if wanted is not None else ():
        if name not in found:
            log.warning("%s is not read again: there is no such table any more", name)


def _lies_before(at: LogOffset, end: LogOffset, *, mariadb: bool) -> bool:
    """Whether the log is to be read up to `end` first; always where `at` has no place on the server yet."""
    if at.by_gtid:
        return not at.file or is_beyond(end, at, mariadb=mariadb)
    return _place(at) < _place(end)


def _place(at: LogOffset) -> tuple[int, int]:
    return file_number(at.file), at.pos
