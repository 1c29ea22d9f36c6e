"""Whether reading may go on from an offset, or a snapshot is to be taken first (`snapshot.mode`)."""

from __future__ import annotations

import logging
from collections.abc import Callable

from cdckit.errors import SourceError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.connection import Connection, place, told
from cdckit_mysql.offsets import SNAPSHOT_RUNNING, LogOffset
from cdckit_mysql.server import Server
from cdckit_mysql.streaming.retention import why_lost

log = logging.getLogger("cdckit.mysql")

Ask = Callable[[], tuple[Server, Connection]]


class SnapshotNeed:
    """Decides for one run of a source.

    Args:
        config: the source's options.
        ask: gives the server's facts, and a connection that is open.
    """

    def __init__(self, config: MySqlConfig, ask: Ask) -> None:
        self._config = config
        self._ask = ask
        self._started = False
        self._lost: str | None = None

    def start(self, at: LogOffset) -> LogOffset:
        """`at`, or a new beginning where a snapshot is to be taken instead of going on from it.

        Raises:
            SourceError: the place is gone from the log, or the server cannot be reached for the first time.
        """
        mode, first = self._config.snapshot_mode, not self._started
        self._started = True
        if at.snapshot_due:
            self._ask()  # a server that cannot be reached at the start is no lost one
            if at.file and first:
                log.warning("the last snapshot was not finished: it starts again")
            return at
        if mode == "always" and first:
            return LogOffset(snapshot=SNAPSHOT_RUNNING, epoch=at.epoch)
        reason = self._lost or self._why_lost(at)
        if reason is None:
            return at
        self.lost(reason)
        self._lost = None
        return LogOffset(snapshot=SNAPSHOT_RUNNING, epoch=at.epoch + 1)

    def lost(self, reason: str) -> None:
        """The server does not have the log from the offset on: the next start is a snapshot, if that is allowed.

        Raises:
            SourceError: it is not.
        """
        if self._config.snapshot_mode != "when_needed":
            raise SourceError(
                f"{place(self._config)}: {reason}: changes are lost; snapshot.mode=when_needed takes a new snapshot, "
                "as does a new state folder"
            )
        if self._lost is None:
            log.warning("%s: a new snapshot is taken (snapshot.mode=when_needed)", reason)
        self._lost = reason

    def unfinished(self, at: LogOffset) -> LogOffset | None:
        """Where a snapshot of ours stood that was not finished, as long as the log tells what has changed since."""
        if not at.file or at.server is None or self._config.snapshot_mode == "no_data":
            return None
        reason = self._why_lost(at)
        if reason is None and at.server != self._ask()[0].identity and at.gtids is None:
            reason = f"{place(self._config)} is another server than before"
        if reason is None:
            return at.with_changes(snapshot=None)
        log.warning("%s: rows that were deleted since the unfinished snapshot are not told of", reason)
        return None

    def _why_lost(self, at: LogOffset) -> str | None:
        server, connection = self._ask()
        with told(self._config, "asking for the log files"):
            return why_lost(connection, server, at)
