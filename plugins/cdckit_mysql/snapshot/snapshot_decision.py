"""Whether reading may go on from an offset, or a snapshot is to be taken first (`snapshot.mode`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

from cdckit import SnapshotMode, SourceError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.offsets import SNAPSHOT_RUNNING, LogOffset
from cdckit_mysql.schema_history.renewal import HistoryRenewal
from cdckit_mysql.server.connection import Connection, driver_errors, place
from cdckit_mysql.server.facts import Server, log_files
from cdckit_mysql.streaming.log_beginnings import LogBeginnings
from cdckit_mysql.streaming.retention import why_lost

log = logging.getLogger("cdckit.mysql")

Ask = Callable[[], tuple[Server, Connection]]


class SnapshotNeed:
    """Decides for one run of a source.

    Args:
        config: the source's options.
        mode: what `snapshot.mode` says.
        ask: gives the server's facts, and a connection that is open.
        renewal: makes the schema history anew.
        beginnings: knows whether the log is the one that was read; None where there is no state.

    Attributes:
        started: whether what is due at every start of the pipeline was done in this run.
    """

    def __init__(
        self,
        config: MySqlConfig,
        mode: SnapshotMode,
        ask: Ask,
        renewal: HistoryRenewal,
        beginnings: Callable[[], LogBeginnings | None],
    ) -> None:
        self._config = config
        self._mode = mode
        self._ask = ask
        self._renewal = renewal
        self._beginnings = beginnings
        self.started = False
        self._lost: str | None = None
        self._compared = False

    @property
    def begins(self) -> bool:
        """Whether a pipeline that has never run begins with a snapshot."""
        return self._takes_anything(LogOffset())

    def reads_rows(self, at: LogOffset) -> bool:
        """Whether the snapshot that is due at `at` reads rows, or definitions alone.

        After a finished snapshot there is another one only for its rows.
        """
        offset_exists, in_progress = _progress(at)
        again = offset_exists and not in_progress
        return (
            again
            or at.resnapshot is not None
            or self._mode.takes_data(offset_exists=offset_exists, in_progress=in_progress)
        )

    def start(self, at: LogOffset) -> LogOffset:
        """`at`, or a new beginning where a snapshot is to be taken instead of going on from it.

        Raises:
            SourceError: the place is gone from the log, the schema history cannot be made anew, or the server cannot
                be reached for the first time.
        """
        first, self.started = not self.started, True
        if at.snapshot_due and at.resnapshot is None:
            return self._unfinished_start(at, first)
        if first and self._mode.takes_data(offset_exists=True, in_progress=False):
            log.info("a new snapshot is taken, in the place of going on (snapshot.mode=%s)", self._config.snapshot_mode)
            return LogOffset(snapshot=SNAPSHOT_RUNNING, epoch=at.epoch)
        reason = self._lost or self._why_lost(at) or self._why_other(at)
        if reason is None:
            if first and not at.snapshot_due:
                self.renew_history(at)
                log.info("the log is read from %s on", at.position)
            return at
        self.lost(reason)
        self._lost = None
        if (beginnings := self._beginnings()) is not None:
            beginnings.forget()
        return LogOffset(snapshot=SNAPSHOT_RUNNING, epoch=at.epoch + 1)

    def _unfinished_start(self, at: LogOffset, first: bool) -> LogOffset:
        """Before the end of the first snapshot, or of one that was stopped."""
        self._ask()  # a server that cannot be reached at the start is no lost one
        if self._config.snapshot_mode == "recovery":
            raise SourceError(
                "snapshot.mode=recovery makes the schema history anew at the saved offset, and there is none behind a "
                "finished snapshot: start with another mode",
                number="CDC3501",
            )
        if at.file and not self._takes_anything(at):
            return at.with_changes(snapshot=None, snapshot_chunks="")
        if at.file and first:
            log.warning("the last snapshot was not finished: what is left of it is read now")
        return at

    def _takes_anything(self, at: LogOffset) -> bool:
        offset_exists, in_progress = _progress(at)
        return self._mode.takes_data(offset_exists=offset_exists, in_progress=in_progress) or self._mode.takes_schema(
            offset_exists=offset_exists, in_progress=in_progress
        )

    def renew_history(self, at: LogOffset) -> None:
        """Makes the schema history anew where the mode says so.

        Raises:
            SourceError: definitions have changed since.
        """
        wanted = self._mode.takes_schema(offset_exists=True, in_progress=False)
        if wanted or (self._mode.on_schema_error and not self._renewal.reaches(at)):
            self._renewal.from_server(at)

    def lost(self, reason: str) -> None:
        """The server does not have the log from the offset on: the next start is a snapshot, if that is allowed.

        Raises:
            SourceError: it is not.
        """
        if not self._mode.on_data_error:
            raise SourceError(
                f"{place(self._config)}: {reason}: changes are lost; snapshot.mode=when_needed takes a new snapshot, "
                "as does a new state folder",
                number="CDC3101",
            )
        if self._lost is None:
            log.warning("%s: a new snapshot is taken (snapshot.mode=%s)", reason, self._config.snapshot_mode)
        self._lost = reason

    def unfinished(self, at: LogOffset) -> LogOffset | None:
        """Where a snapshot of ours stood that was not finished, as long as the log tells what has changed since.

        Of tables that are read again the log does, or the start would have been refused.
        """
        if at.resnapshot is not None:
            return at.with_changes(snapshot=None)
        if not at.file or at.server is None or not self.reads_rows(at):
            return None
        reason = self._why_lost(at)
        if reason is None and at.server != self._ask()[0].identity and at.gtids is None:
            reason = f"{place(self._config)} is another server than before"
        if reason is None:
            return at.with_changes(snapshot=None)
        log.warning("%s: rows that were deleted since the unfinished snapshot are not told of", reason)
        return None

    def _why_other(self, at: LogOffset) -> str | None:
        """Asked once a run behind each snapshot."""
        server, connection = self._ask()
        beginnings = self._beginnings()
        if self._compared or beginnings is None or at.server not in (None, server.identity):
            return None

        def files() -> Collection[str]:
            with driver_errors(self._config, "asking for the log files"):
                return log_files(connection)

        reason = beginnings.why_other(server, at, files)
        self._compared = reason is None
        return reason

    def _why_lost(self, at: LogOffset) -> str | None:
        server, connection = self._ask()
        with driver_errors(self._config, "asking for the log files"):
            return why_lost(connection, server, at, self._config)


def _progress(at: LogOffset) -> tuple[bool, bool]:
    """Whether the pipeline has run before, and whether it was stopped within a snapshot."""
    return bool(at.file), bool(at.file) and at.snapshot is not None
