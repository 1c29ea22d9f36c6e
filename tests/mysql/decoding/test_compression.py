"""Compressed transactions of MySQL, compressed events and columns of MariaDB."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cdckit.errors import DecodeError
from cdckit_mysql.binlog.compression import inflate, payload_events
from cdckit_mysql.binlog.events import Gtid, MariaDbGtid, Xid
from cdckit_mysql.binlog.query import CompressedQuery, Query
from cdckit_mysql.binlog.rows_event import RowsEvent
from mysql.decoding.reading import Reading

LONG = "compressible " * 40


def test_rows_of_a_compressed_transaction(mysql_reading: Reading) -> None:
    mysql_reading.execute("CREATE TABLE t (id INT PRIMARY KEY, text TEXT)", "CREATE TABLE u (id INT PRIMARY KEY)")
    changes = mysql_reading.written(
        "SET binlog_transaction_compression = ON",
        "BEGIN",
        f"INSERT INTO t VALUES (1, '{LONG}'), (2, 'b')",
        "INSERT INTO u VALUES (7)",
        "UPDATE t SET text = 'c' WHERE id = 2",
        "DELETE FROM t WHERE id = 1",
        "COMMIT",
    )
    assert changes == [
        ("t", "write", None, {"id": 1, "text": LONG}),
        ("t", "write", None, {"id": 2, "text": "b"}),
        ("u", "write", None, {"id": 7}),
        ("t", "update", {"id": 2, "text": "b"}, {"id": 2, "text": "c"}),
        ("t", "delete", {"id": 1, "text": LONG}, None),
    ]


def test_events_of_a_compressed_transaction_stand_where_it_stands(mysql_reading: Reading) -> None:
    mysql_reading.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    start = mysql_reading.position()
    mysql_reading.execute("SET binlog_transaction_compression = ON", "INSERT INTO t VALUES (1)")
    events = mysql_reading.events(start)
    [gtid] = [event for event in events if isinstance(event, Gtid)]
    inside = [event for event in events if isinstance(event, Query | RowsEvent | Xid)]
    end = mysql_reading.position().position
    assert {(event.start, event.end) for event in inside} == {(gtid.end, end)}
    assert inside[-1].ends_transaction


def test_a_compressed_transaction_larger_than_a_packet(mysql_reading: Reading) -> None:
    mysql_reading.execute("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, filler VARBINARY(2000))")
    rows = mysql_reading.inserted(
        "SET binlog_transaction_compression = ON, cte_max_recursion_depth = 20000",
        "INSERT INTO t (filler) WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 12000)"
        " SELECT REPEAT(UNHEX(SHA2(i, 512)), 30) FROM n",
    )
    assert [row["id"] for row in rows] == list(range(1, 12_001))
    assert {len(row["filler"]) for row in rows} == {1920}


@pytest.fixture
def compressing(mariadb_reading: Reading) -> Iterator[Reading]:
    """A database of MariaDB, whose server compresses what it logs from here on."""
    mariadb_reading.execute("CREATE TABLE t (id INT PRIMARY KEY, text TEXT)")
    mariadb_reading.server.execute("SET GLOBAL log_bin_compress = ON")
    mariadb_reading.server.execute("SET GLOBAL log_bin_compress_min_len = 10")
    yield mariadb_reading
    mariadb_reading.server.execute("SET GLOBAL log_bin_compress = OFF")


def test_compressed_rows_events(compressing: Reading) -> None:
    start = compressing.position()
    compressing.execute(
        f"INSERT INTO t VALUES (1, '{LONG}'), (2, '{LONG}x')",
        f"UPDATE t SET text = CONCAT('{LONG}', id)",
        "DELETE FROM t",
    )
    events = compressing.events(start)
    assert all(event.data is not event.buffer for event in events if isinstance(event, RowsEvent))
    one, two = {"id": 1, "text": f"{LONG}1"}, {"id": 2, "text": f"{LONG}2"}
    assert compressing.changes(events) == [
        ("t", "write", None, {"id": 1, "text": LONG}),
        ("t", "write", None, {"id": 2, "text": f"{LONG}x"}),
        ("t", "update", {"id": 1, "text": LONG}, one),
        ("t", "update", {"id": 2, "text": f"{LONG}x"}, two),
        ("t", "delete", one, None),
        ("t", "delete", two, None),
    ]


def test_compressed_statement(compressing: Reading) -> None:
    start = compressing.position()
    compressing.execute(f"CREATE TABLE u (id INT PRIMARY KEY COMMENT '{LONG}')")
    [query] = [event for event in compressing.events(start) if isinstance(event, Query)]
    assert isinstance(query, CompressedQuery)
    assert query.sql == f"CREATE TABLE u (id INT PRIMARY KEY COMMENT '{LONG}')"
    assert query.keyword == "CREATE"
    assert query.database == compressing.database
    assert query.session.client_charset == "utf8mb4"


def test_compressed_columns(mariadb_reading: Reading) -> None:
    mariadb_reading.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(3000) COMPRESSED, w VARCHAR(50) CHARACTER SET latin1 COMPRESSED,"
        " b BLOB COMPRESSED, t MEDIUMTEXT COMPRESSED CHARACTER SET utf16, x VARBINARY(500) COMPRESSED)"
    )
    big = LONG + "é"
    rows = mariadb_reading.inserted(
        f"INSERT INTO t VALUES (1, '{big}', 'é', REPEAT('b', 2000), '{big}', REPEAT(X'00FF', 200)),"
        " (2, '', '', '', '', ''),"
        " (3, NULL, NULL, NULL, NULL, NULL)"
    )
    assert rows == [
        {"id": 1, "v": big, "w": "é", "b": b"b" * 2000, "t": big, "x": b"\x00\xff" * 200},
        {"id": 2, "v": "", "w": "", "b": b"", "t": "", "x": b""},
        {"id": 3, "v": None, "w": None, "b": None, "t": None, "x": None},
    ]
    assert mariadb_reading.selected(mariadb_reading.tables()["t"]) == rows


def test_a_transaction_of_mariadb_begins_with_its_gtid(mariadb_reading: Reading) -> None:
    start = mariadb_reading.position()
    mariadb_reading.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    gtids = [event for event in mariadb_reading.events(start) if isinstance(event, MariaDbGtid)]
    assert [event.standalone for event in gtids] == [True, False]
    assert [event.gtid for event in gtids] == [f"0-13310-{gtids[0].sequence}", f"0-13310-{gtids[0].sequence + 1}"]


def test_damaged_payloads_are_errors() -> None:
    with pytest.raises(DecodeError, match="damaged"):
        inflate(b"\x81\x05garbage", 0, 9)
    with pytest.raises(DecodeError, match="algorithm 3"):
        inflate(b"\xb1\x05garbage", 0, 9)
    with pytest.raises(DecodeError, match="damaged"):
        list(payload_events(bytes([2, 1, 0, 0]) + b"no zstandard frame", 0, 22))
    with pytest.raises(DecodeError, match="algorithm 9"):
        list(payload_events(bytes([2, 1, 9, 0]) + b"anything", 0, 12))
    uncompressed = bytes([2, 3, 252, 255, 0, 0])
    with pytest.raises(DecodeError, match="event of 0 bytes"):
        list(payload_events(uncompressed + bytes(30), 0, 36))
    with pytest.raises(DecodeError, match="middle of an event"):
        list(payload_events(uncompressed + bytes(9) + bytes([31, 0, 0, 0]) + bytes(17), 0, 36))
