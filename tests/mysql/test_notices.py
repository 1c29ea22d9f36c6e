"""What the source tells of itself while it reads the log: its connection, what is captured, and its counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cdckit.api.source import SourceContext
from cdckit.api.source_counts import SourceCounts
from cdckit.testing.notices import RecordedNotices
from mysql.capture import Capture
from mysql.conftest import NewCapture
from testkit.servers.mysql_family import SQLServer


def told(reading: Capture, notice: str) -> list[dict[str, Any]]:
    return reading.heard.of(notice)


def test_a_lost_connection_and_the_next_one(
    capture: NewCapture, sql: Callable[[str], None], db_server: SQLServer
) -> None:
    sql("create table t (a int primary key)")
    reading = capture()
    reading.once()
    with reading.following() as batches:
        next(batches)
        assert [facts["connected"] for facts in told(reading, "connection")] == [True]
        while told(reading, "connection")[-1]["connected"]:
            db_server.end_log_readers()  # again, where the server had not begun to send
            next(batches)
        sql("insert into t values (1)")
        while not next(batches).records:
            pass
    connections = told(reading, "connection")
    assert [facts["connected"] for facts in connections] == [True, False, True]
    assert connections[1]["reason"]


def counted(reading: Capture, *, wanted: bool) -> tuple[SourceCounts, RecordedNotices]:
    """What is counted up to the log's end."""
    notices = RecordedNotices()
    counts = SourceCounts(wanted=wanted)
    reading.source.open(SourceContext("p", reading.state, notices, reading.stop, idle_seconds=0.05, counts=counts))
    reading.once()
    return counts, notices


CHANGES = """
insert into t values (1), (2), (3);
update t set a = a + 10 where a > 1;
delete from t where a = 1;
insert into other values (1);
"""


def test_counts_by_operation_where_they_are_wanted(
    capture: NewCapture, sql: Callable[[str], None], database: str
) -> None:
    sql("create table t (a int primary key); create table other (a int primary key)")
    reading = capture(table_include_list=f"{database}.t")
    reading.once()
    sql(CHANGES)
    counts, notices = counted(reading, wanted=True)
    assert counts.operations == {"c": 3, "u": 2, "d": 1}
    assert (counts.transactions, counts.filtered, counts.rolled_back) == (4, 1, 0)
    assert counts.event is not None
    taken = counts.take()
    assert taken.operations == {"c": 3, "u": 2, "d": 1}
    assert not counts
    sql("insert into t values (100)")
    counts, notices = counted(reading, wanted=False)
    assert (counts.operations, counts.transactions) == ({}, 0)
    assert counts.take().tables == {f"{database}.t": {"c": 1}}
    assert not counts
    assert not notices.of("captured")


def test_what_is_skipped_is_counted_though_nothing_else_is(
    capture: NewCapture, sql: Callable[[str], None], database: str
) -> None:
    sql("create table t (a int primary key)")
    capture().once()
    sql("set sql_log_bin = 0; alter table t add column b int")
    sql("insert into t values (1, 1); insert into t values (2, 2)")
    counts, _ = counted(capture(inconsistent_schema_handling_mode="skip"), wanted=False)
    assert counts.skipped == {f"{database}.t": 2}
    assert counts.operations == {}
