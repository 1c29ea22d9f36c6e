"""Measures everything and prints the tables: `python -m benchmarks [--scale 0.1] [--only direct]…`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import click

from benchmarks import report
from benchmarks.plan import PARTS, Plan


@click.command()
@click.option("--scale", default=1.0, help="Multiplies the number of rows.")
@click.option("--only", multiple=True, type=click.Choice(PARTS), help="A part to run; all of them by default.")
@click.option("--no-peer", is_flag=True, help="Leave Debezium out, which is measured where its wheel is installed.")
def main(scale: float, only: tuple[str, ...], no_peer: bool) -> None:
    """Measures cdckit, and Debezium beside it where its wheel is installed."""
    parts = set(only or PARTS) - ({"peer"} if no_peer else set())
    folder = Path(tempfile.mkdtemp(prefix="cdckit-bench-"))
    try:
        with Plan(parts, folder, scale) as plan:
            plan.run()
        report.show(plan.measured, plan.latencies)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
