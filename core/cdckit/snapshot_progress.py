"""How far the snapshot of a table or collection is, told from time to time."""

from __future__ import annotations

import time

from cdckit.source import Notify

_NOTICE_SECONDS = 0.5


class SnapshotProgress:
    """Counts the rows of a table or collection and tells the lifecycle hooks.

    Args:
        notify: told at most twice a second, and at the end.
        data_collection: which one: `database.table`.
        estimate: about how many rows it has.

    Attributes:
        rows: how many rows were read.
    """

    def __init__(self, notify: Notify, data_collection: str, estimate: int | None) -> None:
        self.rows = 0
        self._notify = notify
        self._data_collection = data_collection
        self._estimate = estimate
        self._next_notice = time.monotonic()

    def read(self, rows: int) -> None:
        """So many rows more."""
        self.rows += rows
        if time.monotonic() >= self._next_notice:
            self._next_notice = time.monotonic() + _NOTICE_SECONDS
            self._tell(finished=False)

    def finished(self) -> None:
        """That was the last row."""
        self._tell(finished=True)

    def _tell(self, *, finished: bool) -> None:
        self._notify(
            "snapshot_progress",
            data_collection=self._data_collection,
            rows=self.rows,
            estimate=self._estimate,
            finished=finished,
        )
