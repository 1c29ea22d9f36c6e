"""Who holds a pipeline's state: one session of the server, by a lock of that name and the row in the table.

The lock ends with the session, so also where its process is killed. A lock is known to one server alone; the row says
whose turn it is wherever the tables have gone with another server.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import socket
import threading
import uuid

from pymysql.cursors import Cursor

from cdckit import StateError, StateHeldError
from cdckit_mysql.state.session import StateSession

log = logging.getLogger("cdckit.mysql")

_PATIENCE = 1
"""How many seconds the server may take to see that a process which held the state is gone."""


class Hold:
    """The hold on a pipeline's state, taken at once; the session lives by signs of life from here on.

    Args:
        session: whose hold it is. The tables are there.
        pipeline: the pipeline's name.

    Raises:
        StateHeldError: another session has it.
        StateError: it cannot be taken.
    """

    def __init__(self, session: StateSession, pipeline: str) -> None:
        self._session = session
        self._pipeline = pipeline.encode()
        self._lock = _lock_name(session, pipeline)
        self._holder = uuid.uuid4().hex
        self._ended = threading.Event()
        [(got,)] = session.rows("taking hold", "SELECT GET_LOCK(%s, %s)", (self._lock, _PATIENCE))
        if got != 1:
            raise StateHeldError(
                f"the state of '{pipeline}' in {session.place} is held by {self._other()}: stop that one, or give this "
                "pipeline a name of its own; a process whose machine is gone lets go within its hold.timeout.ms"
            )
        self._sign()
        threading.Thread(target=self._live, name="state-hold", daemon=True).start()

    def _other(self) -> str:
        statement = "SELECT held_by, held_since FROM {pipelines} WHERE pipeline = %s"
        found = self._session.rows("looking who holds the state", statement, [self._pipeline])
        return f"{found[0][0]} since {found[0][1]} UTC" if found else "another process"

    def _sign(self) -> None:
        held_by = f"process {os.getpid()} on {socket.gethostname()}"[:255]
        self._session.rows(
            "taking hold",
            "INSERT INTO {pipelines} (pipeline, holder, held_by, held_since) VALUES (%s, %s, %s, UTC_TIMESTAMP()) "
            "ON DUPLICATE KEY UPDATE "
            "holder = VALUES(holder), held_by = VALUES(held_by), held_since = VALUES(held_since)",
            (self._pipeline, self._holder, held_by),
        )

    def require(self, cursor: Cursor) -> None:
        """Makes sure that the state is still held, and stays so until the transaction ends.

        Raises:
            StateError: it is not.
        """
        tables = self._session.tables
        cursor.execute(
            tables.named(
                "SELECT holder = %s, COALESCE(IS_USED_LOCK(%s) = CONNECTION_ID(), 0), held_by FROM {pipelines} "
                "WHERE pipeline = %s FOR UPDATE"
            ),
            (self._holder, self._lock, self._pipeline),
        )
        found = cursor.fetchone() or (0, 0, "nobody, its row is gone")
        if found[:2] != (1, 1):
            whose = (
                "the session's lock is gone" if found[0] else f"table {tables.pipelines} says that {found[2]} holds it"
            )
            raise StateError(
                f"state store, {self._session.place}: the hold on the state of '{self._pipeline.decode()}' was lost "
                f"({whose}), and nothing more is saved: check that no proxy shares connections among sessions, and "
                "start the pipeline again; it goes on from what was saved",
                number="CDC7302",
            )

    def _live(self) -> None:
        """Signs of life, since the server ends a session that is silent for `hold.timeout.ms`."""
        while not self._ended.wait(self._session.config.hold_timeout_ms / 3000):
            try:
                self._session.ping()
            except StateError as error:
                if not self._ended.is_set():
                    log.warning("%s", error)
                return

    def end(self) -> None:
        """Lets go, as far as the server can be told; it lets go by itself where the session ends."""
        self._ended.set()
        if self._session.open:
            self._session.rows("letting go", "SELECT RELEASE_LOCK(%s)", (self._lock,))


def _lock_name(session: StateSession, pipeline: str) -> str:
    """One that servers take: they know 64 characters, and no case."""
    config = session.config
    whole = json.dumps([config.database_dbname, config.table_prefix, pipeline]).encode()
    return f"cdckit:{hashlib.sha256(whole).hexdigest()[:40]}"
