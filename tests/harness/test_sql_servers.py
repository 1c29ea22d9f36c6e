"""MySQL and MariaDB servers live, die and come back as a test tells them to."""

from __future__ import annotations

from collections.abc import Iterator

import pymysql
import pytest

from testkit.servers.errors import ServerStartError
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql56 import MySQL56Server
from testkit.servers.mysql_family import SQLServer

SHOP = """
SET NAMES utf8mb4;
CREATE DATABASE shop CHARACTER SET utf8mb4; USE shop;
CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20));
INSERT INTO t
  VALUES (1,'é;😀');
"""


@pytest.fixture(params=[MySQLServer, MariaDBServer, MySQL56Server])
def server(request: pytest.FixtureRequest) -> Iterator[SQLServer]:
    starting: SQLServer = request.param()
    with starting as server:
        yield server


def logged_statements(server: SQLServer) -> Iterator[str]:
    """Statements that the binary logs keep beside the rows they changed."""
    for name, *_ in server.execute("SHOW BINARY LOGS"):
        for _, _, kind, _, _, text in server.execute(f"SHOW BINLOG EVENTS IN '{name}'"):
            if kind in ("Rows_query", "Annotate_rows"):
                yield text.removeprefix("# ")


def test_data_survive_kill_and_restart(server: SQLServer) -> None:
    server.run_sql(SHOP)
    port = server.port
    server.kill()
    assert server.pid is None
    with pytest.raises(pymysql.OperationalError):
        server.execute("SELECT 1")
    server.start()
    assert server.execute("SELECT * FROM shop.t") == ((1, "é;😀"),)
    server.restart(binlog_row_image="MINIMAL")
    assert server.port == port
    assert server.execute("SELECT @@binlog_row_image") == (("MINIMAL",),)
    assert server.execute("SELECT * FROM shop.t") == ((1, "é;😀"),)


def test_log_keeps_statements_as_the_client_sends_them(server: SQLServer) -> None:
    server.run_sql(SHOP)
    assert list(logged_statements(server)) == ["INSERT INTO t\n  VALUES (1,'é;😀')"]


def test_created_user_comes_by_tcp_and_leaves_no_trace_in_the_log(server: SQLServer) -> None:
    (before,) = server.execute("SHOW BINARY LOGS")
    server.create_user("dbz", "dbz")
    (after,) = server.execute("SHOW BINARY LOGS")
    assert after == before
    connection = server.connect("dbz", "dbz")
    with connection, connection.cursor() as cursor:
        cursor.execute("SHOW BINARY LOGS")
        assert cursor.fetchall() == (before,)


def test_script_stops_at_the_first_error_unless_forced(server: SQLServer) -> None:
    script = "CREATE DATABASE a; NO SUCH STATEMENT; CREATE DATABASE b;"
    with pytest.raises(pymysql.ProgrammingError) as raised:
        server.run_sql(script)
    assert raised.value.__notes__ == ["NO SUCH STATEMENT"]
    assert server.execute("SHOW DATABASES LIKE 'b'") == ()
    server.run_sql("DROP DATABASE a;" + script, force=True)
    assert server.execute("SHOW DATABASES LIKE 'b'") == (("b",),)


def test_failed_start_shows_the_log() -> None:
    with pytest.raises(ServerStartError, match="no-such-option"):
        MariaDBServer().start(no_such_option=1)


def test_port_taken_before_the_first_start_is_given_up(server: SQLServer) -> None:
    other = type(server)()
    other.port = server.port
    with other.start():
        assert other.port != server.port
