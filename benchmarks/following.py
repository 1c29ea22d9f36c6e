"""A pipeline that has long been running takes a backlog: the same measure for both runners."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks import workload
from benchmarks.measured import Measured
from benchmarks.pipelines import Cdckit, Pipeline
from benchmarks.usage import Tree, Usage
from testkit.servers.mysql import MySQLServer

WARM = "warm, 100 rows a statement"
WARM_UPS = 2
"""How many loads of the same size pass before the one that counts."""
SECONDS = 300.0
"""How long a load may take."""


def measure(server: MySQLServer, system: Cdckit, folder: Path, inserted: int, updated: int) -> Measured:
    """What the last of several equal loads takes, from a running pipeline and all its processes.

    The pipeline is halted while a load is written, so that it meets it as a backlog.
    """
    table = "warm"
    workload.create(server, table)
    workload.write(server, workload.inserts(0, 1, table=table))
    pipeline = Pipeline(folder / system.name.replace(" ", "-"), server, table, system.options)
    delivered = 1
    with system.running(pipeline) as tree:
        tree.wait_until(lambda: system.target.count(pipeline.place) >= 1, SECONDS)
        for turn in range(WARM_UPS + 1):
            with tree.halted():
                workload.write(server, workload.bulk(table, 1 + turn * inserted, inserted, updated))
            delivered += inserted + updated
            used = _taken(tree, system, pipeline, delivered)
    return Measured(WARM, system.name, inserted + updated, used, Usage(0, 0, 0))


def _taken(tree: Tree, system: Cdckit, pipeline: Pipeline, expected: int) -> Usage:
    """What it takes until the target holds `expected` events."""
    peak = 0.0
    cpu, start = tree.cpu(), time.perf_counter()

    def done() -> bool:
        nonlocal peak
        peak = max(peak, tree.rss())
        return system.target.count(pipeline.place) >= expected

    tree.wait_until(done, SECONDS, 0.1)
    wall = time.perf_counter() - start
    time.sleep(1)  # what follows a delivery belongs to it: acknowledgements, commits, the saved offset
    return Usage(tree.cpu() - cpu, wall, peak)
