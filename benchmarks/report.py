"""The table at the end of a benchmark."""

from __future__ import annotations

import platform
from collections.abc import Sequence

import psutil
from rich.console import Console
from rich.table import Table

from benchmarks.latency import Latency
from benchmarks.throughput import Measured


def machine() -> str:
    """The machine in one line."""
    memory = psutil.virtual_memory().total / 2**30
    return f"{psutil.cpu_count()} cores, {memory:.0f} GiB, {platform.machine()}, Python {platform.python_version()}"


def show(measured: Sequence[Measured], latency: Latency | None) -> None:
    """Prints the figures."""
    console = Console(width=120)
    table = Table(title=f"Throughput ({machine()})")
    for column in ("scenario", "system", "events", "CPU µs an event", "events/s", "peak RSS MiB"):
        table.add_column(column, justify="left" if column in ("scenario", "system") else "right")
    for one in measured:
        table.add_row(
            one.scenario,
            one.system,
            f"{one.events:,}",
            f"{one.cpu_us:.2f}",
            f"{one.rate:,.0f}",
            f"{one.usage.rss:.0f}",
        )
    console.print(table)
    if latency is not None:
        console.print(
            f"commit to file at 200 commits/s: p50 {latency.p50:.2f} ms, p99 {latency.p99:.2f} ms; "
            f"first event {latency.first_event:.2f} s after start; idle {latency.idle_share:.2%} of a core"
        )
