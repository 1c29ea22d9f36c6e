"""Tables read again: their rows come as a snapshot, in order with the log, and the others go on where they are."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.record import Record
from cdckit.api.struct import Struct
from cdckit.connector.resnapshot import KEPT_AS, ask, pending
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.errors import SourceError
from mysql.capture import Capture, changes
from mysql.conftest import NewCapture
from mysql.signalling import SIGNALS, Signalled
from testkit.servers.mysql_family import SQLServer

pytestmark = pytest.mark.one_server

Sql = Callable[[str], None]

TABLES = """
CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(20));
CREATE TABLE b (id INT PRIMARY KEY, v VARCHAR(20));
INSERT INTO a VALUES (1, 'old'), (2, 'gone');
INSERT INTO b VALUES (1, 'old');
"""
LATER = """
UPDATE a SET v = 'new' WHERE id = 1;
DELETE FROM a WHERE id = 2;
INSERT INTO b VALUES (2, 'later');
"""


def _told(records: Sequence[Record]) -> list[tuple[Any, ...]]:
    return [
        (change[1], change[0], *(change[3] or change[2])) for change in changes(records) if change[0] != "tombstone"
    ]


def _positions(records: Sequence[Record]) -> list[str]:
    return [record.position for record in records]


def _asked(reading: Capture, *tables: str) -> Capture:
    ask(reading.state, reading.offset(), tables)
    return reading


def test_the_changes_come_first_and_then_the_rows(capture: NewCapture, sql: Sql, database: str) -> None:
    sql(TABLES)
    capture().once()
    sql(LATER)
    again = _asked(capture(), f"{database}.a")
    found = again.once()
    assert _told(found) == [
        ("a", "u", 1, "new"), ("a", "d", 2, "gone"), ("b", "c", 2, "later"), ("a", "r", 1, "new"),
    ]  # fmt: skip
    assert _positions(found) == sorted(_positions(found))
    sql("INSERT INTO a VALUES (3, 'on');")
    assert _told(again.once()) == [("a", "c", 3, "on")]


def test_what_was_done_is_forgotten(capture: NewCapture, sql: Sql, database: str) -> None:
    sql(TABLES)
    capture().once()
    again = _asked(capture(), f"{database}.a")
    [split] = again.source.plan(again.offset(), None)
    for batch in again.source.read(split):
        again.keep(batch.offset)
        assert batch.offset is None or again.state.get(KEPT_AS) is not None
    assert pending(again.state, again.offset()) is None
    again.source.committed(again.offset())
    assert again.state.get(KEPT_AS) is None


def test_a_snapshot_of_one_table_goes_on_where_it_was_killed(capture: NewCapture, sql: Sql, database: str) -> None:
    """Also where it was killed while it told of the changes before; no other table is read."""
    sql(TABLES)
    sql("INSERT INTO a SELECT seq, 'x' FROM (WITH RECURSIVE n (seq) AS (SELECT 3 UNION ALL SELECT seq + 1 FROM n "
        "WHERE seq < 60) SELECT seq FROM n) numbers;")  # fmt: skip
    capture().once()
    sql(LATER)
    _asked(capture(), f"{database}.a", f"{database}.b")
    told: list[tuple[Any, ...]] = []
    for _ in range(40):
        killed = capture(max_batch_size=1, snapshot_fetch_size=20)
        splits = killed.source.plan(killed.offset(), None)
        if splits[0].end is None:
            break
        batches = iter(killed.source.read(splits[0]))
        before = killed.offset()
        for batch in batches:
            told += _told(batch.records)
            killed.keep(batch.offset)
            if killed.offset() != before:
                break
        batches.close()  # type: ignore[attr-defined]
    else:
        pytest.fail("it never came to its end")
    assert [each for each in told if each[1] != "r"] == [
        ("a", "u", 1, "new"), ("a", "d", 2, "gone"), ("b", "c", 2, "later"),
    ]  # fmt: skip
    assert {each[:3] for each in told if each[1] == "r"} >= {
        ("b", "r", 1),
        ("b", "r", 2),
        ("a", "r", 1),
        ("a", "r", 60),
    }
    assert ("a", "r", 2) not in {each[:3] for each in told}


def test_splits_of_a_batch_hold_the_rows_of_these_tables_alone(capture: NewCapture, sql: Sql, database: str) -> None:
    """As Spark plans: the log first, up to where it ended; a batch that is planned again reads the same tables."""
    sql(TABLES)
    reading = capture()
    reading.parallel(2)
    sql(LATER)
    _asked(reading, f"{database}.a")
    assert reading.source.owes_rows(reading.offset())
    assert [row[:2] for row in _flat(reading.parallel(2))] == [("a", "u"), ("a", "d"), ("b", "c")]
    start = reading.offset()
    assert reading.source.owes_rows(start)
    assert _flat(reading.parallel(2)) == [("a", "r", 1, "new")]
    end = reading.offset()
    assert not reading.source.owes_rows(end)
    reading.state.put(KEPT_AS, None)
    [again] = reading.source.plan(start, end, 2)
    assert _told([record for batch in reading.source.read(again) for record in batch.records]) == [
        ("a", "r", 1, "new")
    ]  # fmt: skip
    sql("INSERT INTO a VALUES (7, 'on');")
    assert _flat(reading.parallel(2)) == [("a", "c", 7, "on")]
    assert reading.parallel(2) == []


def test_what_one_runner_has_begun_the_other_ends(capture: NewCapture, sql: Sql, database: str) -> None:
    sql(TABLES)
    capture().once()
    begun = _asked(capture(), f"{database}.a")
    [split] = begun.source.plan(begun.offset(), None)
    begun.keep(next(iter(begun.source.read(split))).offset)
    sql(LATER)
    other = capture()
    assert [row[:2] for row in _flat(other.parallel(2))] == [("a", "u"), ("a", "d"), ("b", "c")]
    assert _flat(other.parallel(2)) == [("a", "r", 1, "new")]
    assert not other.source.owes_rows(other.offset())


def test_a_table_that_is_captured_only_now_is_read(capture: NewCapture, sql: Sql, database: str) -> None:
    """Its definition is the server's."""
    sql(TABLES)
    only = {"schema_history_internal_store_only_captured_tables_ddl": True}
    capture(table_include_list=f"{database}.b", **only).parallel(1)
    again = _asked(capture(**only), f"{database}.a")
    assert _flat(again.parallel(1)) == [("a", "r", 1, "old"), ("a", "r", 2, "gone")]
    sql("INSERT INTO a VALUES (3, 'on');")
    assert _flat(again.parallel(1)) == [("a", "c", 3, "on")]


