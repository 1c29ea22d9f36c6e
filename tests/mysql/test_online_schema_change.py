"""Tables that are migrated online, by a ghost table which takes their place: only the table itself is captured."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pymysql.constants import ER
from pymysql.cursors import Cursor
from pymysql.err import OperationalError

from cdckit.api.record import Record
from cdckit.api.struct import Struct
from mysql.conftest import NewCapture
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer
from testkit.servers.sql_script import statements

GHOST = (
    "ALTER TABLE {ghost} ADD extra VARCHAR(9) NOT NULL DEFAULT 'new' AFTER id, MODIFY v BIGINT, MODIFY token CHAR(12)"
)
GH_OST = (
    """
    CREATE TABLE _t_ghc (id BIGINT AUTO_INCREMENT PRIMARY KEY, hint VARCHAR(64), value VARCHAR(255));
    INSERT INTO _t_ghc (hint, value) VALUES ('state', 'begin');
    CREATE TABLE _t_gho LIKE t; {change};
    INSERT IGNORE INTO _t_gho (id, token, v) SELECT id, token, v FROM t WHERE id % 2 LOCK IN SHARE MODE;
    """.replace("{change}", GHOST.format(ghost="_t_gho")),
    """
    INSERT INTO _t_ghc (hint, value) VALUES ('state', 'cut-over');
    CREATE TABLE _t_del (id INT) COMMENT='ghost-cut-over-sentry'; DROP TABLE _t_del;
    LOCK TABLES t WRITE, _t_gho WRITE;
    REPLACE INTO _t_gho (id, token, v) SELECT id, token, v FROM t;
    DELETE FROM _t_gho WHERE id NOT IN (SELECT id FROM t);
    RENAME TABLE t TO _t_del, _t_gho TO t;
    UNLOCK TABLES;
    """,
    "DROP TABLE _t_ghc, _t_del;",
)
"""gh-ost follows the log to keep its ghost in step; here a lock before the swap does."""
PT_OSC = (
    """
    CREATE TABLE _t_new LIKE t; {change};
    CREATE TRIGGER osc_del AFTER DELETE ON t FOR EACH ROW DELETE IGNORE FROM _t_new WHERE id = OLD.id;
    CREATE TRIGGER osc_upd AFTER UPDATE ON t FOR EACH ROW
        REPLACE INTO _t_new (id, token, v) VALUES (NEW.id, NEW.token, NEW.v);
    CREATE TRIGGER osc_ins AFTER INSERT ON t FOR EACH ROW
        REPLACE INTO _t_new (id, token, v) VALUES (NEW.id, NEW.token, NEW.v);
    INSERT IGNORE INTO _t_new (id, token, v) SELECT id, token, v FROM t LOCK IN SHARE MODE;
    """.replace("{change}", GHOST.format(ghost="_t_new")),
    "RENAME TABLE t TO _t_old, _t_new TO t;",
    "DROP TABLE IF EXISTS _t_old; DROP TRIGGER IF EXISTS osc_ins; DROP TRIGGER IF EXISTS osc_upd;",
)
"""The trigger for deletes comes first, as pt-online-schema-change has it: a row that another one has put into the copy
would else stay there.
"""


@contextmanager
def _writers(server: SQLServer, database: str) -> Iterator[Callable[[], None]]:
    """Inserts, updates and deletes rows of `t` until the context ends; what it gives waits for some more of that."""
    done, written = threading.Event(), threading.Semaphore(0)

    def write() -> None:
        with server.connect(database=database, autocommit=True) as connection, connection.cursor() as cursor:
            number = 100
            while not done.is_set():
                number += 1
                _execute(cursor, f"INSERT INTO t (token, v) VALUES ('t{number}', 1)")
                _execute(cursor, f"UPDATE t SET v = v + 1 WHERE token = 't{number - 5}'")
                _execute(cursor, f"DELETE FROM t WHERE token = 't{number - 9}'")
                written.release()

    def some_more() -> None:
        for _ in range(20):
            assert written.acquire(timeout=30)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield some_more
    finally:
        done.set()
        writer.join()


def _migrate(server: SQLServer, database: str, script: str) -> None:
    """A part of the migration, in one session."""
    with server.connect(database=database) as connection, connection.cursor() as cursor:
        for statement in statements(script):
            _execute(cursor, statement)


def _execute(cursor: Cursor, statement: str) -> None:
    """Again where the triggers have brought about a deadlock."""
    try:
        cursor.execute(statement)
    except OperationalError as error:
        if error.args[0] != ER.LOCK_DEADLOCK:
            raise
        _execute(cursor, statement)


def _mirror(records: Iterable[Record], rows: dict[int, dict[str, Any]]) -> None:
    """Keeps the rows as a mirror of the topic would."""
    for record in records:
        if not isinstance(record.value, Struct):
            continue
        change = record.value.to_dict()
        if change["op"] == "d":
            del rows[change["before"]["id"]]
        else:
            rows[change["after"]["id"]] = change["after"]


@pytest.mark.parametrize("only_captured", [False, True])
@pytest.mark.parametrize("tool", ["gh-ost", "pt-osc"])
def test_a_swap_loses_no_row(
    capture: NewCapture, sql: Callable[[str], None], db_server: SQLServer, database: str, tool: str, only_captured: bool
) -> None:
    if tool == "gh-ost" and not isinstance(db_server, MySQLServer):
        pytest.skip("only MySQL renames tables under a lock, as the cut-over here does")
    prepare, swap, clean = GH_OST if tool == "gh-ost" else PT_OSC
    options = {
        "table_include_list": f"{database}.t",
        "schema_history_internal_store_only_captured_tables_ddl": only_captured,
    }
    sql("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, token VARCHAR(20), v INT, KEY (token));")
    sql("INSERT INTO t (token, v) VALUES ('t1', 1), ('t2', 2);")
    rows: dict[int, dict[str, Any]] = {}
    topics: set[str] = set()

    def read() -> None:
        records = capture(**options).once()
        topics.update(record.topic for record in records)
        _mirror(records, rows)

    read()
    with _writers(db_server, database) as some_more:
        some_more()
        _migrate(db_server, database, prepare)
        some_more()
        read()
        _migrate(db_server, database, swap)
        some_more()
        _migrate(db_server, database, clean)
        some_more()
    sql("INSERT INTO t (token, v) VALUES ('last', 1 << 40);")
    read()
    assert topics == {f"p.{database}.t"}
    table = {row[0]: row[1:] for row in db_server.execute(f"SELECT id, token, v FROM {database}.t")}
    assert {number: (row["token"], row["v"]) for number, row in rows.items()} == table
    *_, newest = rows.values()
    assert list(newest) == ["id", "extra", "token", "v"]
    assert (newest["extra"], newest["v"]) == ("new", 1 << 40)
