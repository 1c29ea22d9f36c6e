"""What a source tells of a snapshot that is planned as a batch, as it tells of one that it reads as a whole."""

from __future__ import annotations

from collections.abc import Mapping

from cdckit.api.notices import Notices, PassedNotices
from cdckit.api.record import Offset
from cdckit.api.source import Source
from cdckit.connector.snapshot_progress import PartsProgress


class PartsNotices(PassedNotices):
    """Stands before those whom a source tells: adds up what it tells of tables' parts.

    Args:
        notices: told of whole tables, and everything else as it came.
    """

    def __init__(self, notices: Notices) -> None:
        super().__init__(notices)
        self._parts = PartsProgress(notices)
        self._begun = False

    def snapshot_started(self, data_collections: Mapping[str, int | None]) -> None:
        """Notes what is read."""
        self._begun = True
        self._parts.begin(data_collections)
        super().snapshot_started(data_collections)

    def snapshot_part(self, data_collection: str, part: int, parts: int, rows: int, finished: bool) -> None:
        """Adds the parts of a table up."""
        self._parts.part(data_collection, part, parts, rows, finished)

    def snapshot_ended(self, completed: bool) -> None:
        """Passes it on: the source itself has read it to its end."""
        self._begun = False
        super().snapshot_ended(completed)

    def delivered(self, end: Offset, source: Source) -> None:
        """A batch is safe that was planned up to `end`: the snapshot is over where the log comes next.

        Raises:
            SourceError: the source cannot be asked.
        """
        if self._begun and source.snapshot_point(end) is None:
            self.snapshot_ended(completed=True)

    def broken_off(self) -> None:
        """The run is over: so is a snapshot that it did not finish."""
        if self._begun:
            self.snapshot_ended(completed=False)
