"""Servers that cannot be reached, refuse, or log what cannot be captured: exit code 3 and what to do."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from bad_input.conftest import BEFORE, NewPipeline, assert_untouched, fill, rows
from testkit.running import PASSWORD, USER, create_reader, source_of, to_file
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import CAPTURE_PRIVILEGES, SQLServer
from testkit.servers.ports import free_port

pytestmark = pytest.mark.one_server


def test_a_host_that_does_not_exist_is_named(pipeline: NewPipeline) -> None:
    broken = pipeline(database_hostname="no-such-host.invalid")
    ended = broken.run("--once")
    assert ended.code == 3
    assert "no-such-host.invalid:" in ended.errors
    assert "check database.hostname and database.port" in ended.errors
    assert_untouched(broken)


def test_a_port_where_nobody_listens_is_named(pipeline: NewPipeline) -> None:
    port = free_port()
    broken = pipeline(database_port=port)
    for arguments in ([], ["--once"]):
        ended = broken.run(*arguments)
        assert ended.code == 3
        assert f"127.0.0.1:{port} cannot be reached" in ended.errors
        assert_untouched(broken)


def test_a_wrong_password_is_told_without_it(pipeline: NewPipeline) -> None:
    broken = pipeline(database_password=f"{PASSWORD}-wrong")
    ended = broken.run("--once", "--log-level", "debug")
    assert ended.code == 3
    assert f"refuses user '{USER}': check database.user and database.password" in ended.errors
    assert_untouched(broken)


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        ({"SELECT"}, "SELECT"),
        ({"RELOAD"}, "LOCK TABLES"),
        ({"REPLICATION CLIENT"}, "REPLICATION CLIENT"),
        ({"REPLICATION SLAVE"}, "REPLICATION SLAVE"),
    ],
)
def test_a_missing_privilege_is_named(
    db_server: SQLServer, pipeline: NewPipeline, missing: set[str], named: str
) -> None:
    create_reader(db_server, *(set(CAPTURE_PRIVILEGES) - missing))
    broken = pipeline()
    ended = broken.run("--once")
    assert ended.code == 3, ended.stderr
    assert "GRANT" in ended.errors
    assert named in ended.errors
    assert f"'{USER}'" in ended.errors
    assert_untouched(broken)


def test_a_server_without_log_is_told(own_server: MySQLServer, unique_name: str, tmp_path: Path) -> None:
    own_server.restart(skip_log_bin=True, log_bin=None)
    own_server.execute(f"CREATE DATABASE {unique_name}")
    fill(own_server, unique_name)
    broken = to_file(tmp_path, source_of(own_server, unique_name))
    ended = broken.run("--once")
    assert ended.code == 3
    assert "writes no binary log: set log_bin and a server_id in its configuration" in ended.errors
    assert_untouched(broken)


def test_a_server_that_logs_statements_is_told(own_server: MySQLServer, unique_name: str, tmp_path: Path) -> None:
    own_server.restart(binlog_format="STATEMENT")
    own_server.execute(f"CREATE DATABASE {unique_name}")
    fill(own_server, unique_name)
    broken = to_file(tmp_path, source_of(own_server, unique_name))
    ended = broken.run("--once")
    assert ended.code == 3
    assert "set binlog_format=ROW (it is STATEMENT)" in ended.errors
    assert_untouched(broken)


def test_a_session_that_logs_statements_stops_the_pipeline_there(
    db_server: SQLServer, shop: str, pipeline: NewPipeline
) -> None:
    running = pipeline()
    assert running.run("--once").code == 0
    before = "INSERT INTO t VALUES (3, 'c');"
    db_server.run_sql(f"{before} SET binlog_format = STATEMENT; DELETE FROM t WHERE id = 1;", database=shop)
    for _ in range(2):
        ended = running.run("--once")
        assert ended.code == 5
        assert f"a change of {shop}.t was logged as a statement, not as rows: let no session set binlog_format" in (
            ended.errors
        )
    assert rows(running) == [("r", None, (1, "a")), ("r", None, (2, "b")), ("c", None, (3, "c"))]


@pytest.mark.parametrize("image", ["MINIMAL", "NOBLOB"])
def test_columns_that_the_log_leaves_out_are_marked_and_said(
    db_server: SQLServer, shop: str, pipeline: NewPipeline, image: str
) -> None:
    db_server.run_sql(
        "CREATE TABLE wide (id INT PRIMARY KEY, name VARCHAR(9), n INT NOT NULL, doc TEXT, raw BLOB NOT NULL);"
        "INSERT INTO wide VALUES (1, 'a', 5, 'long', 'bytes')",
        database=shop,
    )
    running = pipeline(table_include_list=f"{shop}.wide")
    assert running.run("--once").code == 0
    db_server.execute(f"SET GLOBAL binlog_row_image = {image}")
    try:
        db_server.execute("UPDATE wide SET name = 'b' WHERE id = 1", database=shop)
        ended = running.run("--once")
    finally:
        db_server.execute("SET GLOBAL binlog_row_image = FULL")
    assert ended.code == 0
    assert f"logs only some columns of changed rows (binlog_row_image={image})" in ended.stderr
    absent, placeholder = None, "__debezium_unavailable_value"
    bytes_placeholder = base64.b64encode(placeholder.encode()).decode()
    [change] = rows(running)[1:]
    if image == "MINIMAL":
        assert change == (
            "u",
            (1, placeholder, absent, placeholder, bytes_placeholder),
            (1, "b", absent, placeholder, bytes_placeholder),
        )
    else:
        assert change == ("u", (1, "a", 5, placeholder, bytes_placeholder), (1, "b", 5, placeholder, bytes_placeholder))


def test_a_table_that_the_server_cannot_open_is_named_or_left_out(
    db_server: SQLServer, shop: str, pipeline: NewPipeline
) -> None:
    parts = "CREATE TABLE part (id INT) ENGINE=MyISAM; CREATE TABLE parts (id INT) ENGINE=MERGE UNION=(part)"
    db_server.run_sql(f"{parts}; DROP TABLE part", database=shop)
    broken = pipeline()
    ended = broken.run("--once")
    assert ended.code == 3
    assert f"table {shop}.parts: repair or drop it, or name it in table.exclude.list" in ended.errors
    assert_untouched(broken)
    others = pipeline(table_exclude_list=rf"{shop}\.parts")
    ended = others.run("--once")
    assert ended.code == 0, ended.stderr
    assert f"{shop}.parts, which is not captured, is passed over: the server cannot open it (1168: " in ended.stderr
    assert rows(others) == BEFORE
