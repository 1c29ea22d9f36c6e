"""A large table, and a long backlog with changes of its definition: `python -m benchmarks.large [--rows 10000000]…`.

A snapshot of the table, then changes of as many rows as asked, among them three changes of its definition, while the
pipeline is away, then these. Whether the lake's table equals the source's is judged twice: by `cdc diff`, and by a sum
over all rows that the server and Spark make on their own.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
from pyspark.sql import Row
from rich.console import Console
from rich.table import Table

from benchmarks.report import machine
from benchmarks.usage import Usage, run
from cdckit.engine.spark.session import start_session
from testkit.running import create_reader, source_of
from testkit.servers.mysql import MySQLServer

_DATABASE = "large"
_EVERY = 1000
"""So many rows a statement changes."""
_TABLE = f"CREATE TABLE {_DATABASE}.items (id INT PRIMARY KEY, name VARCHAR(40), price DECIMAL(12,3), n INT, city TEXT)"
_FILL = f"""
INSERT INTO {_DATABASE}.items WITH RECURSIVE s AS (SELECT {{first}} n UNION ALL SELECT n + 1 FROM s WHERE n < {{last}})
SELECT n, CONCAT('name of ', n), n / 8, n % 1000003, CONCAT('city ', n % 977) FROM s
"""
_DEFINITIONS = (
    f"ALTER TABLE {_DATABASE}.items ADD COLUMN kind VARCHAR(10) NOT NULL DEFAULT 'plain'",
    f"ALTER TABLE {_DATABASE}.items MODIFY n BIGINT",
    f"ALTER TABLE {_DATABASE}.items ADD COLUMN note TEXT",
)
_SUM = "SELECT COUNT(*), SUM(CRC32(CONCAT_WS('|', id, name, price, n, city, kind))) FROM"


@click.command()
@click.option("--rows", default=10_000_000, show_default=True, help="How many rows the table has.")
@click.option("--changes", default=5_000_000, show_default=True, help="How many of them change meanwhile.")
@click.option("--runner", type=click.Choice(["spark", "direct"]), default="spark", show_default=True)
@click.option("--sink", type=click.Choice(["spark", "delta"]), default="spark", show_default=True)
def main(rows: int, changes: int, runner: str, sink: str) -> None:
    """Measures, and compares."""
    report = Table(title=f"runner {runner}, sink {sink}, mode mirror ({machine()})")
    for column in ("", "rows", "seconds", "CPU s", "MiB"):
        report.add_column(column, justify="right" if column else "left")
    with MySQLServer().start() as server, tempfile.TemporaryDirectory(prefix="cdckit-large-") as made:
        folder = Path(made)
        file = _pipeline(server, folder, runner, sink)
        _fill(server, rows)
        report.add_row(*_line("snapshot", rows, _cdc(folder, "run", str(file), "--once")))
        server.run_sql(";\n".join(_changes(rows, changes)))
        report.add_row(*_line("backlog", changes, _cdc(folder, "run", str(file), "--once")))
        report.add_row(*_line("cdc diff", rows, _cdc(folder, "diff", str(file))))
        told = f"{_equal_sum(server, folder)}; `cdc diff` finds no difference"
    Console().print(report)
    Console().print(told)


def _pipeline(server: MySQLServer, folder: Path, runner: str, sink: str) -> Path:
    server.execute(f"CREATE DATABASE {_DATABASE}")
    server.execute(_TABLE)
    create_reader(server)
    file = folder / "pipeline.json"
    content = {
        "state": str(folder / "state"),
        "runner": runner,
        "source": source_of(server, _DATABASE),
        "sink": {"type": sink, "mode": "mirror", "path": str(folder / "lake")},
    }
    file.write_text(json.dumps(content))
    return file


def _fill(server: MySQLServer, rows: int) -> None:
    starts = range(1, rows + 1, 500_000)
    fills = (_FILL.format(first=first, last=min(first + 499_999, rows)) for first in starts)
    server.run_sql(f"SET cte_max_recursion_depth = 500000; {';'.join(fills)}")


def _changes(rows: int, changes: int) -> Iterator[str]:
    """Statements of 1,000 rows each over the whole table, the definitions among them; one in ten deletes."""
    statements = max(changes // _EVERY, 1)
    parts = rows // _EVERY
    altering = {statements * (at + 1) // 4: definition for at, definition in enumerate(_DEFINITIONS)}
    for number in range(statements):
        if number in altering:
            yield altering[number]
        first = number * 7919 % parts * _EVERY
        where = f"WHERE id > {first} AND id <= {first + _EVERY}"
        if number % 10 == 9:
            yield f"DELETE FROM {_DATABASE}.items {where}"
        else:
            yield f"UPDATE {_DATABASE}.items SET n = n + 1, name = CONCAT('changed ', id) {where}"


def _cdc(folder: Path, *arguments: str) -> Usage:
    return run([sys.executable, "-m", "cdckit", *arguments], folder / "log")


def _line(what: str, rows: int, usage: Usage) -> tuple[str, ...]:
    return what, f"{rows:,}", f"{usage.wall:.0f}", f"{usage.cpu:.0f}", f"{usage.rss:.0f}"


def _equal_sum(server: MySQLServer, folder: Path) -> str:
    """The sum over all rows, which has to be the same on both sides."""
    [there] = server.execute(f"{_SUM} {_DATABASE}.items")
    [lake] = (folder / "lake").glob("*")
    session = start_session("large", {"spark.master": "local[2]"}, delta=True)
    try:
        here: Row = session.sql(f"{_SUM} delta.`{lake}`").collect()[0]
    finally:
        session.stop()
    if (here[0], here[1]) != (there[0], int(there[1])):
        raise AssertionError(f"the lake has {here[0]} rows with the sum {here[1]}, the server {there}")
    return f"{here[0]:,} rows, their checksums' sum {here[1]} at the server and in the lake"


if __name__ == "__main__":
    main()
