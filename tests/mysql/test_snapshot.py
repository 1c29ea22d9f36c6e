"""Snapshots on live servers: one consistent point, the ways of locking, chunks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.record import Record
from cdckit.errors import SourceError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.snapshot import chunk_plan
from mysql.capture import Capture, changes, config_for
from mysql.conftest import NewCapture
from testkit.servers.mysql_family import SQLServer

Sql = Callable[[str], None]

ROWS = 3000


def _fill(sql: Sql, rows: int = ROWS) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20)); CREATE TABLE other (a INT);")
    values = ",".join(f"({number}, 'v{number}')" for number in range(rows))
    sql(f"INSERT INTO t VALUES {values}; INSERT INTO other VALUES (1), (NULL);")


def _state_after(records: list[Any]) -> dict[int, str]:
    """The table that a consumer has after these events."""
    rows: dict[int, str] = {}
    for operation, table, before, after in (c for c in changes(records) if c[0] != "tombstone"):
        if table != "t":
            continue
        if operation == "d":
            del rows[before[0]]
        else:
            rows[after[0]] = after[1]
    return rows


def test_snapshot_reads_all_rows_then_the_log_goes_on(capture: NewCapture, sql: Sql) -> None:
    _fill(sql)
    first = capture().once()
    assert [change[0] for change in changes(first)] == ["r"] * (ROWS + 2)
    positions = [record.position for record in first]
    assert positions == sorted(set(positions))
    sql("INSERT INTO t VALUES (-1, 'new'); DELETE FROM other;")
    second = capture().once()
    assert changes(second) == [
        ("c", "t", None, (-1, "new")),
        ("d", "other", (1,), None),
        ("tombstone", second[2].topic, None),
        ("d", "other", (None,), None),
        ("tombstone", second[2].topic, None),
    ]
    assert second[0].position > positions[-1]


def test_writers_during_the_snapshot_lose_and_double_nothing(
    capture: NewCapture, sql: Sql, db_server: SQLServer, database: str
) -> None:
    _fill(sql)
    done = threading.Event()

    def write() -> None:
        with db_server.connect(database=database) as connection, connection.cursor() as cursor:
            for number in range(100_000):
                if done.is_set():
                    return
                cursor.execute(f"UPDATE t SET v = 'w{number}' WHERE id = {number % ROWS}")
                cursor.execute(f"REPLACE INTO t VALUES ({ROWS + number % 50}, 'n{number}')")
                cursor.execute(f"DELETE FROM t WHERE id = {ROWS + (number + 7) % 50}")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        records = capture().once()
    finally:
        done.set()
        writer.join()
    assert sum(change[0] == "r" for change in changes(records)) >= ROWS
    records += capture().once()
    expected = dict(db_server.execute(f"SELECT id, v FROM {database}.t"))
    assert _state_after(records) == expected


@pytest.mark.parametrize("mode", ["minimal", "extended", "none"])
def test_each_way_of_locking_gives_the_rows(capture: NewCapture, sql: Sql, mode: str) -> None:
    _fill(sql, 10)
    assert len(capture(snapshot_locking_mode=mode).once()) == 12


def test_a_lock_that_is_not_had_in_time_is_told(
    capture: NewCapture, sql: Sql, db_server: SQLServer, database: str
) -> None:
    _fill(sql, 10)
    with db_server.connect() as holder, holder.cursor() as cursor:
        cursor.execute(f"LOCK TABLES {database}.t WRITE")
        with pytest.raises(SourceError, match=r"(?i)lock wait timeout"):
            capture(snapshot_lock_timeout_ms=1000).once()


def test_no_data_reads_definitions_only(capture: NewCapture, sql: Sql) -> None:
    _fill(sql, 10)
    assert capture(snapshot_mode="no_data").once() == []
    sql("UPDATE t SET v = 'x' WHERE id = 3;")
    assert changes(capture(snapshot_mode="no_data").once()) == [("u", "t", (3, "v3"), (3, "x"))]


def test_initial_only_ends_behind_the_snapshot(capture: NewCapture, sql: Sql) -> None:
    _fill(sql, 10)
    assert len(capture(snapshot_mode="initial_only").once()) == 12
    sql("DELETE FROM t;")
    assert capture(snapshot_mode="initial_only").once() == []


def test_never_reads_the_log_from_its_begin(capture: NewCapture, sql: Sql, db_server: SQLServer) -> None:
    db_server.execute("RESET BINARY LOGS AND GTIDS" if "mysql" in type(db_server).__name__.lower() else "RESET MASTER")
    sql("CREATE TABLE fresh (id INT PRIMARY KEY); INSERT INTO fresh VALUES (1);")
    assert changes(capture(snapshot_mode="never").once()) == [("c", "fresh", None, (1,))]


def test_always_reads_the_tables_at_every_start(capture: NewCapture, sql: Sql) -> None:
    _fill(sql, 3)
    assert len(capture(snapshot_mode="always").once()) == 5
    again = capture(snapshot_mode="always").once()
    assert [change[0] for change in changes(again)] == ["r"] * 5


def test_a_snapshot_that_was_stopped_at_its_begin_reads_everything_and_says_so(
    capture: NewCapture, sql: Sql, caplog: pytest.LogCaptureFixture
) -> None:
    _fill(sql)
    reading = capture()
    [split] = reading.source.plan(reading.offset(), None)
    batches = reading.source.read(split)
    reading.keep(next(batches).offset)
    batches.close()  # type: ignore[attr-defined]
    assert len(capture().once()) == ROWS + 2
    assert "what is left of it is read now" in caplog.text


def test_changes_since_an_interrupted_snapshot_come_before_the_next_one(capture: NewCapture, sql: Sql) -> None:
    _fill(sql)
    reading = capture()
    [split] = reading.source.plan(reading.offset(), None)
    found: list[Any] = []
    for batch in reading.source.read(split):
        reading.keep(batch.offset)
        found += batch.records
        if len(changes(found)) > 10:
            break
    sql("DELETE FROM t WHERE id = 1; ALTER TABLE t ADD n INT; UPDATE t SET v = 'later' WHERE id = 2;")
    again = capture().once()
    log = [change for change in changes(again) if change[0] != "r"]
    assert [change[0] for change in log] == ["d", "tombstone", "u"]
    assert [change[0] for change in changes(again)[:3]] == ["d", "tombstone", "u"]
    assert log[2][2:] == ((2, "v2", None), (2, "later", None))
    after = _state_after(found + again)
    assert (len(after), after.get(1), after[2]) == (ROWS - 1, None, "later")
    positions = [record.position for record in found + again]
    assert positions == sorted(set(positions))


def test_progress_is_told(capture: NewCapture, sql: Sql, database: str) -> None:
    _fill(sql, 10)
    reading = capture()
    reading.once()
    finished = {
        facts["data_collection"]: facts["rows"] for facts in reading.heard.of("snapshot_progress") if facts["finished"]
    }
    assert finished == {f"{database}.t": 10, f"{database}.other": 2}


def test_statements_and_lists_choose_rows_and_tables(capture: NewCapture, sql: Sql, database: str) -> None:
    _fill(sql, 10)
    table = f"{database}.t"
    found = capture(
        **{
            "snapshot_include_collection_list": table,
            "snapshot_select_statement_overrides": table,
            f"snapshot.select.statement.overrides.{table}": f"SELECT v, id FROM {table} WHERE id < 2",
        }
    ).once()
    assert changes(found) == [("r", "t", None, (0, "v0")), ("r", "t", None, (1, "v1"))]


@pytest.mark.parametrize("key", ["INT", "BIGINT UNSIGNED", "VARCHAR(30)", "VARBINARY(30)", "DATE"])
def test_chunks_hold_each_row_once(capture: NewCapture, sql: Sql, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_plan, "CHUNK_ROWS", 50)
    make = {"DATE": "'2020-01-01' + INTERVAL {n} DAY", "INT": "{n}", "BIGINT UNSIGNED": "{n}"}
    value = make.get(key, "'k{n}'")
    values = ",".join(f"({value.format(n=number)}, {number})" for number in range(500))
    sql(f"CREATE TABLE t (k {key} PRIMARY KEY, v INT); INSERT INTO t VALUES {values}; ANALYZE TABLE t;")
    parts = capture().parallel(4)
    assert len(parts) == 4
    rows = [change[3][1] for part in parts for change in changes(part)]
    assert sorted(rows) == list(range(500))
    positions = [record.position for part in parts for record in part]
    assert len(set(positions)) == 500


def test_chunks_are_marked_as_one_snapshot(capture: NewCapture, sql: Sql) -> None:
    _fill(sql, 3)
    sql("CREATE TABLE a_first_but_empty (id INT); CREATE TABLE z (id INT); INSERT INTO z VALUES (1);")
    records = [record for part in capture().parallel(3) for record in part]
    records.sort(key=lambda record: record.position)
    assert _marks(records) == [
        "first_in_data_collection",
        "last_in_data_collection",
        "first_in_data_collection",
        "true",
        "last_in_data_collection",
        "last",
    ]


@pytest.mark.parametrize(
    ("rows", "marks"),
    [
        ((0, 2), ["first_in_data_collection", "last"]),
        ((1, 2), ["first", "first_in_data_collection", "last"]),
        ((0, 1, 2), ["last_in_data_collection", "first_in_data_collection", "last"]),
        ((1, 0, 1), ["first", "last"]),
        ((1, 0), ["last"]),
    ],
)
def test_only_the_first_table_has_the_first_row(
    rows: Sequence[int], marks: list[str], capture: NewCapture, sql: Sql, tmp_path: Path
) -> None:
    """As a live Debezium marks the rows of such tables."""
    for number, size in enumerate(rows):
        sql(f"CREATE TABLE t{number} (id INT PRIMARY KEY);")
        sql("".join(f"INSERT INTO t{number} VALUES ({key});" for key in range(size)))
    reading = capture()
    assert _marks(reading.once()) == marks
    with Capture(reading.config, tmp_path / "parallel").closing() as parallel:
        records = [record for part in parallel.parallel(3) for record in part]
    assert _marks(sorted(records, key=lambda record: record.position)) == marks


def _marks(records: Sequence[Record]) -> list[str]:
    return [record.value.to_dict()["source"]["snapshot"] for record in records]  # type: ignore[union-attr]


def test_log_events_sort_behind_the_chunks(capture: NewCapture, sql: Sql) -> None:
    _fill(sql, 10)
    chunks = [record for part in capture().parallel(2) for record in part]
    sql("UPDATE t SET v = 'late';")
    log = [record for part in capture().parallel(2) for record in part]
    assert len(log) == 10
    assert max(record.position for record in chunks) < min(record.position for record in log)


def test_configuration_survives_pickling_with_its_secret(db_server: SQLServer) -> None:
    config = config_for(db_server)
    assert isinstance(config, MySqlConfig)
    assert "dbz" not in repr(config.database_password)
