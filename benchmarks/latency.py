"""How long after its commit a change has arrived, and how soon after its start the first event has."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import workload
from benchmarks.pipelines import Cdckit, Pipeline
from benchmarks.usage import Tree
from testkit.servers.mysql import MySQLServer
from testkit.servers.process import tail

TABLE = "live"
START_SECONDS = 400.0
SETTLE_SECONDS = 2.0
LATE_SECONDS = 120.0
"""How long after the last commit its event is waited for."""
WARM_UP_SECONDS = 3.0
"""Of commits that do not count."""


@dataclass(frozen=True, slots=True)
class Latency:
    """What a following pipeline is like.

    Attributes:
        system: which one.
        rate: commits a second.
        p50: milliseconds from commit to arrival, in the median.
        p99: the same for the slowest hundredth.
        first_event: seconds from start to the first event.
        idle_share: CPU while nothing changes, as a share of one core.
        busy_share: CPU while commits come at that rate.
    """

    system: str
    rate: float
    p50: float
    p99: float
    first_event: float
    idle_share: float
    busy_share: float = 0.0


def measure(
    server: MySQLServer,
    system: Cdckit,
    folder: Path,
    *,
    commits: int,
    rate: float,
    idle_seconds: float,
    rows: int = 1,
) -> Latency:
    """Runs a pipeline beside a writer of commits of a few rows."""
    workload.create(server, TABLE)
    workload.write(server, workload.inserts(0, 1, table=TABLE))
    pipeline = Pipeline(folder / system.name.replace(" ", "-"), server, TABLE, system.options)
    started = time.perf_counter()
    with system.running(pipeline) as tree:
        tree.wait_until(lambda: system.target.count(pipeline.place) > 0, START_SECONDS, 0.002)
        first = time.perf_counter() - started
        time.sleep(SETTLE_SECONDS)
        idle = _idle_share(tree, idle_seconds)
        cpu, started = tree.cpu(), time.perf_counter()
        ordered = sorted(_commit_and_watch(server, system, pipeline, commits, rate, rows))
        busy = (tree.cpu() - cpu) / (time.perf_counter() - started)
    return Latency(system.name, rate, _quantile(ordered, 0.5), _quantile(ordered, 0.99), first, idle, busy)


def _idle_share(tree: Tree, seconds: float) -> float:
    before = tree.cpu()
    time.sleep(seconds)
    return (tree.cpu() - before) / seconds


def _quantile(ordered: list[float], share: float) -> float:
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def _commit_and_watch(
    server: MySQLServer, system: Cdckit, pipeline: Pipeline, commits: int, rate: float, rows: int
) -> list[float]:
    """The milliseconds that each of `commits` commits took to arrive."""
    unmeasured = int(WARM_UP_SECONDS * rate)
    wanted = unmeasured + commits
    committed: dict[int, float] = {}
    writer = threading.Thread(target=_commit, args=(server, wanted, rate, rows, committed))
    arrivals = system.target.arrivals(pipeline.place)
    next(arrivals)
    seen: dict[int, float] = {}
    writer.start()
    deadline = time.monotonic() + wanted / rate + LATE_SECONDS
    for ids in arrivals:
        now = time.perf_counter()
        seen.update((number, now) for number in ids if number not in seen)
        if len(seen) >= wanted * rows or time.monotonic() > deadline:
            break
    writer.join()
    if len(seen) < wanted * rows:
        raise AssertionError(f"{len(seen)} of {wanted * rows} rows arrived; {system.name} says:\n{tail(pipeline.log)}")
    return [max(0.0, seen[number] - at) * 1000 for number, at in committed.items() if number > unmeasured * rows]


def _commit(server: MySQLServer, commits: int, rate: float, rows: int, committed: dict[int, float]) -> None:
    connection = server.connect()
    begin = time.perf_counter()
    with connection.cursor() as cursor:
        for number, statement in enumerate(workload.inserts(1, commits * rows, rows, TABLE), 1):
            time.sleep(max(0.0, begin + number / rate - time.perf_counter()))
            cursor.execute(statement)
            committed[number * rows] = time.perf_counter()
    connection.close()
