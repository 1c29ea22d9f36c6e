"""What changes of rows all over a table cost its mirror."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks import workload
from benchmarks.measured import Measured
from benchmarks.pipelines import Cdckit, Pipeline
from benchmarks.usage import Usage, run
from testkit.servers.mysql import MySQLServer

CHANGES = "mirror, changes all over a table ten times as large"
TABLE = "mirrored"
_STATEMENT = 100
"""So many rows a statement changes."""


def measure(
    server: MySQLServer,
    system: Cdckit,
    folder: Path,
    rows: int,
    changed: int,
    measured: Callable[[Sequence[str], Path], Usage] = run,
) -> Measured:
    """Rows are mirrored, some of them changed while the pipeline is down, and caught up with in one run.

    The same run without changes is what a start takes.
    """
    workload.create(server, TABLE)
    workload.write(server, workload.inserts(0, rows, 500, TABLE))
    pipeline = Pipeline(folder / system.name.replace(" ", "-"), server, TABLE, system.options)
    pipeline.write()
    _caught_up(system, pipeline, rows, measured)
    start = _caught_up(system, pipeline, rows, measured)
    workload.write(server, _updates(rows, changed), together=True)
    return Measured(CHANGES, system.name, changed, _caught_up(system, pipeline, rows, measured), start)


def _caught_up(
    system: Cdckit, pipeline: Pipeline, rows: int, measured: Callable[[Sequence[str], Path], Usage]
) -> Usage:
    used = measured(system.command(pipeline, "--once"), pipeline.log)
    found = system.target.count(pipeline.place)
    if found != rows:
        raise AssertionError(f"the mirror has {found} rows, and {rows} were expected")
    return used


def _updates(rows: int, changed: int) -> Iterator[str]:
    """One transaction's statements, so that all changes are one batch or few."""
    ids = random.Random(1).sample(range(rows), changed)
    for begin in range(0, changed, _STATEMENT):
        some = ",".join(map(str, ids[begin : begin + _STATEMENT]))
        yield f"UPDATE {workload.DATABASE}.{TABLE} SET big = big + 1 WHERE id IN ({some})"