def test_a_table_that_is_gone_is_said(
    capture: NewCapture, sql: Sql, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    sql(TABLES)
    capture().parallel(1)
    again = _asked(capture(), f"{database}.a", f"{database}.b")
    sql("DROP TABLE a;")
    with caplog.at_level(logging.WARNING):
        told = _flat(again.parallel(1)) + _flat(again.parallel(1))
    assert told == [("b", "r", 1, "old")]
    assert f"{database}.a is not read again" in caplog.text


@pytest.mark.parametrize("mode", ["never", "no_data", "recovery", "when_needed"])
def test_in_modes_that_read_no_rows(capture: NewCapture, sql: Sql, database: str, mode: str) -> None:
    sql(TABLES)
    capture().once()
    sql(LATER)
    again = _asked(capture(snapshot_mode=mode), f"{database}.b")
    assert [row for row in _told(again.once()) if row[1] == "r"] == [("b", "r", 1, "old"), ("b", "r", 2, "later")]


def test_what_is_lost_of_the_others_is_said(db_server: SQLServer, capture: NewCapture, sql: Sql, database: str) -> None:
    """The changes of the other tables are gone from the log: reading some of them again makes up for nothing."""
    sql(TABLES)
    capture().once()
    again = _asked(capture(), f"{database}.a")
    again.keep({**again.offset(), "file": "nowhere.000001", "gtids": None})
    with pytest.raises(SourceError, match="changes are lost"):
        again.once()


def test_signals_are_taken_in_the_changes_before(db_server: SQLServer, sql: Sql, database: str, tmp_path: Path) -> None:
    """An incremental snapshot that is asked for between the last stop and the tables' rows is taken, too."""
    sql(TABLES + SIGNALS)
    reading = Signalled(db_server, database, tmp_path)
    reading.once()
    reading.signal(data_collections=[f"{database}.b"])
    with closing(SqliteStateStore(tmp_path)) as state:
        ask(state, reading.offset or {}, [f"{database}.a"])
    reading.once()
    assert reading.reads("a") == [(1, "old"), (2, "gone")]
    assert reading.reads("b") == [(1, "old")]


def _flat(found: list[list[Record]]) -> list[tuple[Any, ...]]:
    assert all(isinstance(record.value, Struct | None) for records in found for record in records)
    return [row for records in found for row in _told(records)]
