"""How long pipelines over many tables take on Spark: `python -m benchmarks.many_captured`.

A real server, and `cdc run` as a process of its own. From the command to rows and changes in the lake, at the first
start, whose snapshot looks at all tables, and at a second one; and from the commit of a transaction that changes many
tables until the last of them has it.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from operator import ge
from pathlib import Path
from typing import NamedTuple

import click
from rich.console import Console
from rich.table import Table

from benchmarks import workload
from benchmarks.many_tables import MODES, Mode
from benchmarks.pipelines import PASSWORD, USER, Cdckit, Pipeline
from benchmarks.report import machine
from benchmarks.targets import DeltaTarget
from benchmarks.usage import Tree
from benchmarks.workload import DATABASE
from testkit.servers.mysql import MySQLServer

LONGEST = 450.0
"""So many seconds are waited for anything."""
_POLL = 0.1
_LAST = 1_000_000
"""The row that is added while the pipeline is stopped."""


class Cost(NamedTuple):
    """Seconds on the clock and of CPU: of the pipeline's processes, without the server's."""

    mode: Mode
    what: str
    wall: float
    cpu: float


@click.command()
@click.option("--captured", default=5000, show_default=True, help="How many tables there are.")
@click.option("--active", default=500, show_default=True, help="How many of them change in a batch.")
@click.option("--rows", default=100, show_default=True, help="How many rows of each the last batch adds, by turns.")
@click.option("--mode", "modes", multiple=True, type=click.Choice(MODES), default=MODES, help="All by default.")
def main(captured: int, active: int, rows: int, modes: tuple[Mode, ...]) -> None:
    """Makes the tables, and measures."""
    report = Table(title=f"{captured:,} captured tables ({machine()}; load {os.getloadavg()[0]:.0f})")
    for column in ("mode", "", "seconds", "CPU s"):
        report.add_column(column, justify="right" if "s" in column[-1:] else "left")
    with MySQLServer().start() as server, tempfile.TemporaryDirectory(prefix="cdckit-bench-") as folder:
        server.create_user(USER, PASSWORD)
        made = time.perf_counter()
        names = [f"t{number}" for number in range(captured)]
        workload.write(server, _creating(names))
        Console(stderr=True).print(f"{captured} tables made in {time.perf_counter() - made:.0f} s")
        for mode in modes:
            for cost in _Measured(server, Path(folder) / mode, mode, names[:active], rows).costs():
                report.add_row(mode, cost.what, f"{cost.wall:.1f}", f"{cost.cpu:.1f}")
                Console(stderr=True).print(*cost)
            workload.write(server, (f"TRUNCATE TABLE {DATABASE}.{name}" for name in names[:active]))
    Console().print(report)


def _creating(names: Iterable[str]) -> Iterator[str]:
    yield f"CREATE DATABASE {DATABASE}"
    yield from (workload.CREATE.format(table=f"{DATABASE}.{name}") for name in names)


class _Measured:
    """One pipeline."""

    def __init__(self, server: MySQLServer, folder: Path, mode: Mode, active: list[str], rows: int) -> None:
        self._server, self._mode, self._active, self._rows = server, mode, active, rows
        self._target = DeltaTarget(mode=mode)
        self._system = Cdckit("many tables", self._target, "spark")
        self._pipeline = Pipeline(folder, server, "t.*")
        self._logs = [folder / "lake" / f"{mode}.{DATABASE}.{name}" / "_delta_log" for name in active]

    def costs(self) -> Iterator[Cost]:
        """All of it, from the first start on."""
        count, every, first = len(self._active), self._rows, self._active[:1]
        self._insert(self._active, 1)
        with self._started() as (tree, since):
            yield self._cost(tree, "first start: a table has its row", since, [1])
            self._insert(first, 2)
            yield self._cost(tree, f"… {count} have theirs", since, [1] * count)
            yield self._cost(tree, "… and a first change of the log is there", since, [2])
            wanted, before = [version + 1 for version in self._versions(count)], tree.cpu()
            self._write(f"UPDATE {DATABASE}.{name} SET name = 'changed' WHERE id = 1" for name in self._active)
            yield self._cost(tree, f"a row of each of {count} changed", time.perf_counter(), wanted, before)
            wanted, before = [version + 1 for version in self._versions(count)], tree.cpu()
            self._insert(self._active, 3, every)
            yield self._cost(tree, f"{every} rows each for {count}", time.perf_counter(), wanted, before)
        [newest] = self._versions(1)
        self._insert(first, _LAST)
        with self._started() as (tree, since):
            yield self._cost(tree, "started again: a change is there", since, [newest + 1])
        self._check(count + 1 + count * every + 1)

    def _insert(self, names: list[str], first: int, each: int = 1) -> None:
        numbers = range(first, first + each)
        self._write(chain.from_iterable(workload.inserts(n, 1, table=name) for n in numbers for name in names))

    def _write(self, statements: Iterable[str]) -> None:
        workload.write(self._server, statements, together=True)

    @contextmanager
    def _started(self) -> Iterator[tuple[Tree, float]]:
        begun = time.perf_counter()
        with self._system.running(self._pipeline) as tree:
            yield tree, begun

    def _cost(self, tree: Tree, what: str, since: float, wanted: list[int], before: float = 0.0) -> Cost:
        """Until the first tables have come to some versions."""

        def reached() -> bool:
            return all(map(ge, self._versions(len(wanted)), wanted))

        tree.wait_until(reached, LONGEST, _POLL)
        return Cost(self._mode, what, time.perf_counter() - since, tree.cpu() - before)

    def _versions(self, count: int) -> list[int]:
        """The newest version of each of the first tables; the first one, 0, has no rows."""
        return [max((int(file.stem) for file in log.glob("*[0-9].json")), default=0) for log in self._logs[:count]]

    def _check(self, inserted: int) -> None:
        """Sees that nothing lacks: a mirror has all rows, a changelog these and what has changed them."""
        wanted = inserted + (len(self._active) if self._mode == "changelog" else 0)
        if (found := self._target.count(self._pipeline.place)) != wanted:
            raise AssertionError(f"{found} rows in the lake, and not {wanted}")


if __name__ == "__main__":
    main()
