"""Files of a log hold no tables: where a snapshot is due, they cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from cdckit import HistoryRecord, Offset, SourceContext, SourceError, Split, StateError
from cdckit_mysql.offsets import LogOffset


class NoSnapshots:
    """Snapshots for a log without its server: none begins, and one that is due is refused."""

    begins = False

    def open(self, context: SourceContext) -> None:
        """Nothing is due at a start."""

    def start(self, at: LogOffset) -> LogOffset:
        """`at`, unless it lies within a snapshot.

        Raises:
            SourceError: it does.
        """
        return self._refuse() if at.snapshot_due else at

    def lost(self, error: SourceError) -> NoReturn:
        """Nothing else can be read instead.

        Raises:
            SourceError: `error`.
        """
        raise error

    def renew_history(self, at: LogOffset) -> None:
        """There is no server that could tell it."""

    def reads_rows(self, at: LogOffset) -> bool:
        """No rows of any table."""
        return False

    def point(self, at: LogOffset) -> NoReturn:
        """There is none; raises as `start`."""
        self._refuse()

    def whole(self, start: Offset, at: LogOffset) -> NoReturn:
        """There is none; raises as `start`."""
        self._refuse()

    def cut(self, first: LogOffset, last: LogOffset, max_bytes: int, *, again: bool) -> NoReturn:
        """There are none; raises as `start`."""
        self._refuse()

    def chunks(self, whole: Split, parallelism: int, *, again: bool) -> NoReturn:
        """There are none; raises as `start`."""
        self._refuse()

    def adopt(self, offset: Offset, history: Iterator[HistoryRecord] | None) -> NoReturn:
        """A connector had a server.

        Raises:
            StateError: always.
        """
        raise StateError(
            "source.binlog.files: a connector of Debezium is taken over from at its server: take binlog.files out for "
            "that; then the files can be read with the state"
        )

    @staticmethod
    def _refuse() -> NoReturn:
        raise SourceError(
            "the saved offset lies within a snapshot, which log files cannot give: finish the snapshot at the "
            "server, or start with a new state folder"
        )
