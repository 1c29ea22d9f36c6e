"""What cdckit uses of PyMySQL without its leave: each name is there, and still means the same, on real servers."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
from pymysql.connections import Connection, MySQLResult
from pymysql.constants import CR
from pymysql.cursors import Cursor, SSCursor
from pymysql.protocol import MysqlPacket

import cdckit_mysql
from cdckit_mysql.server import driver
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer

PACKAGE = Path(cdckit_mysql.__path__[0])
DRIVER = Path(driver.__file__)
EXPORTED = {"pymysql", "pymysql.connections", "pymysql.constants", "pymysql.cursors", "pymysql.err"}
"""What PyMySQL documents, and what every user of it imports."""
_REPLACED = {**vars(driver.CheckedConnection), **vars(driver.StoppableConnection)}
"""What our connections have in place of the driver's."""
_COM_QUERY, _COM_PING = 0x03, 0x0E
_OK_TO_PING = b"\x07\x00\x00\x01\x00\x00\x00"
"""Length 7, packet number 1, then OK, no rows, no key: what comes first of the answer to a ping."""


@pytest.fixture
def connection(db_server: SQLServer) -> Iterator[driver.StoppableConnection]:
    """A session as a capture has it."""
    made = driver.StoppableConnection(host="127.0.0.1", port=db_server.port, user="dbz", password="dbz")
    yield made
    if made.open:
        made.close()


def test_no_other_module_reaches_into_the_driver(connection: Connection[Any]) -> None:
    private = {name for kind in (Connection, MySQLResult, Cursor, SSCursor, MysqlPacket) for name in dir(kind)}
    private = {name for name in private | vars(connection).keys() if name.startswith("_") and not name.endswith("__")}
    assert {"_sock", "_read_timeout"} <= private
    reached = {
        f"{path.relative_to(PACKAGE)}:{line}: {name}"
        for path in PACKAGE.rglob("*.py")
        if path != DRIVER
        for line, name in (*_reached(path, private), *_imported(path))
    }
    assert not reached


def test_every_name_is_there(connection: Connection[Any]) -> None:
    """A name that is only assigned to would be made, and have no effect."""
    used = {node.attr for node in ast.walk(_tree(DRIVER)) if isinstance(node, ast.Attribute) and _is_private(node.attr)}
    assert used >= {"_execute_command", "_sock", "_read_timeout", "_secure", "_read_packet"}
    assert {name for name in used if not hasattr(connection, name)} == set()
    replaced = {name for name in _REPLACED if _is_private(name)}
    assert {name for name in replaced if not hasattr(Connection, name)} == set()


def test_a_command_is_sent_at_once_and_its_answer_left_on_the_socket(connection: Connection[Any]) -> None:
    driver.send_command(connection, _COM_PING, b"")
    found = driver.socket_of(connection).recv(1 << 16)
    assert found.startswith(_OK_TO_PING)
    connection.ping(reconnect=False)


def test_answers_to_statements_that_are_sent_together(connection: Connection[Any]) -> None:
    asked = ["SELECT 1, 'a'", "SELECT * FROM gone.nowhere", "DO 1", "SELECT REPEAT('x', 100000)"]
    first, refused, nothing, long = driver.ask_together(connection, asked * 30)[-4:]
    assert (first, nothing, long) == (((1, "a"),), (), (("x" * 100_000,),))
    assert isinstance(refused, pymysql.MySQLError)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 2")
        assert cursor.fetchall() == ((2,),)


def test_errors_that_servers_number_behind_those_of_clients(connection: Connection[Any]) -> None:
    """They are a server's word as any: 3185 stands for a table whose key is not in the keyring."""
    refused, then = driver.ask_together(
        connection, ["SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 3185, MESSAGE_TEXT = 'no master key'", "SELECT 1"]
    )
    assert isinstance(refused, pymysql.MySQLError)
    assert (refused.args, then) == ((3185, "no master key"), ((1,),))
    connection.ping(reconnect=False)


