"""Two revisions of cdckit beside each other: `python -m benchmarks.revisions BEFORE [AFTER]`.

Both do the same work in turn, in one run on the same servers. Seconds of CPU move with what else the machine does, so
that many rounds are needed; with `--instructions` each process runs in Valgrind, which counts what it executes: that
hardly moves, whatever else runs, but says nothing of memory, the kernel or waiting.
"""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.measured import Measured
from benchmarks.mongodb import MongoBench
from benchmarks.pipelines import PASSWORD, USER, Cdckit
from benchmarks.targets import FileTarget
from benchmarks.throughput import Bench, CatchUp
from benchmarks.usage import Usage, run
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql import MySQLServer

ROOT = Path(__file__).parents[1]
VALGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
_COUNTED = re.compile(rb"I\s+refs:\s+([\d,]+)")


def instructions(command: Sequence[str], log: Path) -> Usage:
    """Runs a command to its end in Valgrind; its cost is instructions, in millions, in the place of seconds."""
    used = run([*VALGRIND, *command], log, {"PYTHONHASHSEED": "0"})
    counted = _COUNTED.search(log.read_bytes())
    if counted is None:
        raise RuntimeError(f"Valgrind told no number of instructions: {log}")
    return Usage(int(counted[1].replace(b",", b"")) / 1e6, used.wall, used.rss)


@contextmanager
def installed(revision: str, folder: Path) -> Iterator[str]:
    """A revision with the requirements that it locks; gives the path of its Python."""
    tree = folder / revision.replace("/", "-")
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, revision], cwd=ROOT, check=True)
    try:
        python = tree / ".venv" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", tree / ".venv"], check=True)
        for what in (["--requirement", "requirements.lock"], ["--no-deps", "--no-build-isolation", "--editable", "."]):
            subprocess.run([python, "-m", "pip", "install", "--quiet", *what], cwd=tree, check=True)
        yield str(python)
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


def systems(pythons: Iterable[str], rounds: int, *, counted: bool) -> list[CatchUp]:
    """Each revision in turn, `rounds` times; a system's name is the revision's number and the round's."""
    numbered = list(enumerate(pythons))
    return [
        CatchUp(Cdckit(f"{number}-{turn}", FileTarget(), python=python), instructions if counted else run)
        for turn in range(rounds)
        for number, python in numbered
    ]


def measured(turns: Sequence[CatchUp], folder: Path, scale: float, *, starts: int) -> Iterator[Measured]:
    """What each system takes for MySQL's snapshot and streams, and for MongoDB's."""
    with MySQLServer() as mysql:
        mysql.create_user(USER, PASSWORD)
        bench = Bench(mysql, turns, folder, starts)
        yield from bench.snapshot(int(100_000 * scale))
        yield from bench.bulk(int(80_000 * scale), int(20_000 * scale))
        yield from bench.single(int(20_000 * scale))
    with MongoReplicaSet() as mongo:
        yield from MongoBench(mongo, turns, folder / "mongodb").run(int(50_000 * scale))


def compared(found: Iterable[Measured], unit: str) -> Table:
    """The least and the median of both revisions, and how they differ."""
    costs: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in found:
        costs[one.scenario][one.system.partition("-")[0]].append(one.cpu_us)
    table = Table(title=f"{unit} an event", box=SIMPLE_HEAD)
    for column in ("scenario", "before: least", "median", "after: least", "median", "least", "median"):
        table.add_column(column, justify="left" if column == "scenario" else "right")
    for scenario, (before, after) in ((name, each.values()) for name, each in costs.items()):
        pairs = [(min(before), min(after)), (statistics.median(before), statistics.median(after))]
        figures = [f"{value:,.2f}" for old, new in zip(*pairs, strict=True) for value in (old, new)]
        changes = [f"{(new / old - 1):+.1%}" for old, new in pairs]
        table.add_row(scenario, *figures, *changes)
    return table


@click.command()
@click.argument("before")
@click.argument("after", default="HEAD")
@click.option("--rounds", default=7, help="How often each revision does the work.")
@click.option("--scale", default=1.0, help="Multiplies the number of rows.")
@click.option("--instructions", "counted", is_flag=True, help="Count instructions (needs Valgrind), not seconds.")
def main(before: str, after: str, rounds: int, scale: float, counted: bool) -> None:
    """Measures two revisions beside each other: CPU an event of each."""
    folder = Path(tempfile.mkdtemp(prefix="cdckit-revisions-"))
    try:
        with installed(before, folder) as old, installed(after, folder) as new:
            turns = systems((old, new), rounds, counted=counted)
            found = list(measured(turns, folder / "runs", scale, starts=1 if counted else 3))
        Console(width=120).print(compared(found, "Instructions" if counted else "CPU µs"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
