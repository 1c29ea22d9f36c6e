"""What is known of a pipeline's newest snapshot."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


def now() -> float:
    """Seconds since 1970."""
    return time.time()


@dataclass(slots=True)
class TableFigures:
    """The snapshot of one table or collection.

    Attributes:
        rows: how many rows were read.
        estimate: about how many it has, or None.
        finished: whether all were read.
        began: when rows of it were first told of, in seconds since 1970; None before.
        first: how many had been read by then.
    """

    rows: int = 0
    estimate: int | None = None
    finished: bool = False
    began: float | None = None
    first: int = 0

    @property
    def likely(self) -> int | None:
        """The estimate, unless more rows were read already."""
        return self.estimate if self.estimate is not None and self.estimate >= self.rows else None

    @property
    def seconds(self) -> float:
        """How long it has been read."""
        return 0.0 if self.began is None else now() - self.began

    @property
    def rows_per_second(self) -> float:
        """The mean since it was first told of."""
        seconds = self.seconds
        return (self.rows - self.first) / seconds if seconds > 0 else 0.0

    @property
    def seconds_left(self) -> int | None:
        """How long it will go on; None where that cannot be told."""
        speed = self.rows_per_second
        return round((self.likely - self.rows) / speed) if self.likely is not None and speed else None


@dataclass(slots=True)
class ChunkFigures:
    """The last chunk that a snapshot beside the log has read.

    Attributes:
        data_collection: its table.
        chunk_from: the key behind which it begins; empty for the table's first.
        chunk_to: its last key.
        table_to: the table's last key.
    """

    data_collection: str
    chunk_from: str
    chunk_to: str
    table_to: str


@dataclass(slots=True)
class SnapshotFigures:
    """The newest snapshot. Times are in seconds since 1970.

    Attributes:
        state: where it is; `none` before the first.
        began: when it began, or None.
        ended: when it ended, or None.
        told: when rows were last read, or None.
        tables: by name, in the order in which they were told of.
        reading: those of which rows were told and are not finished; the one told of last is the last.
        rows_before: how many rows the snapshots before it read.
        locked: whether writers are locked out.
        paused_since: when it was paused, or None while it runs.
        paused_seconds: how long it was paused before that.
        chunk: what a snapshot beside the log reads, or None.
        incremental: whether it is one beside the log, which signals can pause and stop.
    """

    state: Literal["none", "running", "completed", "aborted"] = "none"
    began: float | None = None
    ended: float | None = None
    told: float | None = None
    tables: dict[str, TableFigures] = field(default_factory=dict)
    reading: dict[str, TableFigures] = field(default_factory=dict)
    rows_before: int = 0
    locked: bool = False
    paused_since: float | None = None
    paused_seconds: float = 0.0
    chunk: ChunkFigures | None = None
    incremental: bool = False

    def begin(self, estimates: Mapping[str, int | None]) -> None:
        """A new one, of these tables, each of about so many rows."""
        self.state, self.began, self.ended = "running", now(), None
        self.rows_before += self.rows
        self.tables = {name: TableFigures(estimate=estimate) for name, estimate in estimates.items()}
        self.reading, self.incremental = {}, False
        self.paused_since, self.paused_seconds, self.chunk = None, 0.0, None

    def end(self, *, completed: bool) -> None:
        """It is over; nothing where none runs."""
        if self.state == "running":
            self.pause(paused=False)
            self.state, self.ended = "completed" if completed else "aborted", now()
            self.reading = {}

    def read(self, name: str, rows: int, estimate: int | None, *, finished: bool) -> None:
        """So many rows of a table were read; a snapshot that nobody told of has begun."""
        if self.state != "running":
            self.begin({})
        self.told = now()
        table = self.tables.setdefault(name, TableFigures())
        if table.began is None:
            table.began, table.first = self.told, rows
        table.rows, table.estimate, table.finished = rows, estimate, finished
        # made anew, since others go through it meanwhile
        others = {other: figures for other, figures in self.reading.items() if other != name}
        self.reading = others if finished else {**others, name: table}

    def pause(self, *, paused: bool) -> None:
        """It is paused, or goes on."""
        if paused:
            self.paused_since = self.paused_since or now()
        elif self.paused_since is not None:
            self.paused_seconds += now() - self.paused_since
            self.paused_since = None

    @property
    def rows(self) -> int:
        """How many rows were read of all tables."""
        return sum(table.rows for table in list(self.tables.values()))

    @property
    def rows_ever(self) -> int:
        """How many rows this snapshot and those before it read."""
        return self.rows_before + self.rows

    @property
    def seconds(self) -> float:
        """How long it has taken, or took."""
        return 0.0 if self.began is None else (self.ended or now()) - self.began

    @property
    def seconds_paused(self) -> float:
        """How long it has been paused."""
        return self.paused_seconds + (0.0 if self.paused_since is None else now() - self.paused_since)
