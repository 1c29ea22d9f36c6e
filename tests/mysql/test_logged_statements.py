"""Changes of rows that sessions have the log hold as statements: where rows are captured, they are refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cdckit.errors import DecodeError
from mysql.capture import Capture, changes, config_for
from mysql.conftest import NewCapture
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql_family import SQLServer

WRITES = (
    "INSERT /* why */ INTO here.t VALUES (4)",
    "UPDATE /* why */ here.t SET id = id + 20",
    "INSERT INTO `here`.`T 1` VALUES (1)",
    "UPDATE t e JOIN here.t x SET x.id = x.id + 400",
    "UPDATE t e, here.t SET here.t.id = here.t.id + 8000",
    "DELETE x FROM t e JOIN here.t x",
    "DELETE FROM x USING t e JOIN here.t x",
    "SELECT here.f(777)",
)
"""Statements that write to the database `here` from another one."""
PASSED_OVER = (
    "INSERT /* here.t */ INTO t SELECT id FROM here.t",
    "UPDATE t AS e SET e.id = 9",
    "DELETE FROM t WHERE id IN (SELECT id FROM here.t)",
    "UPDATE t JOIN `other one` o ON t.id = o.id SET t.id = 2, o.id = 3",
)
"""Statements that write to that other database alone."""


@pytest.fixture
def other(db_server: SQLServer, database: str) -> Iterator[str]:
    """A database that is not captured, with tables; the captured one has some, and a function that writes to one."""
    name = f"{database}_other"
    db_server.run_sql(
        f"CREATE DATABASE {name}; CREATE TABLE {name}.t (id INT); INSERT INTO {name}.t VALUES (1);"
        f"CREATE TABLE {name}.`other one` (id INT);"
    )
    db_server.run_sql(
        "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); CREATE TABLE `T 1` (id INT PRIMARY KEY);",
        database=database,
    )
    db_server.execute("SET GLOBAL log_bin_trust_function_creators = ON")
    function = "CREATE FUNCTION f(n INT) RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO t VALUES (n); RETURN 1; END"
    db_server.execute(function, database=database)
    yield name
    db_server.execute("SET GLOBAL log_bin_trust_function_creators = OFF")
    db_server.execute(f"DROP DATABASE {name}")


def written(server: SQLServer, statement: str, here: str, session: str) -> None:
    """Runs a statement of this session's database that the log has as it is."""
    server.execute(statement.replace("here", here), database=session, init_command="SET binlog_format = STATEMENT")


def test_a_change_of_captured_rows_is_refused(
    streaming: NewCapture, db_server: SQLServer, database: str, other: str
) -> None:
    refused: list[str] = []
    for statement in WRITES:
        db_server.execute(f"INSERT IGNORE INTO {database}.t VALUES (1)")
        streaming().once()
        written(db_server, statement, database, other)
        reading = streaming()
        try:
            reading.once()
        except DecodeError as error:
            assert re.search(rf"a change of {database}\.(t|T 1|\?) was logged as a statement", str(error))
            refused.append(statement)
        reading.keep(reading.source.latest_offset(reading.offset()))
    assert refused == [*WRITES]


def test_variables_of_one_statement_stand_before_it(
    mariadb_server: MariaDBServer, tmp_path: Path, unique_name: str
) -> None:
    """Which MariaDB logs with them."""
    mariadb_server.run_sql(f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.t (id INT PRIMARY KEY);")
    config = config_for(mariadb_server, database_include_list=unique_name, snapshot_mode="no_data")
    with Capture(config, tmp_path / "state").closing() as reading:
        reading.once()
        variables = "max_statement_time = 100, sql_mode = 'STRICT_ALL_TABLES'"
        mariadb_server.execute(f"SET STATEMENT {variables} FOR ALTER TABLE {unique_name}.t ADD v INT")
        mariadb_server.execute(f"INSERT INTO {unique_name}.t VALUES (1, 1)")
        assert changes(reading.once()) == [("c", "t", None, (1, 1))]
        written(mariadb_server, f"SET STATEMENT {variables} FOR INSERT INTO t VALUES (2, 2)", "", unique_name)
        with pytest.raises(DecodeError, match=rf"a change of {unique_name}\.t was logged as a statement"):
            reading.once()
    mariadb_server.execute(f"DROP DATABASE {unique_name}")


def test_temporary_tables_are_no_tables(
    streaming: NewCapture, db_server: SQLServer, database: str, sql: Callable[[str], None]
) -> None:
    """Of the same names as captured ones: the statement format logs what happens to them."""
    sql("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1);")
    reading = streaming(skipped_operations="none")
    sql(
        "SET binlog_format = STATEMENT; CREATE TEMPORARY TABLE t (x INT); TRUNCATE TABLE t; ALTER TABLE t ADD y INT;"
        "ALTER TABLE t RENAME u, ADD z INT; ALTER TABLE u RENAME t; CREATE INDEX one ON t (x); DROP INDEX one ON t;"
        "DROP TABLE t;"
    )
    with db_server.connect(database=database) as session, session.cursor() as cursor:
        for statement in ("SET binlog_format = STATEMENT", "CREATE TEMPORARY TABLE t (x INT)", "TRUNCATE TABLE t"):
            cursor.execute(statement)
    sql("INSERT INTO t VALUES (2, 2);")
    assert changes(reading.once()) == [("c", "t", None, (2, 2))]


def test_what_changes_no_captured_rows_is_passed_over(
    streaming: NewCapture, db_server: SQLServer, database: str, other: str
) -> None:
    reading = streaming()
    for statement in PASSED_OVER:
        written(db_server, statement, database, other)
    assert reading.once() == []
