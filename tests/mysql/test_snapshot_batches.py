"""Snapshots whose chunks are read in several batches, as the Spark runner reads them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from cdckit.api.record import Record
from cdckit.errors import RetriableSourceError, SnapshotDueError
from mysql.capture import Capture, changes, read_elsewhere
from mysql.conftest import NewCapture
from testkit.servers.mysql_family import SQLServer

pytestmark = pytest.mark.one_server

Sql = Callable[[str], None]

ROWS = 300
KEYS = {
    "INT": "{n} - 100",
    "BIGINT UNSIGNED": "18446744073709551615 - {n} * 7",
    "DECIMAL(20,5)": "{n} * 1.00001 - 50",
    "VARCHAR(30) COLLATE utf8mb4_general_ci": "CONCAT('Käse ''{n}', CHAR(92), '\" ')",
    "VARCHAR(30) CHARACTER SET latin1": "CONCAT('ü', {n})",
    "CHAR(10) CHARACTER SET utf16": "'k{n}'",
    "BINARY(16)": "UNHEX(LEFT(SHA2({n}, 256), 32))",
    "VARBINARY(30)": "CONCAT(CHAR({n} MOD 7), 'k{n}')",
    "DATE": "'1990-01-01' + INTERVAL {n} DAY",
    "DATETIME(6)": "'1990-01-01' + INTERVAL {n} * 1234567 MICROSECOND",
    "TIMESTAMP(3)": "'2024-10-27 00:00:00' + INTERVAL {n} MINUTE",
    "TIME(2)": "SEC_TO_TIME({n} * 100.25 - 9000)",
}
"""Types of keys, with values made of a number."""
COMPOSITE = {
    "k INT, j VARCHAR(10), PRIMARY KEY (k, j)": "{n} DIV 120, 'j{n}'",
    "k INT, j DATETIME, PRIMARY KEY (j, k)": "{n}, '2020-01-01' + INTERVAL {n} DIV 3 DAY",
    "k INT, j ENUM('a', 'b'), PRIMARY KEY (k, j)": "{n} DIV 2, {n} MOD 2 + 1",
    "k YEAR, j DECIMAL(5,1), PRIMARY KEY (k, j)": "1901 + {n} DIV 200, {n}",
    "k INT NOT NULL, j INT, UNIQUE (k)": "{n}, {n}",
    "k INT UNSIGNED, j INT, PRIMARY KEY (k)": "IF({n} < 150, {n}, 4000000000 + {n}), 0",
    "k DATE, j INT, PRIMARY KEY (k, j)": "IF({n} < 200, '0000-00-00', '2020-01-01'), {n}",
    "k TIMESTAMP(3), j INT, PRIMARY KEY (k, j)": "IF({n} < 200, '0000-00-00', '2020-01-01'), {n}",
}
"""Keys of several columns, unique ones, one of which half the values lie far away, and dates that are none."""
UNDIVIDED = {
    "k INT, j INT": "{n}, {n}",
    "k INT, j INT, UNIQUE (k)": "{n}, {n}",
    "k ENUM('a', 'b'), j INT, PRIMARY KEY (k, j)": "{n} MOD 2 + 1, {n}",
    "k DOUBLE, j INT, PRIMARY KEY (k)": "{n} / 7, 0",
}
"""Tables that are read in one piece."""


def _fill(sql: Sql, table: str, columns: str, values: str, rows: int = ROWS) -> None:
    made = ",".join(f"({values.format(n=number)}, {number})" for number in range(rows))
    sql(f"CREATE TABLE {table} ({columns}, v INT)")
    sql(f"SET sql_mode = ''; INSERT INTO {table} VALUES {made}; ANALYZE TABLE {table};")


def _read(records: Sequence[Record], table: str = "t") -> Counter[Any]:
    return Counter(after[-1] for op, name, _, after in changes(records) if op == "r" and name == table)


def _whole(batches: Sequence[Sequence[Record]]) -> list[Record]:
    return [record for batch in batches for record in batch]


def _assert_marked_once(records: Sequence[Record], tables: Sequence[str]) -> None:
    """The records, in the order of their positions, are marked as one snapshot, and no position stands twice."""
    positions = [record.position for record in records]
    assert len(set(positions)) == len(positions)
    sources = [r.value.to_dict()["source"] for r in sorted(records, key=lambda r: r.position)]  # type: ignore[union-attr]
    marks = [(source["table"], source["snapshot"]) for source in sources if source["snapshot"] != "true"]
    expected = []
    for table in tables:
        first = "first" if table == tables[0] else "first_in_data_collection"
        last = "last" if table == tables[-1] else "last_in_data_collection"
        expected += [(table, first), (table, last)]
    assert marks == expected


@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_each_kind_are_cut(capture: NewCapture, sql: Sql, kind: str) -> None:
    _fill(sql, "t", f"k {kind} PRIMARY KEY", KEYS[kind])
    batches = list(capture(snapshot_batch_rows=80).batches())
    assert [sum(_read(batch).values()) for batch in batches] == [80, 80, 80, 60]
    assert _read(_whole(batches)) == dict.fromkeys(range(ROWS), 1)
    _assert_marked_once(_whole(batches), ["t"])


@pytest.mark.parametrize("columns", COMPOSITE)
def test_keys_of_several_columns_and_unique_ones_are_cut(capture: NewCapture, sql: Sql, columns: str) -> None:
    _fill(sql, "t", columns, COMPOSITE[columns])
    batches = list(capture(snapshot_batch_rows=80).batches())
    assert len(batches) > 2
    assert _read(_whole(batches)) == dict.fromkeys(range(ROWS), 1)
    _assert_marked_once(_whole(batches), ["t"])


@pytest.mark.parametrize("columns", UNDIVIDED)
def test_other_tables_are_read_in_one_piece(capture: NewCapture, sql: Sql, columns: str) -> None:
    _fill(sql, "t", columns, UNDIVIDED[columns])
    [batch] = capture(snapshot_batch_rows=80).batches()
    assert _read(batch) == dict.fromkeys(range(ROWS), 1)


def test_tables_come_one_after_the_other(capture: NewCapture, sql: Sql) -> None:
    for table, rows in {"a": 0, "b": 50, "c": 7, "d": 0, "e": 100, "f": 0}.items():
        _fill(sql, table, "k INT PRIMARY KEY", "{n}", rows) if rows else sql(f"CREATE TABLE {table} (k INT)")
    reading = capture(snapshot_batch_rows=20)
    batches = list(reading.batches())
    sizes = [Counter(name for _, name, _, _ in changes(batch)) for batch in batches]
    assert sizes[0] == {"b": 21}, "seven chunks of three rows"
    assert all(sum(size.values()) <= 27 for size in sizes)
    assert sum(sizes, Counter()) == {"b": 50, "c": 7, "e": 100}
    records = _whole(batches)
    marks = Counter(r.value.to_dict()["source"]["snapshot"] for r in records)  # type: ignore[union-attr]
    assert (marks["first"], marks["last"]) == (0, 1), "as in Debezium, since the first table is empty"
    assert (marks["first_in_data_collection"], marks["last_in_data_collection"]) == (3, 2)
    done = {
        facts["data_collection"]: facts["rows"] for facts in reading.heard.of("snapshot_progress") if facts["finished"]
    }
    assert {name.partition(".")[2] for name in done} == {"a", "d", "f"}, "readers tell of the others"


def test_what_is_written_meanwhile_comes_behind_the_snapshot(
    capture: NewCapture, sql: Sql, db_server: SQLServer, database: str
) -> None:
    _fill(sql, "t", "k INT PRIMARY KEY", "{n}")
    records: list[Record] = []
    for number, batch in enumerate(capture(snapshot_batch_rows=60).batches()):
        records += batch
        if number < 4:
            sql(
                f"UPDATE t SET v = v + 1000 WHERE k % 7 = {number}; DELETE FROM t WHERE k = {number * 50 + 5};"
                f"UPDATE t SET k = {1000 + number} WHERE k = {number};"
                f"UPDATE t SET k = {-number - 1} WHERE k = {290 + number}; INSERT INTO t VALUES ({2000 - number}, 9);"
            )
    rows: dict[Any, Any] = {}
    for op, _, before, after in (change for change in changes(records) if change[0] != "tombstone"):
        rows.pop(before[0], None) if op == "d" else rows.update({after[0]: after})
    assert rows == {row[0]: row for row in db_server.execute(f"SELECT * FROM {database}.t")}


def test_a_kill_repeats_the_open_batch_alone(capture: NewCapture, sql: Sql) -> None:
    """Another process, which knows no more than the offsets, plans the same range of keys, whatever came meanwhile."""
    _fill(sql, "t", "k INT PRIMARY KEY", "{n} * 10")
    _fill(sql, "u", "k INT PRIMARY KEY", "{n} * 10", 30)
    reading = capture(snapshot_batch_rows=80)
    before = next(batches := reading.batches())
    next(batches)  # kept is the first
    start = reading.offset()
    end = reading.source.cut(start, reading.source.latest_offset(start), 1)
    assert len(json.dumps(end)) < 400
    sql("INSERT INTO t SELECT k + 1, -1 FROM t; INSERT INTO t SELECT k + 2, -2 FROM t WHERE v >= 0;")
    later = capture(snapshot_batch_rows=80)
    open_batch = [r for split in later.source.plan(start, end, 3) for r in read_elsewhere(later.config, split)]
    later.keep(end)
    rest = _whole(list(later.batches()))
    own = [_read(records) for records in (before, open_batch)]
    assert set(own[0]) == set(range(80))
    assert {key for key in own[1] if key >= 0} == set(range(80, 160))
    assert own[1][-1] == own[1][-2] == 80, "what lies in the range now"
    reads = [record for record in rest if changes([record])[0][0] == "r"]
    assert {key for key in _read(reads) if key >= 0} == set(range(160, 300))
    assert _read(reads, "u") == dict.fromkeys(range(30), 1)
    _assert_marked_once([*before, *open_batch, *reads], ["t", "u"])


def test_many_tables_of_a_later_batch_are_asked_about_together(
    capture: NewCapture, sql: Sql, db_server: SQLServer
) -> None:
    """By itself each would take ten questions and more, as long as it is looked at in its turn."""
    _fill(sql, "a", "k INT PRIMARY KEY", "{n}", 40)
    _fill(sql, "b", "k INT PRIMARY KEY", "{n}", 40)
    sql("".join(f"CREATE TABLE c{number} (k INT PRIMARY KEY);" for number in range(60)))
    reading = capture(snapshot_batch_rows=40)
    next(batches := reading.batches())
    before = int(db_server.execute("SHOW GLOBAL STATUS LIKE 'Questions'")[0][1])
    assert _read(next(batches), "b") == dict.fromkeys(range(40), 1)
    assert int(db_server.execute("SHOW GLOBAL STATUS LIKE 'Questions'")[0][1]) - before < 60 * 5


def test_many_tables_are_asked_together_whether_they_have_rows(
    capture: NewCapture, sql: Sql, db_server: SQLServer
) -> None:
    sql("".join(f"CREATE TABLE c{number:03} (k INT PRIMARY KEY);" for number in range(150)))
    sql("INSERT INTO c007 VALUES (1); INSERT INTO c140 VALUES (1), (2)")
    reading = capture()
    start = reading.offset()
    end = reading.source.latest_offset(start)
    before = int(db_server.execute("SHOW GLOBAL STATUS LIKE 'Questions'")[0][1])
    splits = reading.source.plan(start, end, 1)
    assert int(db_server.execute("SHOW GLOBAL STATUS LIKE 'Questions'")[0][1]) - before < 60
    records = [record for split in splits for record in read_elsewhere(reading.config, split)]
    assert Counter(name for _, name, _, _ in changes(records)) == {"c007": 1, "c140": 2}


def _begun(capture: NewCapture, rows: int, **options: Any) -> tuple[Capture, list[Record]]:
    """A snapshot whose first batch is read and kept, of so many rows."""
    reading = capture(snapshot_batch_rows=rows, **options)
    first = next(batches := reading.batches())
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    return reading, first


def _rows_after(records: Sequence[Record], *tables: str) -> dict[tuple[str, Any], Any]:
    """The rows that a consumer has after these events."""
    rows: dict[tuple[str, Any], Any] = {}
    for op, name, before, after in (change for change in changes(records) if change[0] != "tombstone"):
        rows.pop((name, before[0]), None) if op == "d" else rows.update({(name, after[0]): after})
    return {key: row for key, row in rows.items() if key[0] in tables}


def _at_server(server: SQLServer, database: str, *tables: str) -> dict[tuple[str, Any], Any]:
    return {(table, row[0]): row for table in tables for row in server.execute(f"SELECT * FROM {database}.{table}")}


def test_a_table_that_is_altered_before_its_turn_is_read_behind_the_others(
    capture: NewCapture, sql: Sql, caplog: pytest.LogCaptureFixture
) -> None:
    """The snapshot goes on; a table that was read before its change is not read again."""
    for table in "abc":
        _fill(sql, table, "k INT PRIMARY KEY", "{n}", 40)
    reading, first = _begun(capture, 40)
    assert reading.offset()["cdckit_snapshot_cursor"]["table"].endswith(".b")
    sql("ALTER TABLE a DROP COLUMN v; ALTER TABLE b DROP COLUMN v; UPDATE c SET v = v + 1")
    rest = _whole(list(reading.batches()))
    assert re.search(r"b has lost v since .*: read as a whole behind the snapshot", caplog.text)
    reads = [name for op, name, _, _ in changes([*first, *rest]) if op == "r"]
    assert reads == [*"a" * 40, *"c" * 40, *"b" * 40]
    assert {len(after) for _, name, _, after in changes(rest) if name == "b"} == {1}
    assert not reading.source.owes_rows(reading.offset())


@pytest.mark.parametrize("killed", [True, False])
def test_a_table_that_is_altered_while_it_is_read_is_read_as_a_whole(
    capture: NewCapture, sql: Sql, db_server: SQLServer, database: str, killed: bool
) -> None:
    """Whoever plans the open batch again leaves out what is left of it, too."""
    for table in "tu":
        _fill(sql, table, "k INT PRIMARY KEY", "{n}", 60)
    reading, records = _begun(capture, 16)
    at = reading.offset()
    end = reading.source.cut(at, reading.source.latest_offset(at), 1)
    sql(
        "UPDATE t SET v = v + 100 WHERE k < 30; DELETE FROM t WHERE k IN (3, 50); ALTER TABLE t CHANGE v w BIGINT;"
        "INSERT INTO t VALUES (70, 1); UPDATE u SET k = k + 100 WHERE k > 50;"
    )
    if killed:
        reading = capture(snapshot_batch_rows=16)
    else:
        with pytest.raises(RetriableSourceError, match="t has lost v"):
            [read_elsewhere(reading.config, split) for split in reading.source.plan(at, end, 2)]
    splits = reading.source.plan(at, end, 2)
    records += [record for split in splits for record in read_elsewhere(reading.config, split)]
    reading.keep(end)
    records += _whole(list(reading.batches()))
    assert sum(change[:2] == ("r", "u") for change in changes(records)) == 60
    assert _rows_after(records, *"tu") == _at_server(db_server, database, *"tu")


def test_a_table_that_has_another_name_is_read_by_that(
    capture: NewCapture, sql: Sql, db_server: SQLServer, database: str
) -> None:
    for table in "ab":
        _fill(sql, table, "k INT PRIMARY KEY", "{n}", 40)
    reading, records = _begun(capture, 40)
    sql("UPDATE b SET v = 7 WHERE k = 1; RENAME TABLE b TO c; INSERT INTO c VALUES (50, 50)")
    records += _whole(list(reading.batches()))
    assert _rows_after(records, *"ac") == _at_server(db_server, database, *"ac")


def test_where_nothing_is_read_behind_it_the_snapshot_begins_anew(capture: NewCapture, sql: Sql) -> None:
    for table in "ab":
        _fill(sql, table, "k INT PRIMARY KEY", "{n}", 40)
    reading, _ = _begun(capture, 40, snapshot_mode="initial_only")
    sql("ALTER TABLE b DROP COLUMN v")
    with pytest.raises(SnapshotDueError, match="b has lost v"):
        list(reading.batches())
    records = _whole(list(capture(snapshot_batch_rows=40, snapshot_mode="initial_only").batches()))
    assert Counter(name for _, name, _, _ in changes(records)) == {"a": 40, "b": 40}


def test_a_table_whose_key_is_in_another_order_is_read_as_a_whole(capture: NewCapture, sql: Sql) -> None:
    """Rows that were to come would lie before the place that it had come to."""
    _fill(sql, "t", "k VARCHAR(20) COLLATE utf8mb4_bin PRIMARY KEY", "CONCAT(IF({n} < 20, 'B', 'a'), {n})", 40)
    reading, first = _begun(capture, 16)
    sql("ALTER TABLE t MODIFY k VARCHAR(20) COLLATE utf8mb4_general_ci")
    rest = _whole(list(reading.batches()))
    assert _read(rest) == dict.fromkeys(range(40), 1)
    assert len(first) == 16


def test_the_direct_runner_takes_a_snapshot_over(
    capture: NewCapture, sql: Sql, db_server: SQLServer, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It reads the changes since, then the tables from their beginning, and says so."""
    _fill(sql, "t", "k INT PRIMARY KEY", "{n}", 60)
    reading = capture(snapshot_batch_rows=16)
    batches = reading.batches()
    records = [*next(batches), *next(batches)]
    sql("UPDATE t SET v = v + 100 WHERE k < 40; DELETE FROM t WHERE k = 3;")
    records += capture().once()
    assert "a snapshot had come to" in caplog.text
    rows: dict[Any, Any] = {}
    for op, _, before, after in (change for change in changes(records) if change[0] != "tombstone"):
        rows.pop(before[0], None) if op == "d" else rows.update({after[0]: after})
    assert rows == {row[0]: row for row in db_server.execute(f"SELECT * FROM {database}.t")}


def test_a_snapshot_that_the_direct_runner_has_begun_is_read_to_its_end(
    capture: NewCapture, sql: Sql, db_server: SQLServer, database: str
) -> None:
    for table in "tu":
        _fill(sql, table, "k INT PRIMARY KEY", "{n}", 60)
    direct = capture(snapshot_fetch_size=20)
    [split] = direct.source.plan(direct.offset(), None)
    records: list[Record] = []
    for batch in direct.source.read(split):
        records += batch.records
        direct.keep(batch.offset)
        if len(records) > 70:
            break
    sql("UPDATE t SET v = v + 100 WHERE k < 40; DELETE FROM u WHERE k = 3;")
    records += _whole(list(capture(snapshot_batch_rows=16).batches()))
    rows: dict[Any, Any] = {}
    for op, name, before, after in (change for change in changes(records) if change[0] != "tombstone"):
        rows.pop((name, before[0]), None) if op == "d" else rows.update({(name, after[0]): after})
    assert rows == {
        (table, row[0]): row for table in "tu" for row in db_server.execute(f"SELECT * FROM {database}.{table}")
    }
