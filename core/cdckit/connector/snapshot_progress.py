"""How far the snapshot of a table or collection is, told from time to time: of all of it, or of parts of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from cdckit.api.notices import Notices

_NOTICE_SECONDS = 0.5


class SnapshotProgress:
    """Counts the rows of a table or collection and tells the lifecycle hooks.

    Args:
        notices: told at most twice a second, and at the end.
        data_collection: which one: `database.table`.
        estimate: about how many rows it has.

    Attributes:
        rows: how many rows were read.
    """

    def __init__(self, notices: Notices, data_collection: str, estimate: int | None) -> None:
        self.rows = 0
        self._notices = notices
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
        """Tells the hooks."""
        self._notices.snapshot_progress(self._data_collection, self.rows, self._estimate, finished)


class PartProgress(SnapshotProgress):
    """Counts the rows of one part of a table, and tells whoever runs the readers of all parts (`PartsProgress`).

    Args:
        notices: told at most twice a second, and at the end.
        data_collection: the table: `database.table`.
        part: tells this part from the table's others.
        parts: how many parts the table has; 0 where that is not known before its last one.
    """

    def __init__(self, notices: Notices, data_collection: str, part: int, parts: int) -> None:
        super().__init__(notices, data_collection, None)
        self._part = part
        self._parts = parts

    def _tell(self, *, finished: bool) -> None:
        """Tells the parts' keeper."""
        self._notices.snapshot_part(self._data_collection, self._part, self._parts, self.rows, finished)


@dataclass(slots=True)
class _Table:
    """What is known of a table's parts: how many there are, how many rows each has given, and which are finished."""

    estimate: int | None = None
    parts: int = 0
    read: int = 0
    rows: dict[int, int] = field(default_factory=dict)
    finished: set[int] = field(default_factory=set)


class PartsProgress:
    """Puts together what the readers of parts tell. A part that is read again begins anew.

    Args:
        notices: told of whole tables.
    """

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        self._tables: dict[str, _Table] = {}

    def begin(self, estimates: Mapping[str, int | None]) -> None:
        """A snapshot of these tables, with about so many rows each."""
        self._tables = {name: _Table(estimate) for name, estimate in estimates.items()}

    def part(self, data_collection: str, part: int, parts: int, rows: int, finished: bool) -> None:
        """What `PartProgress` tells."""
        table = self._tables.setdefault(data_collection, _Table())
        table.read += rows - table.rows.get(part, 0)
        table.rows[part] = rows
        table.parts = parts or table.parts
        (table.finished.add if finished else table.finished.discard)(part)
        done = 0 < table.parts == len(table.finished)  # before its last part is planned, their number is not known
        self._notices.snapshot_progress(data_collection, table.read, table.estimate, done)
