"""Definitions that change between a snapshot's point and the reading of its chunks, read as the Spark runner reads."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cdckit.api.record import Record
from cdckit.errors import RetriableSourceError
from mysql.capture import Capture, changes, read_elsewhere
from mysql.conftest import NewCapture

pytestmark = pytest.mark.one_server

Sql = Callable[[str], None]

TABLES = """
CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(20)); INSERT INTO a VALUES (1, 'a');
CREATE TABLE b (id INT PRIMARY KEY, v VARCHAR(20)); INSERT INTO b VALUES (1, 'b');
"""
DISTURBING = {
    "ALTER TABLE b CHANGE COLUMN v w VARCHAR(20)": "b has lost v",
    "ALTER TABLE b DROP COLUMN v": "b has lost v",
    "ALTER TABLE b MODIFY v VARBINARY(20)": "b has another type for v",
    "ALTER TABLE b DROP PRIMARY KEY, ADD PRIMARY KEY (v)": "b has another",
}
GONE = {"DROP TABLE b": "b is gone", "RENAME TABLE b TO c": "b is gone"}


def _after_planning(reading: Capture, sql: Sql, change: str) -> tuple[object, ...]:
    start = reading.offset()
    end = reading.source.latest_offset(start)
    splits = reading.source.plan(start, end, 1)
    sql(change)
    return start, end, splits


def _again(new: NewCapture, reading: Capture, start: object, end: object) -> tuple[Capture, list[Record]]:
    """The batch planned and read once more by a runner that has been started again."""
    reading.close()
    later = new()
    splits = later.source.plan(start, end, 1)  # type: ignore[arg-type]
    return later, [record for split in splits for record in read_elsewhere(later.config, split)]


@pytest.mark.parametrize("change", [*DISTURBING, "RENAME TABLE b TO c"])
def test_a_changed_table_is_read_behind_the_snapshot(
    capture: NewCapture, sql: Sql, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    sql(TABLES)
    reading = capture()
    start, end, splits = _after_planning(reading, sql, change)
    told = {**DISTURBING, **GONE}[change]
    with pytest.raises(RetriableSourceError, match=r"b (?:has|is gone)"):
        [read_elsewhere(reading.config, split) for split in splits]  # type: ignore[attr-defined]
    later, again = _again(capture, reading, start, end)
    assert changes(again) == [("r", "a", None, (1, "a"))]
    assert told in caplog.text
    later.keep(end)  # type: ignore[arg-type]
    name = "c" if "RENAME" in change else "b"
    rest = [record for batch in later.batches() for record in batch]
    assert [found[:2] for found in changes(rest)] == [("r", name)]


def test_a_table_that_is_gone_is_left_out(capture: NewCapture, sql: Sql) -> None:
    sql(TABLES)
    reading = capture()
    start, end, splits = _after_planning(reading, sql, "DROP TABLE b")
    with pytest.raises(RetriableSourceError, match="b"):
        [read_elsewhere(reading.config, split) for split in splits]  # type: ignore[attr-defined]
    later, again = _again(capture, reading, start, end)
    assert changes(again) == [("r", "a", None, (1, "a"))]
    later.keep(end)  # type: ignore[arg-type]
    assert [record for batch in later.batches() for record in batch] == []


@pytest.mark.parametrize(
    "change", ["ALTER TABLE b ADD COLUMN w INT", "ALTER TABLE b COMMENT 'x'", "CREATE TABLE c (id INT PRIMARY KEY)"]
)
def test_other_changes_do_not_disturb(capture: NewCapture, sql: Sql, change: str) -> None:
    sql(TABLES)
    reading = capture()
    start, end, splits = _after_planning(reading, sql, change)
    expected = [("r", "a", None, (1, "a")), ("r", "b", None, (1, "b"))]
    read = [record for split in splits for record in read_elsewhere(reading.config, split)]  # type: ignore[attr-defined]
    assert changes(read) == expected
    assert changes(_again(capture, reading, start, end)[1]) == expected


def test_a_unique_key_that_is_gone_is_no_key_of_rows_that_are_read_since(capture: NewCapture, sql: Sql) -> None:
    """Two rows may be one by it."""
    sql("CREATE TABLE t (id INT NOT NULL, v INT, UNIQUE i (id)); INSERT INTO t VALUES (1, 1)")
    reading = capture()
    start = reading.offset()
    end = reading.source.latest_offset(start)
    sql("ALTER TABLE t DROP INDEX i; INSERT INTO t VALUES (1, 2)")
    splits = reading.source.plan(start, end, 1)
    with pytest.raises(RetriableSourceError, match="has another key"):
        [read_elsewhere(reading.config, split) for split in splits]
    found = [record for batch in capture().batches() for record in batch]
    assert [(record.key, *changes([record])[0][2:]) for record in found] == [(None, None, (1, 1)), (None, None, (1, 2))]
