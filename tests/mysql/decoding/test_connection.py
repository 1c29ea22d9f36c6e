"""The connection to the log: where it starts, what the server refuses, and how it is lost."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from typing import Any

import pymysql
import pytest

from cdckit.errors import DecodeError, RetriableSourceError, SourceError
from cdckit_faults.harm.line import Line
from cdckit_mysql.binlog.connection import BinlogConnection, DumpOptions, FilePosition
from cdckit_mysql.binlog.errors import PositionLostError
from cdckit_mysql.binlog.event_types import TRANSACTION_PAYLOAD
from cdckit_mysql.binlog.events import FormatDescription, Gtid, Heartbeat, LogEvent, MariaDbGtid, Rotate, Xid
from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.integrity import LogIntegrity
from cdckit_mysql.binlog.parser import EventParser
from cdckit_mysql.binlog.place import HeaderScan
from cdckit_mysql.binlog.rows_event import RowsEvent
from mysql.decoding.reading import SERVER_ID, WAIT_SECONDS, Reading


def follow(reading: Reading, start: FilePosition, heartbeat_seconds: float = 10) -> BinlogConnection:
    """A connection that stays at the log's end."""
    options = DumpOptions(SERVER_ID, reading.flavor.value, heartbeat_seconds)
    return BinlogConnection.open(reading.connect, start, options)


def all_packets(reading: Reading, start: FilePosition) -> list[Span]:
    """The events from `start` to the log's end, as bytes."""
    options = DumpOptions(SERVER_ID, reading.flavor.value, follow=False)
    spans: list[Span] = []
    with BinlogConnection.open(reading.connect, start, options) as log:
        while not log.ended:
            spans += log.packets(WAIT_SECONDS)
    return spans


def drain(log: BinlogConnection) -> None:
    """Read what is there now; whatever the log has, it begins with what the server says of its file."""
    assert list(log.read(WAIT_SECONDS))
    while list(log.read(0.3)):
        pass


def test_events_come_as_they_are_written(reading: Reading) -> None:
    reading.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    with follow(reading, reading.position()) as log:
        drain(log)
        for number in range(5):
            reading.execute(f"INSERT INTO t VALUES ({number})")
            found: list[LogEvent] = []
            while log.parser.position < reading.position().position:
                found += log.read(WAIT_SECONDS)
            [rows] = [event for event in found if isinstance(event, RowsEvent)]
            assert reading.changes([rows]) == [("t", "write", None, {"id": number})]
            assert log.parser.position == reading.position().position
            assert log.parser.file == reading.position().file


def test_a_length_that_was_damaged_on_its_way_is_not_waited_for(reading: Reading) -> None:
    """Each heartbeat would be taken for a part of the event, so that the line never seems silent."""
    with Line(reading.server.port) as line:

        def connect() -> pymysql.Connection[Any]:
            return pymysql.connect(
                host="127.0.0.1", port=line.port, user="dbz", password="dbz", charset="utf8mb4", ssl_disabled=True
            )

        options = DumpOptions(SERVER_ID, reading.flavor.value)
        with BinlogConnection.open(connect, reading.position(), options) as log:
            drain(log)
            line.corrupt_after(3, 5)
            reading.execute("CREATE TABLE t (id INT PRIMARY KEY)")
            with pytest.raises(DecodeError, match="damaged on its way"):
                for _ in range(20):
                    list(log.read(0.5))


def test_nothing_comes_behind_the_end(reading: Reading) -> None:
    """Where the server has hung up, whether its word of the end came with the last events or by itself."""
    options = DumpOptions(SERVER_ID, reading.flavor.value, follow=False)
    with BinlogConnection.open(reading.connect, reading.position(), options) as log:
        while not log.ended:
            log.packets(WAIT_SECONDS)
        assert (log.packets(WAIT_SECONDS), log.ended) == ([], True)


def test_reading_waits_no_longer_than_asked(reading: Reading) -> None:
    with follow(reading, reading.position()) as log:
        drain(log)
        start = time.monotonic()
        assert list(log.read(0.2)) == []
        assert list(log.read(0.0)) == []
        assert time.monotonic() - start >= 0.2
        assert not log.ended


