"""Locks that keep writers, or changes of definitions, out while a consistent point is taken.

Each is held by a connection of its own: letting go of table locks would end the transaction of the connection that has
them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import pymysql
from pymysql.constants import ER

from cdckit import UNHEARD, Notices, SourceError
from cdckit.connector.chosen_by_plugin import lock_by_plugin
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.filters import Filters
from cdckit_mysql.server.connection import Connection, driver_errors, place, release
from cdckit_mysql.server.facts import query, quoted
from cdckit_mysql.server.stored_tables import stored_tables
from cdckit_mysql.snapshot.sessions import connect_for_snapshot

log = logging.getLogger("cdckit.mysql")

_REFUSED = frozenset({ER.ACCESS_DENIED_ERROR, ER.SPECIFIC_ACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR})


@dataclass(slots=True)
class SnapshotLocks:
    """What `snapshot.locking.mode` locks.

    Args:
        config: the source's options.
        filters: what is captured.
        notices: told when writers are locked out, and when they may go on.
    """

    config: MySqlConfig
    filters: Filters
    notices: Notices = UNHEARD
    to_the_end: bool = False
    """Whether the locks are held until the snapshot is over."""
    _holder: Connection | None = None

    def take(self) -> None:
        """Takes them.

        Raises:
            RetriableSourceError: the connection was lost.
            SourceError: they were not had in time, or the server or its user cannot have them.
        """
        if self.config.snapshot_locking_mode != "none":
            self._holder = connect_for_snapshot(self.config)
            with driver_errors(self.config, "locking for the snapshot"):
                self._take(self._holder)
            self.notices.snapshot_locked(locked=True)

    def _take(self, holder: Connection) -> None:
        match self.config.snapshot_locking_mode:
            case "minimal_percona":
                self._lock_for_backup(holder)
            case "custom":
                self._lock_as_plugin_says(holder)
            case mode:
                self.to_the_end = mode == "extended"
                self._lock_everything(holder)

    def definitions_read(self) -> None:
        """Lets go of the locks that were for the position and the definitions alone."""
        if not self.to_the_end:
            self.release()

    def release(self) -> None:
        """Lets go of all."""
        holder, self._holder = self._holder, None
        if holder is not None and holder.open:
            with driver_errors(self.config, "unlocking"):
                query(holder, "UNLOCK TABLES")
        release(holder)
        if holder is not None:
            self.notices.snapshot_locked(locked=False)

    def _lock_everything(self, holder: Connection) -> None:
        try:
            query(holder, "FLUSH TABLES WITH READ LOCK")
        except pymysql.MySQLError as error:
            # Managed servers grant no RELOAD. Tables that are locked one by one freeze what is captured as well.
            if error.args[0] not in _REFUSED:
                raise
            log.info("the server refuses a global read lock: the captured tables are locked instead")
            self._lock_captured(holder)

    def _lock_captured(self, holder: Connection) -> None:
        """Read locks on all captured tables. Those that a transaction does not freeze stay locked to the end."""
        captured = list(self._captured(holder))
        if not captured:
            return
        with driver_errors(self.config, "locking tables, for which LOCK TABLES is needed where RELOAD is not granted"):
            query(holder, f"LOCK TABLES {', '.join(f'{name} READ' for name, _ in captured)}")
        frozen = [name for name, transactional in captured if not transactional]
        # A consistent snapshot shows nothing of them but their rows of now.
        if frozen:
            self.to_the_end = True
            log.warning(
                "%d captured tables have no transactions (%s …): all captured tables stay locked until the snapshot "
                "is over",
                len(frozen),
                frozen[0],
            )

    def _captured(self, connection: Connection) -> Iterator[tuple[str, bool]]:
        """The captured tables, quoted, and whether their engine has transactions."""
        engines = query(connection, "SELECT ENGINE FROM information_schema.ENGINES WHERE TRANSACTIONS = 'YES'")
        transactional = {engine for (engine,) in engines}
        for stored in stored_tables(connection, self.filters):
            yield quoted(*stored.id), stored.engine in transactional

    def _lock_for_backup(self, holder: Connection) -> None:
        try:
            query(holder, "LOCK TABLES FOR BACKUP")
        except pymysql.MySQLError as error:
            if error.args[0] != ER.PARSE_ERROR:
                raise
            raise SourceError(
                f"{place(self.config)} knows no LOCK TABLES FOR BACKUP, which snapshot.locking.mode=minimal_percona "
                "needs and only Percona Server has: use snapshot.locking.mode=minimal",
                number="CDC3502",
            ) from error

    def _lock_as_plugin_says(self, holder: Connection) -> None:
        lock = lock_by_plugin(self.config.snapshot_locking_mode_custom_name)
        assert lock is not None  # the options' model has asked
        self.to_the_end = lock.to_the_end
        for statement in lock.statements([name for name, _ in self._captured(holder)]):
            query(holder, statement)
