"""`cdc resnapshot`: what it takes, what it refuses, and what comes of it, with MySQL and the file sink."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cdckit.connector.resnapshot import KEPT_AS
from testkit.running import Pipeline, create_reader, source_of, to_file
from testkit.servers.mysql import MySQLServer
from testkit.states import kept_in
from testkit.warm_command.starting import call_command

TABLES = """
CREATE TABLE orders (id INT PRIMARY KEY, v INT);
CREATE TABLE items (id INT PRIMARY KEY, v INT);
INSERT INTO orders VALUES (1, 1), (2, 2);
INSERT INTO items VALUES (1, 1);
"""


@pytest.fixture
def shop(mysql_server: MySQLServer, unique_name: str) -> Any:
    """A database with two tables, dropped after the test."""
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}")
    mysql_server.run_sql(TABLES, database=unique_name)
    create_reader(mysql_server)
    yield unique_name
    mysql_server.run_sql(f"DROP DATABASE {unique_name}")


def _cdc(pipeline: Pipeline, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return call_command([*command.split(), str(pipeline.written()), *arguments], folder=pipeline.folder)


def _short(pipeline: Pipeline) -> list[tuple[str, str, int]]:
    changes = [event["value"] for event in pipeline.events()]
    return [(change["source"]["table"], change["op"], change["after"]["id"]) for change in changes]


def test_the_next_run_reads_the_table_again(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    pipeline = to_file(tmp_path, source_of(mysql_server, shop))
    assert pipeline.run("--once").code == 0
    pipeline.output.unlink()
    mysql_server.run_sql("INSERT INTO items VALUES (2, 2)", database=shop)
    asked = _cdc(pipeline, "resnapshot", "--table", f"{shop}.orders")
    assert asked.returncode == 0, asked.stderr
    assert asked.stdout == f"{shop}.orders: read again when the pipeline is started next\n"
    shown = _cdc(pipeline, "status")
    assert f"again     {shop}.orders: to be read again when the pipeline is started" in shown.stdout
    assert pipeline.run("--once").code == 0
    assert _short(pipeline) == [("items", "c", 2), ("orders", "r", 1), ("orders", "r", 2)]
    assert json.loads(_cdc(pipeline, "status", "--json").stdout)["resnapshot"] == []
    assert kept_in(pipeline.state, KEPT_AS) is None
    pipeline.output.unlink()
    assert pipeline.run("--once").code == 0
    assert not pipeline.output.exists() or not pipeline.events()


def test_what_is_asked_for_twice_comes_once(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    pipeline = to_file(tmp_path, source_of(mysql_server, shop))
    assert pipeline.run("--once").code == 0
    pipeline.output.unlink()
    for table in ("orders", "items", "orders"):
        assert _cdc(pipeline, "resnapshot", "--table", f"{shop}.{table}".upper()).returncode == 0
    assert pipeline.run("--once").code == 0
    assert sorted(_short(pipeline)) == [("items", "r", 1), ("orders", "r", 1), ("orders", "r", 2)]


def test_names_are_checked(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    source = source_of(mysql_server, shop, table_include_list=f"{shop}.orders")
    pipeline = to_file(tmp_path, source)
    assert pipeline.run("--once").code == 0
    asked = _cdc(pipeline, "resnapshot", "--table", f"{shop}.ordres", "--table", f"{shop}.items")
    assert asked.returncode == 2
    assert f"'{shop}.ordres' is no captured table; did you mean '{shop}.orders'?" in asked.stderr
    assert f"'{shop}.items' is no captured table" in asked.stderr
    assert kept_in(pipeline.state, KEPT_AS) is None


def test_a_table_that_is_gone_may_be_asked_for(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    """As a message may name it that was written before."""
    pipeline = to_file(tmp_path, source_of(mysql_server, shop))
    assert pipeline.run("--once").code == 0
    mysql_server.execute(f"DROP TABLE {shop}.items")
    assert _cdc(pipeline, "resnapshot", "--table", f"{shop}.items").returncode == 0
    assert pipeline.run("--once").code == 0
    assert kept_in(pipeline.state, KEPT_AS) is None


def test_a_running_pipeline_is_to_be_stopped_first(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    pipeline = to_file(tmp_path, source_of(mysql_server, shop), **{"offset.flush.interval.ms": 50})
    with pipeline.running() as process:
        process.wait_until(lambda: pipeline.output.exists() and len(pipeline.events()) == 3)
        asked = _cdc(pipeline, "resnapshot", "--table", f"{shop}.orders")
        assert asked.returncode == 7
        assert "the pipeline is running" in asked.stderr
        assert "stop it, ask again, and start it" in asked.stderr
        assert process.stop().code == 0


@pytest.mark.parametrize(
    ("options", "runs", "code", "message"),
    [
        ({}, False, 7, "has no offset: its first run reads all tables"),
        ({"snapshot_mode": "initial_only"}, True, 2, "follows no log"),
    ],
)
def test_what_cannot_be_is_refused(
    mysql_server: MySQLServer, shop: str, tmp_path: Path, options: dict[str, Any], runs: bool, code: int, message: str
) -> None:
    pipeline = to_file(tmp_path, source_of(mysql_server, shop, **options))
    if runs:
        assert pipeline.run("--once").code == 0
    asked = _cdc(pipeline, "resnapshot", "--table", f"{shop}.orders")
    assert asked.returncode == code
    assert message in asked.stderr


def test_a_source_without_tables_is_refused(pipeline: Path, cdc: Callable[..., Any]) -> None:
    assert cdc("run", pipeline.name, "--once").code == 0
    called = cdc("resnapshot", pipeline.name, "--table", "a.b")
    assert called.code == 2
    assert "this source reads no tables" in called.stderr


def test_a_reset_forgets_it(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    pipeline = to_file(tmp_path, source_of(mysql_server, shop))
    assert pipeline.run("--once").code == 0
    assert _cdc(pipeline, "resnapshot", "--table", f"{shop}.orders").returncode == 0
    assert _cdc(pipeline, "offsets reset").returncode == 0
    assert kept_in(pipeline.state, KEPT_AS) is None
