"""GTIDs in the log, tagged ones too, and the sets that a reading starts from."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from cdckit_mysql.binlog.connection import FilePosition
from cdckit_mysql.binlog.errors import PositionLostError
from cdckit_mysql.binlog.events import Gtid, MariaDbGtid, PreviousGtids, TaggedGtid
from cdckit_mysql.binlog.gtid import GtidSet, MariaDbGtidSet, TransactionSource
from mysql.decoding.reading import Reading
from testkit.servers.mysql import MySQLServer

UUIDS = ("11111111-1111-1111-1111-111111111111", "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee")
SOURCES = [TransactionSource(uuid, tag) for uuid in UUIDS for tag in ("", "blue", "tag_32")]

Members = set[tuple[TransactionSource, int]]
members = st.sets(st.tuples(st.sampled_from(SOURCES), st.integers(1, 40)))


def set_of(chosen: Members) -> GtidSet:
    made = GtidSet()
    for source, number in chosen:
        made.add(source, number)
    return made


def members_of(gtids: GtidSet) -> Members:
    return {(source, number) for source, pairs in gtids.sources() for a, b in pairs for number in range(a, b + 1)}


@given(members, members)
def test_a_set_of_gtids_is_a_set(one: Members, two: Members) -> None:
    first, second = set_of(one), set_of(two)
    assert members_of(first) == one
    assert members_of(first | second) == one | two
    assert members_of(first - second) == one - two
    assert first.issuperset(second) == (one >= two)
    assert all(first.contains(source, number) == ((source, number) in one) for source, number in one | two)


@given(members)
def test_text_and_wire_hold_the_whole_set(chosen: Members) -> None:
    gtids = set_of(chosen)
    assert GtidSet.parse(str(gtids)) == gtids
    assert GtidSet.from_wire(gtids.to_wire()) == gtids


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 12))))
def test_intervals_are_joined(ranges: list[tuple[int, int]]) -> None:
    gtids = GtidSet()
    for first, more in ranges:
        gtids.add(SOURCES[0], first, first + more)
    [pairs] = [pairs for _, pairs in gtids.sources()] or [[]]
    assert all(b + 1 < c for (_, b), (c, _) in pairwise(pairs))


def test_text_as_the_server_writes_it() -> None:
    text = f"{UUIDS[0]}:1-3:7:blue:1:9-10,\n{UUIDS[1]}:5"
    assert str(GtidSet.parse(text)) == f"{UUIDS[0]}:1-3:7:blue:1:9-10,{UUIDS[1]}:5"
    assert str(GtidSet.parse("")) == ""
    assert not GtidSet()


@pytest.mark.parametrize("text", ["nonsense:1", f"{UUIDS[0]}:x-y", f"{UUIDS[0]}:9-3", f"{UUIDS[0]}:0"])
def test_text_that_is_no_set(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        GtidSet.parse(text)


def executed(reading: Reading) -> GtidSet:
    [(text,)] = reading.server.execute("SELECT @@global.gtid_executed")
    return GtidSet.parse(text)


def test_tagged_transactions_are_read(mysql_reading: Reading) -> None:
    mysql_reading.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    start, known = mysql_reading.position(), executed(mysql_reading)
    before = time.time_ns() // 1000
    mysql_reading.execute(
        "SET gtid_next = 'AUTOMATIC:blue'",
        "INSERT INTO t VALUES (1)",
        "SET gtid_next = 'AUTOMATIC:an_even_longer_tag_of_32_letters'",
        "INSERT INTO t VALUES (2)",
        "SET gtid_next = 'AUTOMATIC'",
        "INSERT INTO t VALUES (3)",
    )
    after = time.time_ns() // 1000
    events = mysql_reading.events(start)
    gtids = [event for event in events if isinstance(event, Gtid)]
    assert [type(event) for event in gtids] == [TaggedGtid, TaggedGtid, Gtid]
    assert [event.source.tag for event in gtids] == ["blue", "an_even_longer_tag_of_32_letters", ""]
    for event in gtids:
        known.add(event.source, event.number)
        assert before <= (event.commit_timestamp_us or 0) <= after
        assert event.gtid == f"{event.source}:{event.number}"
    assert known == executed(mysql_reading)
    ends = [*(event.start for event in gtids[1:]), mysql_reading.position().position]
    assert [event.start + event.transaction_bytes for event in gtids] == ends
    assert [row["id"] for _, _, _, row in mysql_reading.changes(events) if row] == [1, 2, 3]


def test_reading_starts_behind_a_set_with_tags(mysql_reading: Reading) -> None:
    mysql_reading.execute(
        "CREATE TABLE t (id INT PRIMARY KEY)", "SET gtid_next = 'AUTOMATIC:green'", "INSERT INTO t VALUES (1)"
    )
    known = executed(mysql_reading)
    mysql_reading.execute("SET gtid_next = 'AUTOMATIC:green'", "INSERT INTO t VALUES (2)", "INSERT INTO t VALUES (3)")
    events = mysql_reading.events(known)
    assert [row["id"] for _, _, _, row in mysql_reading.changes(events) if row] == [2, 3]


def test_reading_starts_behind_a_set_without_tags(mysql_server: MySQLServer, unique_name: str) -> None:
    known = GtidSet.parse(f"{mysql_server.execute('SELECT @@server_uuid')[0][0]}:1-1000000")
    mysql_server.execute(f"CREATE DATABASE {unique_name}")
    reading = Reading(mysql_server, unique_name)
    start = executed(reading)
    mysql_server.execute(f"DROP DATABASE {unique_name}")
    found = [event.gtid for event in reading.events(start) if isinstance(event, Gtid)]
    assert found == [str(executed(reading) - start)]
    with pytest.raises(PositionLostError, match="1236"):
        reading.events(known)


def test_sets_that_stand_in_the_log(mysql_reading: Reading) -> None:
    mysql_reading.execute(
        "CREATE TABLE t (id INT PRIMARY KEY)", "SET gtid_next='AUTOMATIC:red'", "INSERT INTO t VALUES (1)"
    )
    before = executed(mysql_reading)
    mysql_reading.server.execute("FLUSH BINARY LOGS")
    file = mysql_reading.position().file
    [previous] = [e for e in mysql_reading.events(FilePosition(file, 4)) if isinstance(e, PreviousGtids)]
    assert previous.gtids == before


def test_mariadb_starts_behind_a_gtid_or_at_a_place(mariadb_reading: Reading) -> None:
    mariadb_reading.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    place = mariadb_reading.position()
    [(text,)] = mariadb_reading.server.execute("SELECT @@global.gtid_binlog_pos")
    mariadb_reading.execute("INSERT INTO t VALUES (2)", "SET gtid_domain_id = 5", "INSERT INTO t VALUES (3)")
    for start in (MariaDbGtidSet.parse(text), place):
        events = mariadb_reading.events(start)
        assert [row["id"] for _, _, _, row in mariadb_reading.changes(events) if row] == [2, 3]
        position = MariaDbGtidSet.parse(text)
        for event in events:
            if isinstance(event, MariaDbGtid):
                position.add(event.domain, event.server_id, event.sequence)
        [(now,)] = mariadb_reading.server.execute("SELECT @@global.gtid_binlog_pos")
        assert position == MariaDbGtidSet.parse(now)
        assert position.contains(5, 1)


def test_mariadb_does_not_have_a_gtid(mariadb_reading: Reading) -> None:
    with pytest.raises(PositionLostError, match="0-999-999999"):
        mariadb_reading.events(MariaDbGtidSet.parse("0-999-999999"))
