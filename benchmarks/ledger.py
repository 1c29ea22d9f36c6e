"""What a pipeline's ledger costs: `python -m benchmarks.ledger`.

Whole runs from MySQL into a file or topic, without the ledger and with it in turn, in children of one process that has
cdckit loaded (`benchmarks/warm.py`); what a start without events takes is taken off both. Seconds of CPU move with what
else the machine does, so that many rounds are needed; with `--instructions` that process runs in Valgrind, which counts
what it executes.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.measured import Measured
from benchmarks.pipelines import PASSWORD, USER, Cdckit, Options
from benchmarks.targets import FileTarget, KafkaTarget, Target
from benchmarks.throughput import SNAPSHOT, Bench, CatchUp
from benchmarks.usage import Usage
from benchmarks.warmed import Warm
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer

ROUNDS = 7
_KINDS = (True, False)
"""Starts with a snapshot, and from a saved offset."""
_RARELY: Options = (("offset.flush.interval.ms", "3600000"),)
"""In Valgrind a run takes minutes, which would be counted as saves for each second of them."""
_SETTINGS: dict[str, Options] = {"without": (), "with": (("ledger", "true"),)}


def measured(
    warm: Warm, target: Target, folder: Path, scale: float, *, rounds: int, counted: bool
) -> Iterator[Measured]:
    """What MySQL's snapshot and streams take; a system's name says whether it has a ledger."""

    def system(name: str, which: str) -> Cdckit:
        return Cdckit(f"{which}-{name}", target, settings=(*_SETTINGS[which], *(_RARELY if counted else ())))

    with MySQLServer() as server:
        server.create_user(USER, PASSWORD)
        Bench(server, [CatchUp(system("loading", which), warm.load) for which in _SETTINGS], folder, starts=1)
        turns = [CatchUp(system(str(turn), which), warm.run) for turn in range(rounds) for which in _SETTINGS]
        bench = Bench(server, turns, folder, starts=1 if counted else 3)
        yield from bench.snapshot(int(100_000 * scale))
        yield from bench.bulk(int(80_000 * scale), int(20_000 * scale))
        yield from bench.single(int(20_000 * scale))


def _cpu(used: Usage) -> float:
    return used.cpu


def compared(found: Sequence[Measured], unit: str) -> Table:
    """The least and the median without the ledger and with it, and what it adds of a run."""
    # A start is the same for both, but for what it happens to wait for: of all starts the least one is taken off.
    least = {kind: min((one.start for one in found if (one.scenario == SNAPSHOT) is kind), key=_cpu) for kind in _KINDS}
    found = [replace(one, start=least[one.scenario == SNAPSHOT]) for one in found]
    costs: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in found:
        costs[one.scenario][one.system.partition("-")[0]].append(one.cpu_us)
    table = Table(title=f"{unit} an event", box=SIMPLE_HEAD)
    for column in ("scenario", "without: least", "median", "with: least", "median", "least", "median"):
        table.add_column(column, justify="left" if column == "scenario" else "right")
    for scenario, (before, after) in ((name, each.values()) for name, each in costs.items()):
        pairs = [(min(before), min(after)), (statistics.median(before), statistics.median(after))]
        figures = [f"{value:,.2f}" for column in zip(*pairs, strict=True) for value in column]
        table.add_row(scenario, *figures, *(f"{with_it / alone - 1:+.1%}" for alone, with_it in pairs))
    return table


@click.command()
@click.option("--rounds", type=int, help=f"How often each does the work ({ROUNDS}; where counted, once).")
@click.option("--scale", default=1.0, help="Multiplies the number of rows: 100,000, 100,000, and 20,000 alone.")
@click.option("--instructions", "counted", is_flag=True, help="Count instructions (needs Valgrind), not seconds.")
@click.option("--sink", type=click.Choice(["file", "kafka"]), default="file", help="Where messages go.")
def main(rounds: int | None, scale: float, counted: bool, sink: str) -> None:
    """Measures what the ledger adds to an event of MySQL, as messages in JSON."""
    folder = Path(tempfile.mkdtemp(prefix="cdckit-ledger-"))
    console = Console(width=120)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        target: Target = FileTarget()
        if sink == "kafka":
            target = stack.enter_context(closing(KafkaTarget(stack.enter_context(KafkaBroker()))))
        warm = stack.enter_context(Warm(sys.executable, folder, counted=counted))
        found = []
        times = rounds or (1 if counted else ROUNDS)
        for one in measured(warm, target, folder / "runs", scale, rounds=times, counted=counted):
            console.print(f"[dim]{one.scenario}, {one.system}: {one.cpu_us:,.2f}[/]")
            found.append(one)
        console.print(compared(found, "Instructions" if counted else "CPU µs"))


if __name__ == "__main__":
    main()
