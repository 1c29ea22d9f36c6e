"""Compressed transactions of MySQL, compressed events and columns of MariaDB."""

from __future__ import annotations

import subprocess
import sys
import zlib
from collections.abc import Iterator

import pytest
import zstandard

from cdckit.errors import DecodeError
from cdckit_mysql.binlog.compression import inflate, payload_events
from cdckit_mysql.binlog.events import Gtid, MariaDbGtid, Xid
from cdckit_mysql.binlog.query import CompressedQuery, Query
from cdckit_mysql.binlog.rows_event import RowsEvent
from cdckit_mysql.rows.log_cells import decompress_column
from mysql.decoding.reading import Reading

LONG = "compressible " * 40
LARGE_EVENT = """
import zstandard
from cdckit_mysql.binlog.compression import payload_events
size = 256 << 20
plain = bytes(9) + size.to_bytes(4, "little") + bytes(size - 13)
data = bytes([2, 1, 0, 0]) + zstandard.ZstdCompressor().compress(plain)
del plain
assert [end - start for _, start, end in payload_events(data, 0, len(data))] == [size]
"""
"""An event of 256 MiB: under a second where each byte is moved a few times, minutes where the work is quadratic."""


def payload(plain: bytes, says: int) -> bytes:
    """A compressed transaction that says how many bytes it holds."""
    size = b"\xfe" + says.to_bytes(8, "little")
    return b"\x02\x01\x00" + b"\x03\x09" + size + b"\x00" + zstandard.ZstdCompressor().compress(plain)


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
    assert isinstance(inside[-1], Xid)


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


def test_a_large_row_in_a_compressed_transaction(mysql_reading: Reading) -> None:
    mysql_reading.execute("CREATE TABLE t (id INT PRIMARY KEY, filler LONGBLOB)")
    size = 20_000_000
    rows = mysql_reading.inserted(
        "SET binlog_transaction_compression = ON",
        "BEGIN",
        "INSERT INTO t VALUES (1, 'a')",
        f"INSERT INTO t VALUES (2, REPEAT('b', {size}))",
        f"INSERT INTO t VALUES (3, REPEAT('c', 200000)), (4, REPEAT('d', {size}))",
        "INSERT INTO t VALUES (5, 'e')",
        "COMMIT",
    )
    expected = {1: b"a", 2: b"b" * size, 3: b"c" * 200_000, 4: b"d" * size, 5: b"e"}
    assert {row["id"]: row["filler"] for row in rows} == expected


def test_a_large_event_takes_linear_time() -> None:
    subprocess.run([sys.executable, "-c", LARGE_EVENT], check=True, timeout=60)


def test_what_holds_more_than_it_says_is_refused() -> None:
    event = bytes(9) + (3 << 20).to_bytes(4, "little") + bytes((3 << 20) - 13)
    whole = payload(event, len(event))
    assert [(start, end) for _, start, end in payload_events(whole, 0, len(whole))] == [(0, len(event))]
    bomb = payload(event, 100)
    with pytest.raises(DecodeError, match="more than the 100 bytes that it says"):
        list(payload_events(bomb, 0, len(bomb)))
    huge = payload(bytes(9) + (3 << 30).to_bytes(4, "little") + bytes(1 << 20), 4 << 30)
    with pytest.raises(DecodeError, match="an event of 3221225472 bytes"):
        list(payload_events(huge, 0, len(huge)))
    with pytest.raises(DecodeError, match="says that it holds 1099511627776 bytes"):
        inflate(b"\x86" + (1 << 40).to_bytes(6, "big") + zlib.compress(b"x"), 0, 16)
    zeros = b"\x81\x64" + zlib.compress(bytes(1 << 24))
    with pytest.raises(DecodeError, match="holds more bytes where it says 100"):
        inflate(zeros, 0, len(zeros))
    with pytest.raises(DecodeError, match="not 100 bytes long"):
        decompress_column(zeros)
