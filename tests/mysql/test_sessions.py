"""What is done beside reading: sessions set up, statements at heartbeats, limits; transactions by who numbered them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import pytest

from cdckit.errors import ConfigError, SourceError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.server.connection import connect, connect_for_log
from cdckit_mysql.server.facts import query
from mysql.capture import changes, config_for
from mysql.conftest import NewCapture
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql_family import SQLServer

Sql = Callable[[str], None]


def test_statements_set_up_each_session_but_the_logs(db_server: SQLServer) -> None:
    statements = "SET SESSION sort_buffer_size = 1048576; SET @text = 'a;;b'"
    config = config_for(db_server, database_initial_statements=statements, binlog_net_read_timeout=77)
    assert config.database_initial_statements == ("SET SESSION sort_buffer_size = 1048576", "SET @text = 'a;b'")
    asked = "SELECT @@sort_buffer_size, @text, @@net_read_timeout"
    with connect(config) as one, connect_for_log(config) as log:
        [(size, text, patience)] = query(one, asked)
        assert (size, text, patience != 77) == (1048576, "a;b", True)
        [(size, text, patience)] = query(log, asked)
        assert (size != 1048576, text, patience) == (True, None, 77)


def test_a_statement_that_fails_is_told(capture: NewCapture) -> None:
    with pytest.raises(SourceError, match=r"while running database\.initial\.statements"):
        capture(database_initial_statements="SET SESSION nonsense = 1").once()


def test_a_statement_is_run_at_each_heartbeat(
    capture: NewCapture, sql: Sql, db_server: SQLServer, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    sql("CREATE TABLE beat (id INT PRIMARY KEY AUTO_INCREMENT); CREATE TABLE t (id INT PRIMARY KEY)")
    db_server.execute(f"GRANT INSERT ON {database}.beat TO 'dbz'@'%'")
    made = capture(
        table_include_list=f"{database}.beat",
        heartbeat_interval_ms=20,
        heartbeat_action_query=f"INSERT INTO {database}.beat VALUES ()",
    )
    made.once()
    assert beats_seen(made) >= 2
    made = capture(heartbeat_interval_ms=20, heartbeat_action_query=f"INSERT INTO {database}.nowhere VALUES ()")
    with made.following() as batches:
        caplog.set_level(logging.WARNING, "cdckit.mysql")
        until = time.monotonic() + 20
        while "heartbeat.action.query failed" not in caplog.text and time.monotonic() < until:
            next(batches)
    assert "nowhere" in caplog.text


def beats_seen(made: Any) -> int:
    """How many rows that the statement wrote have come through the log."""
    seen, until = 0, time.monotonic() + 20
    with made.following() as batches:
        while seen < 2 and time.monotonic() < until:
            seen += sum("beat" in record.topic and "__debezium" not in record.topic for record in next(batches).records)
    return seen


def test_more_tables_than_may_be(capture: NewCapture, sql: Sql, caplog: pytest.LogCaptureFixture) -> None:
    sql("CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b (id INT PRIMARY KEY)")
    capture(guardrail_collections_max=2, guardrail_collections_limit_action="fail").once()
    caplog.set_level(logging.WARNING, "cdckit.mysql")
    capture(guardrail_collections_max=1, snapshot_mode="always").once()
    assert "2 are captured, 1 may be" in caplog.text
    with pytest.raises(ConfigError, match=r"^source\.guardrail\.collections\.max: 2 are captured"):
        capture(guardrail_collections_max=1, guardrail_collections_limit_action="fail", snapshot_mode="always").once()


OTHER = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"


def other_source(server: SQLServer, number: int) -> str:
    """Statements before and behind which make what is between them another source's transaction."""
    if isinstance(server, MariaDBServer):
        return "SET gtid_domain_id = 7; {}; SET gtid_domain_id = 0"
    return f"SET gtid_next = '{OTHER}:{number}'; {{}}; SET gtid_next = AUTOMATIC"


def test_transactions_of_some_sources_are_left_out(
    capture: NewCapture, sql: Sql, db_server: SQLServer, database: str
) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY)")
    name = "7" if isinstance(db_server, MariaDBServer) else OTHER.upper()
    first = len(database) * 1000  # the server keeps what it has executed: each run takes numbers of its own
    capture().once()
    sql("INSERT INTO t VALUES (1); " + other_source(db_server, first + 1).format("INSERT INTO t VALUES (2)"))
    assert ids(capture(gtid_source_excludes=name)) == [1]
    sql("INSERT INTO t VALUES (3); " + other_source(db_server, first + 2).format("INSERT INTO t VALUES (4)"))
    assert ids(capture(gtid_source_includes=name)) == [4]
    sql("INSERT INTO t VALUES (5); " + other_source(db_server, first + 3).format("INSERT INTO t VALUES (6)"))
    assert ids(capture(gtid_source_includes=name, gtid_source_filter_dml_events=False)) == [5, 6]


def ids(made: Any) -> list[int]:
    """The keys of the rows that the next run shows."""
    return [change[3][0] for change in changes(made.once())]


def test_going_on_by_position_in_spite_of_gtids(capture: NewCapture, sql: Sql) -> None:
    """A set of GTIDs that says too much would leave rows out."""
    sql("CREATE TABLE t (id INT PRIMARY KEY)")
    made = capture(gtid_ignore_on_recovery=True)
    made.once()
    sql("INSERT INTO t VALUES (1)")
    before = made.offset()
    made.once()
    made.keep({**made.offset(), "file": before["file"], "pos": before["pos"]})
    with made.following() as batches:
        assert [record.value["after"].values for record in first_records(batches)] == [(1,)]


def first_records(batches: Any) -> list[Any]:
    """The first batch that has records."""
    return next(batch.records for batch in batches if batch.records)


def test_includes_and_excludes_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match="exclude each other"):
        MySqlConfig.load(
            {"topic.prefix": "p", "database.user": "u", "gtid.source.includes": "a", "gtid.source.excludes": "b"}, ""
        )
