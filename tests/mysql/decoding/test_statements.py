"""Statements in the log, what their sessions had set, and the other events around rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdckit.errors import DecodeError
from cdckit_mysql.binlog.connection import FilePosition
from cdckit_mysql.binlog.events import (
    AnnotateRows,
    Gtid,
    Incident,
    LogEvent,
    RowsQuery,
    StatementContext,
    XaPrepare,
    Xid,
)
from cdckit_mysql.binlog.parser import EventParser
from cdckit_mysql.binlog.place import HEADER, LogPlace
from cdckit_mysql.binlog.query import LoadQuery, Query
from cdckit_mysql.binlog.rows_event import RowsEvent
from cdckit_mysql.binlog.tables import TableMapEvent
from cdckit_mysql.streaming.row_statements import ROW_CHANGES
from mysql.decoding.reading import Reading


def queries(events: list[LogEvent]) -> list[Query]:
    return [event for event in events if isinstance(event, Query) and not event.is_begin]


def logged(reading: Reading, *statements: str) -> list[LogEvent]:
    start = reading.position()
    reading.execute(*statements)
    return reading.events(start)


def test_a_statement_of_a_binary_session(reading: Reading) -> None:
    """The server reads its names and comments as UTF-8; bytes that are none, as in a literal, are read one by one."""
    statement = "CREATE TABLE `été` (id INT COMMENT 'Ünï')"
    start = reading.position()
    reading.execute("SET NAMES binary", statement, "DROP TABLE `été`", "SET NAMES latin1")
    created, _ = queries(reading.events(start))
    assert (created.session.client_charset, created.sql) == ("binary", statement)
    [[name]] = reading.server.execute("SELECT 'x'")
    assert name == "x"


def test_a_statement_with_its_session(reading: Reading) -> None:
    sql = "CREATE TABLE `été` (id INT COMMENT 'Ünï', t TIMESTAMP DEFAULT '2020-01-01 00:00:00')"
    start = reading.position()
    connection = reading.server.connect(database=reading.database, charset="latin1")
    with connection.cursor() as cursor:
        cursor.execute("SET sql_mode = 'ANSI_QUOTES', time_zone = '+03:00', timestamp = 1700000000")
        cursor.execute(sql)
        cursor.execute("SELECT CONNECTION_ID()")
        [(thread,)] = cursor.fetchall()
    connection.close()
    events = reading.events(start)
    [query] = queries(events)
    assert query.sql == sql
    assert query.statement == sql.encode("latin-1")
    assert query.database == reading.database
    assert query.thread_id == thread
    assert query.timestamp == 1_700_000_000
    session = query.session
    assert session.client_charset == "latin1"
    assert session.time_zone == "+03:00"
    assert (session.sql_mode or 0) & 4


def test_keywords_behind_comments() -> None:
    def keyword(sql: str) -> str:
        statement = sql.encode()
        body = bytes(4 + 4) + b"\0" + bytes(2) + bytes(2) + b"\0" + statement
        return Query((0, 2, 1, 0, 0, 0), 0, 0, body, 0, len(body)).keyword

    assert keyword("alter table t add x int") == "ALTER"
    assert keyword(" /* why */ -- because\n # and\n (SELECT 1)") == "SELECT"
    assert keyword("/*!40000 ALTER TABLE t DISABLE KEYS */") == "ALTER"
    assert keyword("/*M!100300 DROP TABLE t */") == "DROP"
    assert keyword("") == ""
    assert keyword("# Dummy event replacing event type 160 that slave cannot handle.") == ""


def test_changes_of_rows_in_the_statement_format_are_told(reading: Reading) -> None:
    events = logged(
        reading,
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, n INT)",
        "SET binlog_format = STATEMENT, @given = 5",
        "SET timestamp = 1700000000.25",
        "INSERT INTO t (n) VALUES (RAND() + @given + MICROSECOND(NOW(6)))",
        "UPDATE t SET n = 2",
        "REPLACE INTO t VALUES (1, 1)",
        "WITH x AS (SELECT 1 AS i) SELECT * FROM x",
        "DELETE FROM t",
    )
    changes = [query for query in queries(events) if query.keyword in ROW_CHANGES]
    assert changes[0].session.microseconds == 250_000
    assert [query.keyword for query in changes] == ["INSERT", "UPDATE", "REPLACE", "DELETE"]
    assert any(isinstance(event, StatementContext) for event in events)
    assert not any(isinstance(event, RowsEvent) for event in events)


def test_loading_in_the_statement_format_is_told(reading: Reading, tmp_path: Path) -> None:
    file = tmp_path / "rows.txt"
    file.write_text("1\n2\n")
    reading.execute("CREATE TABLE t (id INT PRIMARY KEY)", "SET GLOBAL local_infile = ON")
    start = reading.position()
    connection = reading.server.connect(database=reading.database, local_infile=True)
    with connection.cursor() as cursor:
        cursor.execute("SET binlog_format = STATEMENT")
        cursor.execute(f"LOAD DATA LOCAL INFILE '{file}' INTO TABLE t")
    connection.close()
    [query] = [query for query in queries(reading.events(start)) if query.keyword != "COMMIT"]
    assert isinstance(query, LoadQuery)
    assert query.keyword in ROW_CHANGES
    assert query.database == reading.database
    assert query.sql.startswith("LOAD DATA LOCAL INFILE")


def test_statements_that_change_no_rows(reading: Reading) -> None:
    events = logged(
        reading,
        "CREATE TABLE t (id INT PRIMARY KEY) ENGINE = InnoDB",
        "CREATE TABLE m (id INT PRIMARY KEY) ENGINE = MyISAM",
        "INSERT INTO m VALUES (1)",
        "ALTER TABLE t ADD COLUMN n INT",
        "TRUNCATE TABLE t",
        "CREATE VIEW v AS SELECT * FROM t",
        "DROP TABLE t",
    )
    found = queries(events)
    assert not any(query.keyword in ROW_CHANGES for query in found)
    keywords = [query.keyword for query in found]
    assert keywords == ["CREATE", "CREATE", "COMMIT", "ALTER", "TRUNCATE", "CREATE", "DROP"]
    assert len([event for event in events if isinstance(event, RowsEvent)]) == 1


def test_statements_behind_rows(reading: Reading) -> None:
    sql = "INSERT INTO t VALUES (1, 'é😀')"
    events = logged(reading, "CREATE TABLE t (id INT PRIMARY KEY, text VARCHAR(9))", sql)
    [statement] = [event for event in events if isinstance(event, RowsQuery | AnnotateRows)]
    assert statement.sql == sql


def test_transactions_of_the_xa_protocol(reading: Reading) -> None:
    events = logged(
        reading,
        "CREATE TABLE t (id INT PRIMARY KEY)",
        "XA START 'a'",
        "INSERT INTO t VALUES (1)",
        "XA END 'a'",
        "XA PREPARE 'a'",
        "XA COMMIT 'a'",
        "XA START 'b'",
        "INSERT INTO t VALUES (2)",
        "XA END 'b'",
        "XA COMMIT 'b' ONE PHASE",
    )
    assert [row["id"] for _, _, _, row in reading.changes(events) if row] == [1, 2]
    prepared = [event for event in events if isinstance(event, XaPrepare)]
    assert len(prepared) + sum(isinstance(event, Xid) for event in events) == 2
    assert all(query.keyword in {"CREATE", "XA"} for query in queries(events))


def test_transactions_without_gtids(mysql_reading: Reading) -> None:
    server = mysql_reading.server
    server.execute("SET GLOBAL gtid_mode = ON_PERMISSIVE")
    try:
        mysql_reading.execute("CREATE TABLE t (id INT PRIMARY KEY)")
        server.execute("SET GLOBAL gtid_mode = OFF_PERMISSIVE")
        events = logged(mysql_reading, "INSERT INTO t VALUES (1)")
        [gtid] = [event for event in events if isinstance(event, Gtid)]
        assert gtid.gtid is None
        assert gtid.commit_timestamp_us is not None
        assert mysql_reading.changes(events) == [("t", "write", None, {"id": 1})]
    finally:
        server.execute("SET GLOBAL gtid_mode = ON_PERMISSIVE")
        server.execute("SET GLOBAL gtid_mode = ON")


def test_what_a_table_map_tells(reading: Reading) -> None:
    events = logged(
        reading,
        "CREATE TABLE t (a INT UNSIGNED, b VARCHAR(9) CHARACTER SET latin1, c TEXT CHARACTER SET utf8mb4, d BLOB,"
        " e ENUM('x', 'é') CHARACTER SET utf8mb4, s SET('p', 'q') CHARACTER SET latin1, g GEOMETRY, id BIGINT,"
        " u DECIMAL(5,2) UNSIGNED, PRIMARY KEY (id, b(3)))",
        "INSERT INTO t (id, b) VALUES (1, 'b')",
    )
    [event] = [event for event in events if isinstance(event, TableMapEvent)]
    assert (event.table.database, event.table.name) == (reading.database, "t")
    told = event.table.column_metadata
    assert told.names == ("a", "b", "c", "d", "e", "s", "g", "id", "u")
    assert told.unsigned == (True, False, False, False, False, False, False, False, True)
    assert told.primary_key == (7, 1)
    assert told.labels is not None
    assert told.labels[4:6] == ((b"x", "é".encode()), (b"p", b"q"))
    assert told.geometry_types == (0,)
    collations = told.collations or ()
    assert (collations[1], collations[3], collations[5], collations[0]) == (8, 63, 8, None)
    assert told.visible is None or all(told.visible)


def test_table_maps_without_optional_metadata(reading: Reading) -> None:
    reading.server.execute("SET GLOBAL binlog_row_metadata = MINIMAL")
    try:
        events = logged(reading, "CREATE TABLE t (a INT, b TEXT)", "INSERT INTO t VALUES (1, 'x')")
        [event] = [event for event in events if isinstance(event, TableMapEvent)]
        assert event.table.column_metadata.names is None
        assert reading.changes(events) == [("t", "write", None, {"a": 1, "b": "x"})]
    finally:
        reading.server.execute("SET GLOBAL binlog_row_metadata = FULL")


def test_rows_without_their_table_map(reading: Reading) -> None:
    events = logged(reading, "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)")
    [announced] = [event for event in events if isinstance(event, TableMapEvent)]
    with pytest.raises(DecodeError, match="no TABLE_MAP has announced"):
        reading.events(FilePosition(reading.position().file, announced.end))


def test_events_that_are_not_known() -> None:
    def event(code: int, flags: int) -> bytes:
        return HEADER.pack(0, code, 1, 30, 130, flags) + bytes(11)

    parser = EventParser("log.000001", 100)
    ignorable = event(200, 0x80)
    [found] = parser.parse(ignorable, 0, len(ignorable))
    assert (found.start, found.end) == (100, 130)
    unknown = event(200, 0)
    with pytest.raises(DecodeError, match=r"log\.000001:100: an event of type 200"):
        list(parser.events([(unknown, 0, len(unknown))]))


def test_an_incident_is_told() -> None:
    body = b"\x01\x00\x04lost"
    data = HEADER.pack(0, 26, 1, 19 + len(body), 200, 0) + body
    [event] = EventParser("log.000001", 100).parse(data, 0, len(data))
    assert isinstance(event, Incident)
    assert event.message == "lost"


def test_positions_beyond_32_bits() -> None:
    place = LogPlace((1 << 32) - 50)
    assert place.advance((0, 16, 1, 100, 50, 0)) == ((1 << 32) - 50, (1 << 32) + 50)
    assert place.advance((0, 16, 1, 31, 81, 0)) == ((1 << 32) + 50, (1 << 32) + 81)
    assert place.advance((0, 27, 1, 31, 5, 0)) == ((1 << 32) + 81, (1 << 32) + 81)
