"""How fast a pipeline goes and how far behind it is, from what the lifecycle hooks tell."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from cdckit.connector.durations import duration

WINDOW_SECONDS = 10.0
"""The time over which events a second are counted."""


@dataclass(slots=True)
class TableProgress:
    """The snapshot of one table.

    Attributes:
        data_collection: its name.
        began: when it was first told of.
        first: how many rows were read by then.
        rows: how many are read now.
        estimate: how many there may be; None where nothing is known, or more were read already.
    """

    data_collection: str
    began: float
    first: int
    rows: int = 0
    estimate: int | None = None


class Meter:
    """Adds up what happened; every rate is asked for at a time of the caller's choice.

    Attributes:
        tables: the snapshots under way, by table; the one told of last is the last.
        events: how many were delivered since the start.
        lag_bytes: how much of the log lay behind the last saved offset.
        lag_seconds: how old the newest delivered change was when it was saved; 0 at the log's end.
        activity: what everything waits for; empty: nothing.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, wall_clock: Callable[[], float] = time.time
    ) -> None:
        self._clock = clock
        self._wall_clock = wall_clock
        self._commits: deque[tuple[float, int]] = deque()
        self._began = clock()
        self.tables: dict[str, TableProgress] = {}
        self.events = 0
        self.lag_bytes: int | None = None
        self.lag_seconds: float | None = None
        self.activity = ""
        self._activity_began = self._began

    def begin(self, activity: str) -> None:
        """Takes notice of what everything waits for now; empty: of nothing."""
        self.activity, self._activity_began = activity, self._clock()

    @property
    def activity_seconds(self) -> float:
        """For how long that has been waited for."""
        return self._clock() - self._activity_began if self.activity else 0.0

    def snapshot(self, data_collection: str, rows: int, estimate: int | None, finished: bool) -> TableProgress:
        """Takes one notice of a table's snapshot."""
        table = self.tables.pop(data_collection, None) or TableProgress(data_collection, self._clock(), rows)
        table.rows, table.estimate = rows, None if estimate is not None and estimate < rows else estimate
        if not finished:
            self.tables[data_collection] = table
        return table

    def committed(self, records: int, log_time_ms: int | None, lag_bytes: int | None) -> None:
        """Takes one notice of saved progress."""
        self.events += records
        self._commits.append((self._clock(), records))
        self.lag_bytes = lag_bytes
        if lag_bytes == 0 or (lag_bytes is None and not records):
            self.lag_seconds = 0.0
        elif log_time_ms is not None:
            self.lag_seconds = max(0.0, self._wall_clock() - log_time_ms / 1000)

    def events_per_second(self) -> float:
        """Over the last seconds, or since the start where that is less."""
        now = self._clock()
        while self._commits and self._commits[0][0] < now - WINDOW_SECONDS:
            self._commits.popleft()
        elapsed = min(WINDOW_SECONDS, now - self._began)
        return sum(records for _, records in self._commits) / elapsed if elapsed else 0.0

    def line(self) -> str:
        """Where the pipeline is now."""
        if self.activity:
            return f"{self.activity} {duration(round(self.activity_seconds))} …"
        if self.tables:
            return self._snapshot_line(self._latest)
        lag = [] if self.lag_seconds is None else [f"{self.lag_seconds:.1f} s"]
        lag += [] if self.lag_bytes is None else [size(self.lag_bytes)]
        behind = f", {' and '.join(lag)} behind" if lag else ""
        return f"streaming: {self.events_per_second():,.0f} events/s{behind}, {self.events:,} delivered"

    def facts(self) -> dict[str, object]:
        """The same for programs."""
        if self.activity:
            return {"phase": self.activity, "seconds": self.activity_seconds}
        if self.tables:
            table = self._latest
            return {
                "phase": "snapshot", "table": table.data_collection, "rows": table.rows, "estimate": table.estimate,
                "rows_per_second": round(self.rows_per_second(table)), "seconds_left": self._seconds_left(table),
            }  # fmt: skip
        return {
            "phase": "streaming", "events": self.events, "events_per_second": round(self.events_per_second(), 1),
            "lag_seconds": self.lag_seconds, "lag_bytes": self.lag_bytes,
        }  # fmt: skip

    @property
    def _latest(self) -> TableProgress:
        return next(reversed(self.tables.values()))

    def rows_per_second(self, table: TableProgress) -> float:
        """The mean since the table was first told of."""
        elapsed = self._clock() - table.began
        return (table.rows - table.first) / elapsed if elapsed else 0.0

    def _seconds_left(self, table: TableProgress) -> int | None:
        rate = self.rows_per_second(table)
        return round((table.estimate - table.rows) / rate) if table.estimate is not None and rate else None

    def _snapshot_line(self, table: TableProgress) -> str:
        of = f" of about {table.estimate:,}" if table.estimate is not None else ""
        left = self._seconds_left(table)
        ending = f", {duration(left)} left" if left is not None else ""
        others = f" (and {len(self.tables) - 1} more)" if len(self.tables) > 1 else ""
        rate = self.rows_per_second(table)
        speed = f", {rate:,.0f} rows/s" if rate else ""
        return f"snapshot of {table.data_collection}{others}: {table.rows:,}{of} rows{speed}{ending}"


def size(number: float) -> str:
    """`812 bytes`, `1.4 MB`."""
    if number < 1000:
        return f"{number:.0f} bytes"
    for unit in ("kB", "MB", "GB"):
        number /= 1000
        if number < 1000:
            return f"{number:.1f} {unit}"
    return f"{number / 1000:.1f} TB"
