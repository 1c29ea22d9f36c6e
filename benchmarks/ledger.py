"""What a pipeline's ledger costs: `python -m benchmarks.ledger [--instructions]`, the same work without it and with."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import Console

from benchmarks.measured import Measured
from benchmarks.pipelines import PASSWORD, USER, Cdckit
from benchmarks.revisions import compared, instructions
from benchmarks.targets import FileTarget
from benchmarks.throughput import Bench, CatchUp
from benchmarks.usage import run
from testkit.servers.mysql import MySQLServer

_KEPT = (("ledger", "true"),)


def _systems(rounds: int, *, counted: bool) -> list[CatchUp]:
    measure = instructions if counted else run
    return [
        CatchUp(Cdckit(f"{number}-{turn}", FileTarget(), settings=settings), measure)
        for turn in range(rounds)
        for number, settings in enumerate(((), _KEPT))
    ]


def _measured(folder: Path, rounds: int, scale: float, *, counted: bool) -> Iterator[Measured]:
    with MySQLServer() as server:
        server.create_user(USER, PASSWORD)
        bench = Bench(server, _systems(rounds, counted=counted), folder, starts=1 if counted else 3)
        yield from bench.snapshot(int(100_000 * scale))
        yield from bench.bulk(int(80_000 * scale), int(20_000 * scale))
        yield from bench.single(int(20_000 * scale))


@click.command()
@click.option("--rounds", default=7, help="How often each does the work.")
@click.option("--scale", default=1.0, help="Multiplies the number of rows.")
@click.option("--instructions", "counted", is_flag=True, help="Count instructions (needs Valgrind), not seconds.")
def main(rounds: int, scale: float, counted: bool) -> None:
    """Measures a pipeline without its ledger ("before") and with it ("after")."""
    folder = Path(tempfile.mkdtemp(prefix="cdckit-ledger-"))
    try:
        found = list(_measured(folder, rounds, scale, counted=counted))
        Console(width=120).print(compared(found, "Instructions" if counted else "CPU µs"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