def test_a_connection_that_ends_among_statements_sent_together(connection: Connection[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT CONNECTION_ID()")
        [(number,)] = cursor.fetchall()
    with pytest.raises(pymysql.OperationalError, match="Lost connection"):
        driver.ask_together(connection, ["SELECT 1", f"KILL CONNECTION {number}", "SELECT 2"])
    assert not connection.open


def test_the_driver_reads_nothing_ahead(connection: Connection[Any]) -> None:
    """Its buffered reader takes from the socket what it can: that is never more than the answer that was asked for."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT REPEAT('x', 100000)")
        driver.send_command(connection, _COM_PING, b"")
        assert driver.socket_of(connection).recv(1 << 16).startswith(_OK_TO_PING)
        assert cursor.fetchone() == ("x" * 100_000,)


def test_an_answer_is_read_and_an_error_raised(connection: Connection[Any]) -> None:
    driver.send_command(connection, _COM_PING, b"")
    assert driver.read_answer(connection).is_ok_packet()
    driver.send_command(connection, _COM_QUERY, b"SELECT nonsense")
    with pytest.raises(pymysql.MySQLError, match="nonsense"):
        driver.read_answer(connection)


def test_the_deadline_is_that_of_the_next_answer(connection: Connection[Any]) -> None:
    assert driver.read_deadline(connection) is None
    with connection.cursor() as cursor:
        driver.set_read_deadline(connection, 30)
        cursor.execute("SELECT SLEEP(0.1)")
        driver.set_read_deadline(connection, 1)
        begun = time.monotonic()
        with pytest.raises(pymysql.OperationalError) as raised:
            cursor.execute("SELECT SLEEP(10)")
    assert raised.value.args[0] == CR.CR_SERVER_LOST
    assert 0.9 < time.monotonic() - begun < 5


def test_hanging_up_ends_a_wait(connection: Connection[Any]) -> None:
    driver.send_command(connection, _COM_QUERY, b"SELECT SLEEP(10)")
    driver.hang_up(connection)
    with pytest.raises(pymysql.OperationalError):
        driver.read_answer(connection)


def test_the_type_in_a_heading(connection: Connection[Any]) -> None:
    driver.send_command(connection, _COM_QUERY, b"SELECT CAST(1 AS DECIMAL(5, 2)) AS d")
    driver.read_answer(connection)
    definition = driver.read_answer(connection).get_all_data()
    assert driver.column_type(definition) == pymysql.constants.FIELD_TYPE.NEWDECIMAL


def test_whether_it_is_secure(db_server: SQLServer, mysql_server: MySQLServer) -> None:
    plain = db_server.connect("dbz", "dbz", ssl_disabled=True)
    assert not driver.is_secure(plain)
    plain.close()
    with mysql_server.connect("dbz", "dbz", ssl={"check_hostname": False}) as encrypted:
        assert driver.is_secure(encrypted)


def test_the_driver_reads_by_the_methods_that_are_replaced(
    db_server: SQLServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it read by others, no stop would end a wait, and damage be told as an error of Python's."""
    called: set[str] = set()
    replaced = {name for name in _REPLACED if _is_private(name) or name == "connect"}
    assert replaced == {"connect", "_read_bytes", "_read_ok_packet", "_read_query_result"}
    for name in replaced:
        monkeypatch.setattr(driver.StoppableConnection, name, _noting(name, called))
    with driver.StoppableConnection(host="127.0.0.1", port=db_server.port, user="dbz", password="dbz") as connection:
        assert called >= {"connect", "_read_bytes"}
        called.clear()
        connection.commit()
        assert called == {"_read_ok_packet", "_read_bytes"}
        called.clear()
        connection.query("SELECT 1")
        assert called == {"_read_query_result", "_read_bytes"}


def _noting(name: str, called: set[str]) -> Any:
    replaced = _REPLACED[name]

    def noted(*args: Any, **options: Any) -> Any:
        called.add(name)
        return replaced(*args, **options)

    return noted


def _tree(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf-8"))


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _reached(path: Path, private: set[str]) -> Iterator[tuple[int, str]]:
    """Private names of the driver's that are asked of anything but the module's own objects."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Attribute) and node.attr in private and not _is_own(node.value):
            yield node.lineno, node.attr


def _is_own(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def _imported(path: Path) -> Iterator[tuple[int, str]]:
    """Modules of the driver's that it does not export, and private names out of any."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            modules, names = [alias.name for alias in node.names], []
        elif isinstance(node, ast.ImportFrom):
            modules, names = [node.module or ""], [alias.name for alias in node.names]
        else:
            continue
        for module in modules:
            if module.partition(".")[0] == "pymysql" and (module not in EXPORTED or any(map(_is_private, names))):
                yield node.lineno, module
