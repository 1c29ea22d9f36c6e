"""Two revisions of cdckit beside each other: `python -m benchmarks.revisions BEFORE [AFTER]`.

Both do the same work in turn, in one run on the same servers, each in children of one process that has cdckit loaded
(`benchmarks/warm.py`). Seconds of CPU move with what else the machine does, so that many rounds are needed; with
`--instructions` that process runs in Valgrind, which counts what it executes: that hardly moves, whatever else runs,
but says nothing of memory, the kernel or waiting.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from sysconfig import get_path

import click
from packaging.requirements import Requirement
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.measured import Measured
from benchmarks.mongodb import MongoBench
from benchmarks.pipelines import PASSWORD, USER, Cdckit
from benchmarks.targets import FileTarget
from benchmarks.throughput import Bench, CatchUp
from benchmarks.warmed import Warm
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql import MySQLServer

ROOT = Path(__file__).parents[1]
ROUNDS = 7


@contextmanager
def installed(revision: str, folder: Path) -> Iterator[str]:
    """A revision with the requirements that it locks; gives the path of its Python."""
    tree = folder / revision.replace("/", "-")
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, revision], cwd=ROOT, check=True)
    try:
        python = tree / ".venv" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", tree / ".venv"], check=True)
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
        if _here(tree / "requirements.lock"):
            (site,) = (tree / ".venv" / "lib").glob("python*/site-packages")
            (site / "requirements.pth").write_text(get_path("purelib"))
        else:
            subprocess.run([*pip, "--requirement", "requirements.lock"], cwd=tree, check=True)
        subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--editable", "."], cwd=tree, check=True)
        yield str(python)
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


def _here(lock: Path) -> bool:
    """Whether all that is locked is installed here, in the very version."""
    pinned = (Requirement(line) for line in lock.read_text().splitlines() if line[:1].isalnum())
    try:
        return all(version(one.name) in one.specifier for one in pinned if one.marker is None or one.marker.evaluate())
    except PackageNotFoundError:
        return False


def systems(warm: Sequence[Warm], rounds: int) -> list[CatchUp]:
    """Each revision in turn, `rounds` times; a system's name is the revision's number and the round's."""
    numbered = list(enumerate(warm))
    return [
        CatchUp(Cdckit(f"{number}-{turn}", FileTarget()), each.run)
        for turn in range(rounds)
        for number, each in numbered
    ]


def measured(warm: Sequence[Warm], folder: Path, scale: float, *, rounds: int, starts: int) -> Iterator[Measured]:
    """What each revision takes for MySQL's snapshot and streams, and for MongoDB's."""
    turns = systems(warm, rounds)
    loading = [CatchUp(Cdckit(f"loading-{number}", FileTarget()), each.load) for number, each in enumerate(warm)]
    with MySQLServer() as mysql:
        mysql.create_user(USER, PASSWORD)
        Bench(mysql, loading, folder, starts=1)
        bench = Bench(mysql, turns, folder, starts)
        yield from bench.snapshot(int(100_000 * scale))
        yield from bench.bulk(int(80_000 * scale), int(20_000 * scale))
        yield from bench.single(int(20_000 * scale))
    with MongoReplicaSet() as mongo:
        MongoBench(mongo, loading, folder / "mongodb")
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
@click.option("--rounds", type=int, help=f"How often each revision does the work ({ROUNDS}; where counted, once).")
@click.option("--scale", default=1.0, help="Multiplies the number of rows.")
@click.option("--instructions", "counted", is_flag=True, help="Count instructions (needs Valgrind), not seconds.")
def main(before: str, after: str, rounds: int | None, scale: float, counted: bool) -> None:
    """Measures two revisions beside each other: CPU an event of each."""
    folder = Path(tempfile.mkdtemp(prefix="cdckit-revisions-"))
    console = Console(width=120)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        pythons = [stack.enter_context(installed(each, folder)) for each in (before, after)]
        warm = [stack.enter_context(Warm(python, folder, counted=counted)) for python in pythons]
        found = []
        times = rounds or (1 if counted else ROUNDS)
        for one in measured(warm, folder / "runs", scale, rounds=times, starts=1 if counted else 3):
            console.print(f"[dim]{one.scenario}, {(before, after)[int(one.system[0])]}: {one.cpu_us:,.2f}[/]")
            found.append(one)
        console.print(compared(found, "Instructions" if counted else "CPU µs"))


if __name__ == "__main__":
    main()