def test_heartbeats_move_nothing(reading: Reading) -> None:
    position = reading.position()
    with follow(reading, position, heartbeat_seconds=0.1) as log:
        deadline = time.monotonic() + 10
        beats = 0
        while beats < 3 and time.monotonic() < deadline:
            beats += sum(isinstance(event, Heartbeat) for event in log.read(1.0))
        assert beats >= 3
        assert (log.parser.file, log.parser.position) == position


def test_positions_are_those_of_the_log(reading: Reading) -> None:
    start = reading.position()
    reading.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "DELETE FROM t")
    events = [event for event in reading.events(start) if event.end > event.start]
    assert events[0].start == start.position
    assert all(one.end == other.start for one, other in pairwise(events))
    assert events[-1].end == reading.position().position
    first = [event for event in events if isinstance(event, Gtid | MariaDbGtid)][1]
    again = reading.events(FilePosition(start.file, first.start))
    assert [event.payload() for event in again if event.end > event.start][:1] == [first.payload()]


def test_the_next_file_follows(reading: Reading) -> None:
    reading.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    start = reading.position()
    reading.execute("INSERT INTO t VALUES (1)")
    reading.server.execute("FLUSH BINARY LOGS")
    reading.execute("INSERT INTO t VALUES (2)")
    events = reading.events(start)
    files = [event.file for event in events if isinstance(event, Rotate)]
    assert files[0] == start.file
    assert files[-1] == reading.position().file
    versions = {event.server_version for event in events if isinstance(event, FormatDescription)}
    assert versions == {reading.server.execute("SELECT @@version")[0][0]}
    assert [row["id"] for _, _, _, row in reading.changes(events) if row] == [1, 2]


@pytest.mark.parametrize("checksum", ["NONE", "CRC32"])
def test_checksums(reading: Reading, checksum: str) -> None:
    reading.execute("CREATE TABLE t (id INT PRIMARY KEY, text VARCHAR(20))")
    reading.server.execute(f"SET GLOBAL binlog_checksum = {checksum}")
    try:
        start = reading.position()
        reading.execute("INSERT INTO t VALUES (1, 'some text')")
        changes = reading.changes(reading.events(start))
        assert changes == [("t", "write", None, {"id": 1, "text": "some text"})]
    finally:
        reading.server.execute("SET GLOBAL binlog_checksum = CRC32")


def test_checksums_that_change_between_files(reading: Reading) -> None:
    reading.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    start = reading.position()
    reading.execute("INSERT INTO t VALUES (1)")
    reading.server.execute("SET GLOBAL binlog_checksum = NONE")
    reading.execute("INSERT INTO t VALUES (2)")
    reading.server.execute("SET GLOBAL binlog_checksum = CRC32")
    reading.execute("INSERT INTO t VALUES (3)")
    assert [row["id"] for _, _, _, row in reading.changes(reading.events(start)) if row] == [1, 2, 3]


def test_a_damaged_event_is_found_by_its_checksum(reading: Reading) -> None:
    reading.execute("CREATE TABLE t (text VARCHAR(20))")
    start = reading.position()
    reading.execute("INSERT INTO t VALUES ('needle')")
    with BinlogConnection.open(
        reading.connect, start, DumpOptions(SERVER_ID, reading.flavor.value, follow=False)
    ) as log:
        spans: list[Span] = []
        while not log.ended:
            spans += log.packets(5.0)
    damaged = [(buffer[at:end].replace(b"needle", b"noodle")) for buffer, at, end in spans]
    whole, fault = LogIntegrity(*start, checksums=True).whole([(event, 0, len(event)) for event in damaged])
    assert re.match(rf"{start.file}:\d+: the checksum", str(fault))
    assert len(whole) == next(number for number, event in enumerate(damaged) if b"noodle" in event)


def test_a_purged_position(reading: Reading) -> None:
    reading.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    start = reading.position()
    reading.server.execute("FLUSH BINARY LOGS")
    reading.server.purge_logs()
    with pytest.raises(PositionLostError, match=rf"{start.file}:{start.position}.* 1236"):
        reading.events(start)


def test_a_position_behind_the_logs_end(reading: Reading) -> None:
    file, position = reading.position()
    with pytest.raises(PositionLostError, match="1236"):
        reading.events(FilePosition(file, position + 1_000_000))


