"""What `cdc diff` takes: `python -m benchmarks.proof [--rows 1000000] [--sink file]…`."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from benchmarks.usage import Usage, run
from testkit.running import create_reader, source_of
from testkit.servers.mysql import MySQLServer

_DATABASE = "proof"
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
    "--sink", "sinks", multiple=True, type=click.Choice(["file", "delta", "mirror"]), default=["file", "delta"]
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
    }
    file = folder / "pipeline.json"
    content = {
        "state": str(folder / "state"),
        "runner": "spark" if sink == "mirror" else "direct",
        "serializer": {"schemas.enable": False},
        "source": source_of(server, _DATABASE),
        "sink": sinks[sink],
    }
    file.write_text(json.dumps(content))
    run([sys.executable, "-m", "cdckit", "run", str(file), "--once"], folder / "run.log")
    return run([sys.executable, "-m", "cdckit", "diff", str(file)], folder / "diff.log")


if __name__ == "__main__":
    main()
