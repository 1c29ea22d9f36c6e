"""What a pipeline has in memory at full speed, and what holds it: `python -m benchmarks.memory [--scale 0.25]`.

The direct runner reads the benchmark's table into a file and into a Delta changelog: its snapshot, statements of 100
rows, one transaction; and into a Delta mirror changes all over a table ten times as large. Each run is a process of its
own, looked at fifty times a second. Arrow loads pandas and NumPy where they are installed; so `--python` names the
interpreter of an environment that has no more than a pipeline needs.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks import mirror
from benchmarks.measured import Measured
from benchmarks.pipelines import PASSWORD, USER, Cdckit
from benchmarks.report import machine
from benchmarks.resident import OTHERS, OWN, Resident, Watch
from benchmarks.systems import DELTA, FILE, MIRROR
from benchmarks.targets import DeltaTarget, FileTarget, Target
from benchmarks.throughput import Bench, CatchUp
from testkit.servers.mysql import MySQLServer

ROWS, INSERTED, UPDATED = 500_000, 300_000, 100_000
MIRRORED, CHANGED = 1_000_000, 100_000
SYSTEMS = (FILE, DELTA, MIRROR)
PARTS = (OWN, "code of deltalake", "code of pyarrow", "code of numpy", OTHERS)


@dataclass(frozen=True, slots=True)
class Held:
    """One run.

    Attributes:
        measured: what it did, and took.
        largest: what it had in memory when it had most.
        own: what it had when it had most of its own.
    """

    measured: Measured
    largest: Resident
    own: Resident


def measured(
    server: MySQLServer, folder: Path, scale: float, systems: Sequence[str] = SYSTEMS, python: str = sys.executable
) -> Iterator[Held]:
    """Runs that read the same rows, one system after another."""
    for name in systems:
        place, watch = folder / name.replace(" ", "-"), Watch()
        if name == MIRROR:
            found = iter([_mirrored(server, place, scale, watch, python)])
        else:
            target: Target = FileTarget() if name == FILE else DeltaTarget("delta")
            found = _streamed(server, place, scale, CatchUp(Cdckit(name, target, python=python), watch))
        for one in found:
            yield Held(one, watch.largest, watch.own)


def _streamed(server: MySQLServer, folder: Path, scale: float, system: CatchUp) -> Iterator[Measured]:
    bench = Bench(server, [system], folder, starts=1)
    yield from bench.snapshot(_rows(ROWS, scale))
    yield from bench.bulk(_rows(INSERTED, scale), _rows(UPDATED, scale))
    yield from bench.huge(_rows(ROWS, scale))


def _mirrored(server: MySQLServer, folder: Path, scale: float, watch: Watch, python: str) -> Measured:
    system = Cdckit(MIRROR, DeltaTarget("delta", "mirror"), python=python)
    return mirror.measure(server, system, folder, _rows(MIRRORED, scale), _rows(CHANGED, scale), watch)


def _rows(rows: int, scale: float) -> int:
    return max(1, round(rows * scale))


def show(found: Sequence[Held]) -> None:
    """Prints the table."""
    table = Table(title=f"MiB in memory at full speed ({machine()})", box=SIMPLE_HEAD)
    for name in ("system", "scenario"):
        table.add_column(name)
    for name in ("CPU µs an event", "peak RSS", *PARTS, "peak own"):
        table.add_column(name, justify="right")
    for one in found:
        figures = (
            one.measured.usage.rss,
            *(one.largest.parts.get(part, 0.0) for part in PARTS),
            one.own.parts.get(OWN, 0.0),
        )
        cells = (f"{one.measured.cpu_us:.1f}", *(f"{figure:.0f}" for figure in figures))
        table.add_row(one.measured.system, one.measured.scenario, *cells)
    Console(width=150).print(table)


@click.command()
@click.option("--scale", default=1.0, help="Multiplies the number of rows.")
@click.option("--only", multiple=True, type=click.Choice(SYSTEMS), help="What is measured; all by default.")
@click.option("--python", default=sys.executable, help="The interpreter that pipelines run in; this one by default.")
def main(scale: float, only: tuple[str, ...], python: str) -> None:
    """Measures what pipelines have in memory."""
    with MySQLServer() as server, tempfile.TemporaryDirectory(prefix="cdckit-bench-") as folder:
        server.create_user(USER, PASSWORD)
        show(list(measured(server, Path(folder), scale, only or SYSTEMS, python)))


if __name__ == "__main__":
    main()
