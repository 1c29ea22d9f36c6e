"""The main job from end to end: a live shop database, its changes as events, and its tables mirrored into Delta."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from rich.console import Console
from rich.table import Table

from testkit.servers.mysql import MySQLServer

HERE = Path(__file__).parent
TABLES = ("customers", "orders_1", "orders_2")
USER, PASSWORD = "cdc", "demo"
console = Console(width=120, highlight=False)


def main() -> None:
    """Runs the demo in a folder of its own, which it removes at the end."""
    folder = Path(tempfile.mkdtemp(prefix="cdckit-demo-"))
    began = time.perf_counter()
    try:
        with step("start MySQL with the sample shop"):
            server = MySQLServer().start()
            server.run_sql_file(HERE / "shop.sql")
            server.create_user(USER, PASSWORD)
        with server:
            capture(server, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    console.print(f"[bold]done in {time.perf_counter() - began:.1f} s[/]; nothing is left running")


def capture(server: MySQLServer, folder: Path) -> None:
    """Runs both pipelines beside the workload and shows what they made of it."""
    events, lake = folder / "events.jsonl", folder / "lake"
    with pipeline("events.yaml", server, folder), pipeline("mirror.yaml", server, folder):
        with step("snapshot as events (direct runner)"):
            wait_until(lambda: len(lines(events)) >= 7, folder)
        with step("snapshot mirrored into Delta (Spark starts, Spark reads in parallel)"):
            wait_until(lambda: all(mirrored(server, lake, table) for table in TABLES), folder)
        before = len(lines(events))
        with step("change rows, delete one, add a column"):
            server.run_sql_file(HERE / "changes.sql")
        with step("changes as events"):
            wait_until(lambda: len(lines(events)) >= before + 8, folder)
        with step("Delta tables equal to the source again"):
            wait_until(lambda: all(mirrored(server, lake, table) for table in TABLES), folder)
    show_events(lines(events))
    for table in TABLES:
        show_table(lake, table)


@contextmanager
def step(what: str) -> Iterator[None]:
    """Says how long a step took."""
    start = time.perf_counter()
    yield
    console.print(f"[green]✓[/] {what} [dim]{time.perf_counter() - start:.1f} s[/]")


@contextmanager
def pipeline(file: str, server: MySQLServer, folder: Path) -> Iterator[None]:
    """`cdc run FILE` until the block ends, then SIGTERM: it finishes the batch in hand and saves its offset."""
    environment = {
        **os.environ,
        "DEMO_FOLDER": str(folder),
        "MYSQL_PORT": str(server.port),
        "MYSQL_USER": USER,
        "MYSQL_PASSWORD": PASSWORD,
    }
    command = [sys.executable, "-m", "cdckit", "run", str(HERE / file)]
    console.print(f"[dim]$ cdc run examples/demo/{file}[/]")
    with (folder / f"{file}.log").open("wb") as log:
        process = subprocess.Popen(command, stderr=log, env=environment)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        if process.wait(60) != 0:
            sys.stderr.write((folder / f"{file}.log").read_text()[-3000:])


def wait_until(done: Callable[[], bool], folder: Path, seconds: float = 180) -> None:
    """Waits; when it takes too long, the pipelines' logs say why."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            for log in folder.glob("*.log"):
                sys.stderr.write(f"{log.name}:\n{log.read_text()[-3000:]}\n")
            raise SystemExit(f"not done after {seconds:.0f} s")
        time.sleep(0.1)


def lines(path: Path) -> list[str]:
    """The whole lines of a file that may still grow."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return text[: text.rfind("\n") + 1].splitlines()


def mirrored(server: MySQLServer, lake: Path, table: str) -> bool:
    """Whether the Delta table has the rows of the source's, column by column."""
    columns = [row[0] for row in server.execute(f"SHOW COLUMNS FROM shop.{table}")]
    source = server.execute(f"SELECT {', '.join(columns)} FROM shop.{table} ORDER BY id")
    return rows(lake, table, columns) == [tuple(map(str, row)) for row in source]


def rows(lake: Path, table: str, columns: list[str] | None = None) -> list[tuple[str, ...]] | None:
    """The rows of a mirrored table by key, as text; None while it is not there or lacks a column."""
    try:
        found = DeltaTable(str(lake / f"demo.shop.{table}")).to_pyarrow_table().sort_by("id")
    except TableNotFoundError:
        return None
    names = columns or found.column_names
    if not set(names) <= set(found.column_names):
        return None
    return [tuple(map(str, row)) for row in zip(*(found[name].to_pylist() for name in names), strict=True)]


def show_events(events: list[str]) -> None:
    """Prints the events, a line each."""
    table = Table(title=f"{len(events)} events (the file sink's JSON lines, shortened)", box=None)
    for column in ("topic", "key", "op", "before", "after"):
        table.add_column(column, overflow="fold")
    for line in events:
        event: dict[str, Any] = json.loads(line)
        value = event["value"] or {"op": "tombstone", "before": None, "after": None}
        table.add_row(
            event["topic"], _short(event["key"]), value["op"], _short(value["before"]), _short(value["after"])
        )
    console.print(table)


def _short(value: dict[str, Any] | None) -> str:
    return "" if value is None else " ".join(str(part) for part in value.values())


def show_table(lake: Path, name: str) -> None:
    """Prints a mirrored table."""
    found = DeltaTable(str(lake / f"demo.shop.{name}"))
    columns = [name for name in found.to_pyarrow_table().column_names if not name.startswith("__")]
    table = Table(title=f"Delta table demo.shop.{name}, version {found.version()}", box=None)
    for column in columns:
        table.add_column(column)
    for row in rows(lake, name, columns) or []:
        table.add_row(*row)
    console.print(table)


if __name__ == "__main__":
    main()
