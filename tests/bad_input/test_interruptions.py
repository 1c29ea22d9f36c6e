"""What happens under a running pipeline: servers that go away, tables that are dropped, signals."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from bad_input.conftest import fill, rows
from running import Pipeline, Running, create_reader, source_of, to_file
from servers.mariadb import MariaDBServer
from servers.mysql import MySQLServer
from servers.mysql_family import SQLServer

DATABASE = "shop"
BEFORE = [("r", None, (1, "a")), ("r", None, (2, "b"))]
MANY = 60_000


@pytest.fixture(scope="module", params=[MySQLServer, MariaDBServer], ids=["mysql", "mariadb"])
def own_server(request: pytest.FixtureRequest) -> Iterator[SQLServer]:
    """A server that may be killed."""
    with request.param() as server:
        create_reader(server)
        yield server


@pytest.fixture
def server(own_server: SQLServer) -> SQLServer:
    """The same with a new database."""
    own_server.run_sql(f"DROP DATABASE IF EXISTS {DATABASE}; CREATE DATABASE {DATABASE}")
    fill(own_server, DATABASE)
    return own_server


def _past_snapshot(process: Running) -> None:
    process.wait_until(lambda: "file" in (process.pipeline.offset() or {"snapshot": 1}), "an offset")
    process.wait_until(lambda: "snapshot" not in (process.pipeline.offset() or {}), "the end of the snapshot")


def _has(process: Running, count: int) -> None:
    process.wait_until(lambda: len(rows(process.pipeline)) >= count, f"{count} events")


def test_a_server_that_is_killed_and_comes_back_is_read_on(server: SQLServer, tmp_path: Path) -> None:
    made = to_file(tmp_path, source_of(server, DATABASE))
    with made.running() as process:
        _past_snapshot(process)
        server.kill()
        process.wait_for("trying again")
        server.start()
        server.execute("INSERT INTO t VALUES (3, 'c')", database=DATABASE)
        _has(process, 3)
        server.restart()
        server.execute("INSERT INTO t VALUES (4, 'd')", database=DATABASE)
        _has(process, 4)
        ended = process.stop()
    assert ended.code == 0
    assert rows(made) == [*BEFORE, ("c", None, (3, "c")), ("c", None, (4, "d"))]


def test_after_as_many_retries_as_wanted_the_pipeline_ends(server: SQLServer, tmp_path: Path) -> None:
    made = to_file(tmp_path, source_of(server, DATABASE, errors_max_retries=1))
    with made.running() as process:
        _past_snapshot(process)
        server.kill()
        ended = process.ended()
    server.start()
    assert ended.code == 3
    assert "(attempt 1 of 1)" in ended.stderr
    assert "gave up after 1 attempts (errors.max.retries)" in ended.errors
    assert rows(made) == BEFORE


def test_a_server_that_restarts_during_the_snapshot_has_it_taken_again(server: SQLServer, tmp_path: Path) -> None:
    made = _with_many_rows(server, tmp_path)
    with made.running("--once") as process:
        process.wait_until(lambda: made.output.exists() and made.output.stat().st_size > 1_000_000, "some rows")
        process.process.send_signal(signal.SIGSTOP)
        server.kill()
        server.start()
        server.execute("DELETE FROM many WHERE id = 1", database=DATABASE)
        process.process.send_signal(signal.SIGCONT)
        ended = process.ended()
    assert ended.code == 0
    assert "trying again" in ended.stderr
    found = [(event["key"]["id"], event["value"]["op"]) for event in made.events() if event["value"]]
    assert {key for key, op in found if op == "r"} == set(range(MANY))
    assert found.count((1, "r")) == 1
    assert found.index((1, "d")) > found.index((1, "r"))


def test_a_server_that_restarts_under_once_is_read_to_its_end(server: SQLServer, tmp_path: Path) -> None:
    made = _with_many_rows(server, tmp_path, snapshot_mode="no_data", max_batch_size=100)
    assert made.run("--once").code == 0
    server.execute("UPDATE many SET v = 'new'", database=DATABASE)
    with made.running("--once") as process:
        process.wait_until(lambda: made.output.stat().st_size > 1_000_000, "some rows")
        process.process.send_signal(signal.SIGSTOP)
        server.kill()
        server.start()
        process.process.send_signal(signal.SIGCONT)
        ended = process.ended()
    assert ended.code == 0, ended.stderr
    assert "trying again" in ended.stderr
    assert [event["key"]["id"] for event in made.events()] == list(range(MANY))


def _with_many_rows(server: SQLServer, folder: Path, **options: object) -> Pipeline:
    """A pipeline from a table that takes some time; with wide rows, so that buffers hold only a part of them."""
    values = ", ".join(f"({number}, '{'x' * 200}')" for number in range(MANY))
    server.run_sql(
        f"CREATE TABLE many (id INT PRIMARY KEY, v VARCHAR(200)); INSERT INTO many VALUES {values}", database=DATABASE
    )
    return to_file(folder, source_of(server, DATABASE, table_include_list=f"{DATABASE}.many", **options))


def test_a_table_that_is_dropped_leaves_the_others_alone(server: SQLServer, tmp_path: Path) -> None:
    made = to_file(tmp_path, source_of(server, DATABASE))
    with made.running() as process:
        _past_snapshot(process)
        server.run_sql(
            "CREATE TABLE other (id INT PRIMARY KEY); INSERT INTO other VALUES (7); INSERT INTO t VALUES (3, 'c');"
            "DROP TABLE t; INSERT INTO other VALUES (8);",
            database=DATABASE,
        )
        _has(process, 5)
        ended = process.stop()
    assert ended.code == 0
    assert f"the definition of {DATABASE}.t changes at" in ended.stderr
    assert rows(made) == [*BEFORE, ("c", None, (7,)), ("c", None, (3, "c")), ("c", None, (8,))]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_the_pipeline_behind_whole_batches(
    server: SQLServer, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    made = to_file(tmp_path, source_of(server, DATABASE))
    with made.running() as process:
        _past_snapshot(process)
        server.execute("INSERT INTO t VALUES (3, 'c')", database=DATABASE)
        _has(process, 3)
        assert process.stop(number).code == code
    again = made.run("--once")
    assert "stopped; 0 events delivered" in again.stderr
    assert rows(made) == [*BEFORE, ("c", None, (3, "c"))]


def test_a_signal_during_the_snapshot_ends_it_and_says_so_next_time(server: SQLServer, tmp_path: Path) -> None:
    made = _with_many_rows(server, tmp_path)
    with made.running() as process:
        process.wait_until(lambda: made.output.exists() and made.output.stat().st_size > 1_000_000, "some rows")
        assert process.stop().code == 0
    assert made.output.read_bytes().endswith(b"\n")
    assert (made.offset() or {})["snapshot"] == "INITIAL"
    again = made.run("--once")
    assert again.code == 0
    assert "the last snapshot was not finished: it starts again" in again.stderr
