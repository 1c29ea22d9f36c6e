"""What planning ranges of the log costs, without Spark: `python -m benchmarks.planning [--beside TREE]`.

A backlog is cut into batches, each is planned, and its splits are read from their pickles by sources that know nothing
else, as the Spark runner does it. TREE is a checkout of another revision, which does the same on the same log.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks import workload
from benchmarks.pipelines import PASSWORD, USER
from testkit.servers.mysql import MySQLServer

ROOT = Path(__file__).parents[1]
ROOTS = ("core", "plugins", "sinks", "transforms")
COLUMNS = ("", "log, MB", "sent / log", "largest split, bytes", "splits", "CPU s planning", "a GB", "CPU s reading",
           "longest split", "wait s")  # fmt: skip


def _child(tree: Path, what: str, *values: object) -> Any:
    """Does a part in a process of its own, with a revision's packages."""
    path = os.pathsep.join(str(tree / root) for root in ROOTS)
    command = [sys.executable, str(ROOT / "benchmarks" / "planned.py"), what, *map(str, values)]
    environment = {**os.environ, "PYTHONPATH": path}
    found = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, cwd=tree)
    return json.loads(found.stdout)


def _sent(server: MySQLServer) -> int:
    """How much the server has sent, to dump threads that are gone since, too."""
    while server.execute("SELECT COUNT(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'")[0][0]:
        time.sleep(0.1)
    return int(server.execute("SHOW GLOBAL STATUS LIKE 'Bytes_sent'")[0][1])


@click.command()
@click.option("--rows", default=400_000, help="How many rows the backlog inserts, 100 a statement.")
@click.option("--tables", default=0, help="How many other tables are captured.")
@click.option("--together", is_flag=True, help="The backlog is a single transaction.")
@click.option("--metadata", is_flag=True, help="Transaction metadata are told.")
@click.option("--ddl", is_flag=True, help="A column is added in mid-backlog, and table marks are told.")
@click.option("--beside", type=click.Path(path_type=Path), help="A checkout of the revision to compare with.")
def main(rows: int, tables: int, together: bool, metadata: bool, ddl: bool, beside: Path | None) -> None:
    """Measures planning."""
    trees = [*([("before", beside.absolute())] if beside is not None else []), ("now", ROOT)]
    shown = Table(title=f"{rows:,} rows, {tables:,} other tables", box=SIMPLE_HEAD)
    for column in COLUMNS:
        shown.add_column(column, justify="right")
    with MySQLServer() as server, tempfile.TemporaryDirectory(prefix="cdckit-planning-") as folder:
        server.create_user(USER, PASSWORD)
        workload.create(server)
        for name, tree in trees:
            _child(tree, "prepare", Path(folder) / name, server.port, tables)
        first = rows // 2 if ddl else rows
        workload.write(server, workload.inserts(0, first), together=together)
        if ddl:
            server.execute(f"ALTER TABLE {workload.DATABASE}.t ADD COLUMN added INT")
            workload.write(server, workload.inserts(first, rows - first), together=together)
        for name, tree in trees:
            before = _sent(server)
            found = _child(tree, "measure", Path(folder) / name, server.port, int(metadata), int(ddl))
            if found["records"] != rows:
                raise AssertionError(f"{name}: {found['records']} records of {rows} rows")
            sent = (_sent(server) - before) / found["log"]
            per_gb = f"{found['planning'] / found['log'] * 1e9:.1f}"
            planning, *cpu = (f"{found[part]:.2f}" for part in ("planning", "reading", "longest", "waited"))
            sizes = f"{found['log'] / 1e6:.0f}", f"{sent:.2f}", f"{found['split']:,}", str(found["splits"])
            shown.add_row(name, *sizes, planning, per_gb, *cpu)
    Console(width=120).print(shown)


if __name__ == "__main__":
    main()
