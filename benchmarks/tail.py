"""The tail of a pipeline on Spark in a direct process: `python -m benchmarks.tail [--commits 300] [--only kafka]`.

From the start to the first event, and from the commit in MySQL to a reader's sight of it, into Kafka and into a Delta
changelog of the sink `spark`. The table has one row at the start, so that Spark is not needed, and does not start.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Literal

import click
from rich.console import Console
from rich.table import Table

from benchmarks import latency
from benchmarks.latency import Latency
from benchmarks.pipelines import PASSWORD, USER, Cdckit
from benchmarks.report import machine
from benchmarks.targets import DeltaTarget, KafkaTarget, Target
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer

TAIL = (("tail", "direct"),)
RATES: dict[Literal["kafka", "delta"], float] = {"kafka": 50, "delta": 10}
"""Commits a second."""
ROWS = {"kafka": 1, "delta": 10}
"""Rows of each commit."""


@click.command()
@click.option("--commits", default=300, help="How many commits are watched on their way.")
@click.option("--only", type=click.Choice(list(RATES)), help="One of the two.")
def main(commits: int, only: Literal["kafka", "delta"] | None) -> None:
    """Measures both."""
    show([_measured(kind, commits) for kind in RATES if only in (None, kind)])


def _measured(kind: Literal["kafka", "delta"], commits: int) -> Latency:
    with ExitStack() as stack:
        server = stack.enter_context(MySQLServer().start())
        server.create_user(USER, PASSWORD)
        target = stack.enter_context(_target(kind))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cdckit-bench-")))
        system = Cdckit(f"tail to {kind}", target, "spark", settings=TAIL)
        rate, rows = RATES[kind], ROWS[kind]
        return latency.measure(server, system, folder, commits=commits, rate=rate, idle_seconds=5, rows=rows)


@contextmanager
def _target(kind: Literal["kafka", "delta"]) -> Iterator[Target]:
    if kind == "delta":
        yield DeltaTarget()
        return
    with KafkaBroker(heap="512m", jvm=()) as broker, closing(KafkaTarget(broker)) as target:
        yield target


def show(latencies: list[Latency]) -> None:
    """Prints the table."""
    load = os.getloadavg()[0]
    table = Table(title=f"A direct process at the tail of a pipeline on Spark ({machine()}; load {load:.0f})")
    for column in ("pipeline", "commits a second", "p50 ms", "p99 ms", "first event s", "CPU of a core", "idle"):
        table.add_column(column, justify="left" if column == "pipeline" else "right")
    for one in latencies:
        figures = (f"{one.p50:.1f}", f"{one.p99:.1f}", f"{one.first_event:.1f}")
        table.add_row(one.system, f"{one.rate:g}", *figures, f"{one.busy_share:.1%}", f"{one.idle_share:.1%}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
