"""Where a running pipeline is, out of its figures: a line for people, the same for programs."""

from __future__ import annotations

from cdckit.connector.durations import duration
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.snapshot_figures import TableFigures


def progress_line(figures: Figures) -> str:
    """Where the pipeline is now."""
    if figures.activity:
        return f"{figures.activity} {duration(round(figures.activity_seconds))} …"
    if reading := figures.snapshot.reading:
        name, table = next(reversed(reading.items()))
        others = f" (and {len(reading) - 1} more)" if len(reading) > 1 else ""
        return f"snapshot of {name}{others}: {_rows(table)}"
    lag = lag_text(figures.lag_seconds, figures.lag_bytes, figures.lag_messages)
    behind = f", {lag} behind" if lag else ""
    return f"streaming: {figures.events_per_second:,.0f} events/s{behind}, {figures.records:,} delivered"


def progress_facts(figures: Figures) -> dict[str, object]:
    """The same for programs."""
    if figures.activity:
        return {"phase": figures.activity, "seconds": figures.activity_seconds}
    if reading := figures.snapshot.reading:
        name, table = next(reversed(reading.items()))
        return {
            "phase": "snapshot", "table": name, "rows": table.rows, "estimate": table.likely,
            "rows_per_second": round(table.rows_per_second), "seconds_left": table.seconds_left,
        }  # fmt: skip
    return {
        "phase": "streaming", "events": figures.records, "events_per_second": round(figures.events_per_second, 1),
        "lag_seconds": figures.lag_seconds, "lag_bytes": figures.lag_bytes,
    }  # fmt: skip


def _rows(table: TableFigures) -> str:
    of = f" of about {table.likely:,}" if table.likely is not None else ""
    left, speed = table.seconds_left, table.rows_per_second
    ending = f", {duration(left)} left" if left is not None else ""
    return f"{table.rows:,}{of} rows{f', {speed:,.0f} rows/s' if speed else ''}{ending}"


def lag_text(seconds: float | None, in_bytes: int | None, messages: int | None) -> str:
    """`1.5 s and 2.5 MB`, as far as it is known; empty where nothing is."""
    parts = [] if seconds is None else [f"{seconds:.1f} s"]
    parts += [] if in_bytes is None else [size(in_bytes)]
    parts += [] if messages is None else [f"{messages:,} messages"]
    return " and ".join(parts)


def size(number: float) -> str:
    """`812 bytes`, `1.4 MB`."""
    if number < 1000:
        return f"{number:.0f} bytes"
    for unit in ("kB", "MB", "GB"):
        number /= 1000
        if number < 1000:
            return f"{number:.1f} {unit}"
    return f"{number / 1000:.1f} TB"
