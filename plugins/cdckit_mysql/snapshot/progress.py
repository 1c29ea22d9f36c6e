"""How far the snapshot of a table is, told from time to time."""

from __future__ import annotations

import time

from cdckit.source import Notify
from cdckit_mysql.table import TableId

_NOTICE_SECONDS = 0.5


class TableProgress:
    """Counts a table's rows and tells the lifecycle hooks.

    Args:
        notify: told at most twice a second, and at the end.
        table: which table.
        estimate: about how many rows it has.

    Attributes:
        rows: how many rows were read.
    """

    def __init__(self, notify: Notify, table: TableId, estimate: int | None) -> None:
        self.rows = 0
        self._notify = notify
        self._table = table
        self._estimate = estimate
        self._next_notice = time.monotonic()

    def read(self, rows: int) -> None:
        """So many rows more."""
        self.rows += rows
        if time.monotonic() >= self._next_notice:
            self._next_notice = time.monotonic() + _NOTICE_SECONDS
            self._tell(finished=False)

    def finished(self) -> None:
        """That was the table's last row."""
        self._tell(finished=True)

    def _tell(self, *, finished: bool) -> None:
        self._notify(
            "snapshot_progress",
            data_collection=str(self._table),
            rows=self.rows,
            estimate=self._estimate,
            finished=finished,
        )
