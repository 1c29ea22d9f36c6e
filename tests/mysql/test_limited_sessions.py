"""A server whose sessions see fewer rows, or others than are stored: the pipeline's see all, as the log has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from mysql.capture import changes
from mysql.conftest import NewCapture
from testkit.servers.mysql_family import SQLServer

Sql = Callable[[str], None]


@pytest.fixture
def limited(db_server: SQLServer) -> Iterator[None]:
    """Sessions that begin now get one row of a SELECT, and blanks behind what a CHAR holds."""
    [[mode]] = db_server.execute("SELECT @@global.sql_mode")
    db_server.execute("SET GLOBAL sql_select_limit = 1")
    db_server.execute("SET GLOBAL sql_mode = CONCAT(@@sql_mode, ',PAD_CHAR_TO_FULL_LENGTH,ANSI_QUOTES')")
    yield
    db_server.execute("SET GLOBAL sql_select_limit = 18446744073709551615")
    db_server.execute("SET GLOBAL sql_mode = %s", (mode,))


@pytest.mark.usefixtures("limited")
def test_a_snapshot_has_all_rows_as_the_log_has_them(capture: NewCapture, sql: Sql) -> None:
    sql("CREATE TABLE t (k CHAR(5) PRIMARY KEY, v INT); CREATE TABLE u (k INT PRIMARY KEY);")
    sql("INSERT INTO t VALUES ('a', 1), ('b', 2), ('', 3); INSERT INTO u VALUES (1), (2);")
    found = changes(capture().once())
    assert sorted(found) == [
        ("r", "t", None, ("", 3)),
        ("r", "t", None, ("a", 1)),
        ("r", "t", None, ("b", 2)),
        ("r", "u", None, (1,)),
        ("r", "u", None, (2,)),
    ]
    sql("UPDATE t SET v = 4 WHERE v = 1;")
    assert changes(capture().once()) == [("u", "t", ("a", 1), ("a", 4))]
