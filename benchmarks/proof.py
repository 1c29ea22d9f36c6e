"""What `cdc diff` takes: `python -m benchmarks.proof [--rows 1000000] [--sink file]…`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks.usage import CommandFailedError, Tree, Usage, run
from testkit.running import create_reader, source_of
from testkit.servers.mysql import MySQLServer
from testkit.servers.process import tail

_DATABASE = "proof"
_SECONDS = 0.1
_TABLE = """
create table {database}.items (
  id int primary key, name varchar(40), city varchar(30), price decimal(12,3), ratio double, bought datetime(6),
  sent timestamp(3) null, day date, n bigint, kind enum('a','b'))
"""
_FILL = """
insert into {database}.items with recursive s as (select 1 n union all select n + 1 from s where n < {rows})
select n, concat('name of ', n), concat('city ', n % 977), n / 8, n / 7, '2024-02-29 23:59:59.123456',
  '2024-06-01 12:00:00.250', '2024-03-01', n * 1000003, if(n % 2, 'a', 'b') from s
"""


@click.command()
@click.option("--rows", default=1_000_000, help="How many rows the table has.")
@click.option(
    "--sink",
    "sinks",
    multiple=True,
    type=click.Choice(["file", "delta", "mirror", "on-spark"]),
    default=["file", "delta"],
)
def main(rows: int, sinks: tuple[str, ...]) -> None:
    """Measures a proof that finds nothing, of one table of ten columns."""
    folder = Path(tempfile.mkdtemp(prefix="cdckit-proof-"))
    try:
        with MySQLServer() as server:
            server.execute(f"create database {_DATABASE}")
            server.execute(_TABLE.format(database=_DATABASE))
            server.run_sql(f"set cte_max_recursion_depth = {rows + 1}; {_FILL.format(database=_DATABASE, rows=rows)}")
            create_reader(server)
            for sink in sinks:
                print(_row(sink, rows, _proved(server, folder / sink, sink)), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _whole(command: Sequence[str], log: Path) -> Usage:
    """Runs a command that leaves its JVM behind; what that and Spark's workers used counts, and their memory."""
    begun, cpu, rss = time.perf_counter(), 0.0, 0.0
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT) as child:
        tree = Tree(child, log)
        while child.poll() is None:
            cpu, rss = max(cpu, tree.cpu()), max(rss, tree.rss())
            time.sleep(_SECONDS)
    if child.returncode:
        raise CommandFailedError(f"{' '.join(command)} exited with {child.returncode}:\n{tail(log)}")
    return Usage(cpu, time.perf_counter() - begun, rss)


def _row(sink: str, rows: int, usage: Usage) -> str:
    return (
        f"{sink:<8} {rows:>9,} rows  {usage.cpu:6.1f} s CPU  {usage.cpu / rows * 1e6:5.1f} s CPU a million rows  "
        f"{usage.wall:6.1f} s  {usage.rss:5.0f} MiB"
    )


def _proved(server: MySQLServer, folder: Path, sink: str) -> Usage:
    """Delivers all rows, and measures the proof alone."""
    folder.mkdir()
    sinks: Mapping[str, Mapping[str, Any]] = {
        "file": {"type": "file", "path": str(folder / "out.jsonl")},
        "delta": {"type": "delta", "mode": "mirror", "path": str(folder / "lake")},
        "mirror": {"type": "spark", "mode": "mirror", "path": str(folder / "lake")},
        "on-spark": {"type": "spark", "mode": "mirror", "path": str(folder / "lake")},
    }
    file = folder / "pipeline.json"
    content = {
        "state": str(folder / "state"),
        "runner": "spark" if sink in ("mirror", "on-spark") else "direct",
        "serializer": {"schemas.enable": False},
        "source": source_of(server, _DATABASE),
        "sink": sinks[sink],
    }
    file.write_text(json.dumps(content))
    run([sys.executable, "-m", "cdckit", "run", str(file), "--once"], folder / "run.log")
    diff = [sys.executable, "-m", "cdckit", "diff", str(file)]
    if sink == "on-spark":
        return _whole([*diff, "--on-spark"], folder / "diff.log")
    return run(diff, folder / "diff.log")


if __name__ == "__main__":
    main()
