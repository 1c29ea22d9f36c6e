"""How long after its commit a change stands in the file, and how soon after its start the first event does."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import workload
from benchmarks.pipelines import Pipeline
from benchmarks.usage import Tree, wait_until
from servers.mysql import MySQLServer

_ID = re.compile(rb'"key":\{"id":(\d+)\}')


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from commit to file, the start-up in seconds, and idle CPU as a share of one core."""

    p50: float
    p99: float
    first_event: float
    idle_share: float


def measure(server: MySQLServer, folder: Path, commits: int = 2000, rate: float = 200.0) -> Latency:
    """Runs the pipeline on the direct runner beside a writer of single-row commits."""
    workload.create(server, "live")
    workload.write(server, workload.inserts(0, 1, table="live"))
    options = (("table.include.list", f"{workload.DATABASE}.live"), ("key.converter.schemas.enable", "false"))
    pipeline = Pipeline(folder, server, options)
    started = time.perf_counter()
    with _running(pipeline) as process:
        wait_until(lambda: _size(pipeline.output) > 0, 30, 0.002)
        first = time.perf_counter() - started
        time.sleep(1.5)
        tree = Tree(process.pid)
        before = tree.cpu()
        time.sleep(4)
        idle = (tree.cpu() - before) / 4
        latencies = _commit_and_watch(server, pipeline.output, commits, rate)
    ordered = sorted(latencies)
    return Latency(statistics.median(ordered), ordered[int(len(ordered) * 0.99)], first, idle)


@contextmanager
def _running(pipeline: Pipeline) -> Iterator[subprocess.Popen[bytes]]:
    command = pipeline.cdc()
    with (pipeline.folder / "run.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def _commit_and_watch(server: MySQLServer, output: Path, commits: int, rate: float) -> list[float]:
    committed: dict[int, float] = {}
    writer = threading.Thread(target=_commit, args=(server, commits, rate, committed))
    seen: dict[int, float] = {}
    with output.open("rb") as file:
        file.seek(0, os.SEEK_END)
        writer.start()
        deadline = time.monotonic() + commits / rate + 30
        while len(seen) < commits and time.monotonic() < deadline:
            lines = file.read()
            now = time.perf_counter()
            if not lines:
                time.sleep(0.0005)
            for found in _ID.findall(lines):
                seen.setdefault(int(found), now)
    writer.join()
    if len(seen) < commits:
        raise AssertionError(f"only {len(seen)} of {commits} commits were seen")
    return [max(0.0, seen[n] - at) * 1000 for n, at in committed.items()]


def _commit(server: MySQLServer, commits: int, rate: float, committed: dict[int, float]) -> None:
    connection = server.connect()
    begin = time.perf_counter()
    with connection.cursor() as cursor:
        for n, statement in enumerate(workload.inserts(1, commits, 1, "live")):
            time.sleep(max(0.0, begin + n / rate - time.perf_counter()))
            cursor.execute(statement)
            committed[n + 1] = time.perf_counter()
    connection.close()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
