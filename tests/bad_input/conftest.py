"""Databases and servers that the tests may spoil."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from testkit.running import Pipeline, Running, create_reader, source_of, to_file
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer

NewPipeline = Callable[..., Pipeline]

MANY = 40_000
"""Rows that take some time to be read."""
DATABASE = "shop"
"""The database on the server that is spoiled."""
BEFORE = [("r", None, (1, "a")), ("r", None, (2, "b"))]
"""The events of a snapshot of what `fill` makes."""


@pytest.fixture
def shop(db_server: SQLServer, database: str) -> str:
    """A database with a table of two rows."""
    fill(db_server, database)
    return database


@pytest.fixture
def pipeline(db_server: SQLServer, shop: str, tmp_path: Path) -> NewPipeline:
    """Makes pipelines from that database to a file, all of them with one state; options are the source's."""
    create_reader(db_server)
    return lambda **options: to_file(tmp_path, source_of(db_server, shop, **options))


@pytest.fixture(scope="module")
def own_server() -> Iterator[MySQLServer]:
    """A MySQL server that may be stopped and started with other options."""
    with MySQLServer() as server:
        create_reader(server)
        yield server


@pytest.fixture(scope="module", params=[MySQLServer, MariaDBServer], ids=["mysql", "mariadb"])
def spoiled_server(request: pytest.FixtureRequest) -> Iterator[SQLServer]:
    """A server of each kind, which may be killed, and whose log may be thrown away."""
    with request.param() as server:
        create_reader(server)
        yield server


@pytest.fixture
def server(spoiled_server: SQLServer) -> SQLServer:
    """The same with a new database."""
    spoiled_server.run_sql(f"DROP DATABASE IF EXISTS {DATABASE}; CREATE DATABASE {DATABASE}")
    fill(spoiled_server, DATABASE)
    return spoiled_server


def fill(server: SQLServer, database: str) -> None:
    """Makes a table `t` with two rows."""
    script = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20)); INSERT INTO t VALUES (1, 'a'), (2, 'b');"
    server.run_sql(script, database=database)


def with_many_rows(server: SQLServer, database: str) -> None:
    """Makes a table `many`, with wide rows, so that buffers hold only a part of them."""
    values = ", ".join(f"({number}, '{'x' * 200}')" for number in range(MANY))
    script = f"CREATE TABLE many (id INT PRIMARY KEY, v VARCHAR(200)); INSERT INTO many VALUES {values}"
    server.run_sql(script, database=database)


def past_snapshot(process: Running) -> None:
    """Waits until the snapshot is over and saved."""
    begun = {"snapshot": "INITIAL"}
    process.wait_until(lambda: "snapshot" not in (process.pipeline.offset() or begun), "the end of the snapshot")


def has_events(process: Running, count: int) -> None:
    """Waits until the file has so many events."""
    process.wait_until(lambda: len(rows(process.pipeline)) >= count, f"{count} events")


def rows(pipeline: Pipeline) -> list[tuple[str, Any, Any]]:
    """The change events that a pipeline has written: operation, row before, row after."""
    values = [event["value"] for event in pipeline.events() if event["value"]]
    return [(value["op"], _row(value["before"]), _row(value["after"])) for value in values]


def _row(row: dict[str, Any] | None) -> tuple[Any, ...] | None:
    return None if row is None else tuple(row.values())


def assert_untouched(pipeline: Pipeline) -> None:
    """Nothing was delivered, and no offset saved."""
    assert pipeline.offset() is None
    assert not pipeline.output.exists() or pipeline.output.read_bytes() == b""