def test_a_position_inside_an_event(reading: Reading) -> None:
    file, position = reading.position()
    reading.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    with pytest.raises((SourceError, DecodeError)):
        reading.events(FilePosition(file, position + 7))


def test_a_connection_that_is_killed(reading: Reading) -> None:
    with follow(reading, reading.position()) as log:
        drain(log)
        reading.server.end_log_readers()
        reading.execute("CREATE TABLE t (id INT PRIMARY KEY)")
        with pytest.raises(RetriableSourceError, match=f"{reading.position().file}:"):
            for _ in range(20):
                list(log.read(1.0))


def test_a_connection_that_falls_silent(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    with follow(reading, reading.position(), heartbeat_seconds=30) as log:
        drain(log)
        later = time.monotonic() + 100
        monkeypatch.setattr("cdckit_mysql.binlog.connection.time.monotonic", lambda: later)
        with pytest.raises(RetriableSourceError, match="not even a heartbeat"):
            list(log.read(0.0))


def test_missing_privilege(reading: Reading) -> None:
    user = f"u{reading.database[2:]}"
    reading.server.create_user(user, "x", ("SELECT",))
    with pytest.raises(SourceError, match="REPLICATION SLAVE"):
        BinlogConnection.open(
            lambda: reading.server.connect(user, "x"), reading.position(), DumpOptions(SERVER_ID, reading.flavor.value)
        ).packets(5.0)


def test_a_connection_that_cannot_be_opened(reading: Reading) -> None:
    def refuse() -> pymysql.connections.Connection[pymysql.cursors.Cursor]:
        return pymysql.connect(host="127.0.0.1", port=1, user="nobody")

    with pytest.raises(pymysql.OperationalError):
        BinlogConnection.open(refuse, reading.position(), DumpOptions(SERVER_ID))


def test_login_by_tls(reading: Reading) -> None:
    reading.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    start = reading.position()
    reading.execute("INSERT INTO t VALUES (1)")
    options = DumpOptions(SERVER_ID, reading.flavor.value, follow=False)
    with BinlogConnection.open(lambda: reading.server.connect("dbz", "dbz"), start, options) as log:
        found: list[LogEvent] = []
        while not log.ended:
            found += log.read(5.0)
    assert reading.changes(found) == [("t", "write", None, {"id": 1})]


def test_headers_are_scanned_as_events_are_parsed(reading: Reading) -> None:
    start = reading.position()
    reading.execute(
        "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "UPDATE t SET id = 2", "DELETE FROM t"
    )
    reading.server.execute("FLUSH BINARY LOGS")
    reading.execute("INSERT INTO t VALUES (3)")
    with BinlogConnection.open(
        reading.connect, start, DumpOptions(SERVER_ID, reading.flavor.value, follow=False)
    ) as log:
        spans: list[Span] = []
        while not log.ended:
            spans += log.packets(5.0)
    scan = HeaderScan(start.position)
    scanned = [scan.scan(buffer, at) for buffer, at, _ in spans]
    parser = EventParser(*start, checksums=True)
    parsed = [(event.type, event.start, event.end) for event in parser.events(spans)]
    assert [found[:3] for found in scanned] == parsed
    begins = [found for found in scanned if found[3]]
    assert len(begins) == 5
    assert all(code in {33, 162} for code, _, _, _ in begins)


def test_ranges_of_packets_are_parsed_elsewhere(mysql_reading: Reading) -> None:
    """What a planner has kept of the log gives the same events to a parser that knows only where it begins."""
    mysql_reading.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    start = mysql_reading.position()
    mysql_reading.execute(
        "INSERT INTO t VALUES (1)", "SET binlog_transaction_compression = ON", "INSERT INTO t VALUES (2), (3)"
    )
    spans = all_packets(mysql_reading, start)
    kept = [buffer[at:end] for buffer, at, end in spans]
    assert any(event[4] == TRANSACTION_PAYLOAD for event in kept)
    parser = EventParser(*start, checksums=True)
    events = [found for event in kept for found in parser.parse(event, 0, len(event))]
    assert [row["id"] for _, _, _, row in mysql_reading.changes(events) if row] == [1, 2, 3]
    assert sum(isinstance(event, Xid) for event in events) == 2
