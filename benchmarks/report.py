"""The tables at the end of a benchmark."""

from __future__ import annotations

import platform
from collections.abc import Sequence

import psutil
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.goals import Figure, figures
from benchmarks.latency import Latency
from benchmarks.measured import Measured

COLOURS = {"goal": "green", "reached": "green", "missed": "red"}


def machine() -> str:
    """The machine in one line."""
    memory = psutil.virtual_memory().total / 2**30
    return f"{psutil.cpu_count()} cores, {memory:.0f} GiB, {platform.machine()}, Python {platform.python_version()}"


def show(measured: Sequence[Measured], latencies: Sequence[Latency]) -> None:
    """Prints the figures, and which targets they meet."""
    console = Console(width=120)
    if measured:
        console.print(_throughput(measured))
    if latencies:
        console.print(_latency(latencies))
    console.print(targets_table(figures(measured, latencies)))


def _table(title: str, *columns: str, texts: int) -> Table:
    """A table whose first `texts` columns hold words, the others numbers."""
    table = Table(title=title, box=SIMPLE_HEAD)
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < texts else "right")
    return table


def _throughput(measured: Sequence[Measured]) -> Table:
    columns = ("scenario", "system", "events", "CPU µs an event", "events/s", "peak RSS MiB")
    table = _table(f"Throughput ({machine()})", *columns, texts=2)
    for one in measured:
        rate = "" if one.rate is None else f"{one.rate:,.0f}"
        cells = (f"{one.events:,}", f"{one.cpu_us:.2f}", rate, f"{one.usage.rss:.0f}")
        table.add_row(one.scenario, one.system, *cells)
    return table


def _latency(latencies: Sequence[Latency]) -> Table:
    columns = ("system", "commits/s", "p50 ms", "p99 ms", "first event s", "idle % of a core")
    table = _table("From commit to arrival", *columns, texts=1)
    for one in latencies:
        cells = (f"{one.p50:.2f}", f"{one.p99:.2f}", f"{one.first_event:.2f}", f"{one.idle_share:.2%}"[:-1])
        table.add_row(one.system, f"{one.rate:.0f}", *cells)
    return table


def targets_table(found: Sequence[Figure]) -> Table:
    """Which targets figures meet, and which they miss."""
    table = Table(title="Targets", box=SIMPLE_HEAD)
    table.add_column("figure")
    for column in ("measured", "reach", "goal"):
        table.add_column(column, justify="right")
    table.add_column("unit")
    table.add_column("met")
    for figure in found:
        met = f"[{COLOURS[figure.verdict]}]{figure.verdict}[/]"
        table.add_row(figure.name, *map(_number, (figure.value, figure.reach, figure.goal)), figure.unit, met)
    return table


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
