"""Snapshots read by several connections, and those that were stopped: what is read, in which order, marked how."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from cdckit.api.batch import Batch
from cdckit.api.record import Record
from cdckit.errors import RetriableSourceError
from cdckit_mysql.snapshot import chunk_plan, snapshot_rows
from mysql.capture import Capture, changes
from mysql.conftest import NewCapture
from testkit.running import create_reader, source_of, to_file
from testkit.servers.mysql_family import SQLServer

pytestmark = pytest.mark.one_server

Sql = Callable[[str], None]

THREADS = pytest.mark.parametrize("threads", [1, 3])


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of a few hundred rows are cut."""
    monkeypatch.setattr(chunk_plan, "CHUNK_ROWS", 50)
    monkeypatch.setattr(snapshot_rows, "RESUMED_ROWS", 50)


def _fill(sql: Sql, table: str, rows: int, key: str = "INT") -> None:
    values = ",".join(f"({number}, 'v')" for number in range(rows))
    sql(f"CREATE TABLE {table} (k {key} PRIMARY KEY, v VARCHAR(20)); INSERT INTO {table} VALUES {values};")
    sql(f"ANALYZE TABLE {table};")


def _marks(records: Sequence[Record]) -> list[tuple[str, str]]:
    sources = [record.value.to_dict()["source"] for record in records]  # type: ignore[union-attr]
    return [(source["table"], source["snapshot"]) for source in sources]


def _snapshot(reading: Capture) -> Generator[Sequence[Record]]:
    [split] = reading.source.plan(reading.offset(), None)
    with closing(cast(Generator[Batch], reading.source.read(split))) as batches:
        for batch in batches:
            reading.keep(batch.offset)
            yield batch.records


def _part(reading: Capture, enough: Callable[[list[Record]], bool]) -> list[Record]:
    """The begin of a snapshot that is stopped as soon as there is enough, as a killed pipeline leaves it."""
    found: list[Record] = []
    with closing(_snapshot(reading)) as batches:
        for records in batches:
            found += records
            if enough(found):
                return found
    raise AssertionError("the snapshot was over too soon")


def _rows_after(records: Sequence[Record]) -> dict[tuple[str, Any], tuple[Any, ...]]:
    """The tables that a consumer has after these events."""
    rows: dict[tuple[str, Any], tuple[Any, ...]] = {}
    for operation, table, before, after in (c for c in changes(records) if c[0] != "tombstone"):
        if operation == "d":
            rows.pop((table, before[0]), None)
        else:
            rows[table, after[0]] = after
    return rows


def _rows_in(server: SQLServer, database: str, *tables: str) -> dict[tuple[str, Any], tuple[Any, ...]]:
    return {(table, row[0]): row for table in tables for row in server.execute(f"SELECT * FROM {database}.{table}")}


# -- several connections


@pytest.mark.usefixtures("small_chunks")
@THREADS
@pytest.mark.parametrize("locking", ["minimal", "none"])
def test_each_row_is_read_once(capture: NewCapture, sql: Sql, threads: int, locking: str) -> None:
    _fill(sql, "a", 400)
    _fill(sql, "b", 300, "VARCHAR(20)")
    _fill(sql, "c", 10)
    sql("CREATE TABLE d (v INT); INSERT INTO d VALUES (1), (1);")
    records = capture(snapshot_max_threads=threads, snapshot_locking_mode=locking).once()
    assert Counter(table for _, table, _, _ in changes(records)) == {"a": 400, "b": 300, "c": 10, "d": 2}
    assert len(_rows_after(records)) == 711
    positions = [record.position for record in records]
    assert len(set(positions)) == len(positions)
    if threads == 1:
        assert positions == sorted(positions)


@pytest.mark.usefixtures("small_chunks")
@THREADS
def test_the_ends_of_tables_and_of_the_snapshot_are_marked(capture: NewCapture, sql: Sql, threads: int) -> None:
    _fill(sql, "a", 400)
    _fill(sql, "b", 300)
    sql("CREATE TABLE c (k INT); INSERT INTO c VALUES (1); CREATE TABLE z (k INT);")
    marks = _marks(capture(snapshot_max_threads=threads).once())
    assert [place for place, (_, mark) in enumerate(marks) if mark == "first"] == [0]
    assert [place for place, (_, mark) in enumerate(marks) if mark == "last"] == [len(marks) - 1]
    for table in "abc":
        places = [place for place, (name, _) in enumerate(marks) if name == table]
        found = {mark: place for place in places if (mark := marks[place][1]) != "true"}
        first = found.get("first_in_data_collection", found.get("first"))
        last = found.get("last_in_data_collection", found.get("last"))
        assert last == places[-1]
        assert first == places[0] or len(places) == 1
        assert len(found) == min(2, len(places))


@pytest.mark.usefixtures("small_chunks")
def test_all_connections_see_one_point(capture: NewCapture, sql: Sql, db_server: SQLServer, database: str) -> None:
    _fill(sql, "a", 400)
    _fill(sql, "b", 400)
    done = threading.Event()

    def write() -> None:
        with db_server.connect(database=database, autocommit=False) as connection, connection.cursor() as cursor:
            for number in range(100_000):
                if done.is_set():
                    return
                for table in "ab":
                    cursor.execute(f"UPDATE {table} SET v = 'w{number}'")
                connection.commit()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        reading = capture(snapshot_max_threads=3)
        records = [record for batch in _snapshot(reading) for record in batch]
    finally:
        done.set()
        writer.join()
    assert len(records) == 800
    assert len({after[1] for _, _, _, after in changes(records)}) == 1
    records += reading.once()
    assert _rows_after(records) == _rows_in(db_server, database, "a", "b")


@pytest.mark.usefixtures("small_chunks")
@THREADS
def test_batches_are_no_larger_than_wished(capture: NewCapture, sql: Sql, threads: int) -> None:
    _fill(sql, "a", 500)
    sizes = [len(records) for records in _snapshot(capture(snapshot_fetch_size=20, snapshot_max_threads=threads))]
    assert sum(sizes) == 500
    assert max(sizes) <= 21  # and one that was held back


def test_a_table_may_be_left_to_one_connection(capture: NewCapture, sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk_plan, "CHUNK_ROWS", 50)
    _fill(sql, "a", 400)
    for legacy, parts in ((True, "0"), (False, "0-5")):
        reading = capture(
            snapshot_mode="always",
            snapshot_max_threads=3,
            snapshot_max_threads_multiplier=2,
            legacy_snapshot_max_threads=legacy,
        )
        [split] = reading.source.plan(reading.offset(), None)
        *_, last, _ = (batch.offset for batch in reading.source.read(split))
        assert last is not None
        assert last["cdckit_snapshot_chunks"].partition(":")[2] == parts


@pytest.mark.usefixtures("small_chunks")
def test_an_error_of_one_connection_ends_all(capture: NewCapture, sql: Sql, db_server: SQLServer) -> None:
    _fill(sql, "a", 4000)
    _fill(sql, "b", 40)
    before = set(threading.enumerate())
    with closing(_snapshot(capture(snapshot_max_threads=3, snapshot_fetch_size=10))) as batches:
        while not next(batches):
            pass
        sql("SET lock_wait_timeout = 5; ALTER TABLE b ADD n INT, ADD INDEX (n);")
        with pytest.raises(RetriableSourceError, match="definition has changed"):
            for _ in batches:
                pass
    assert [thread for thread in threading.enumerate() if thread not in before] == []
    records = capture(snapshot_max_threads=3).once()
    assert {change[3][0] for change in changes(records) if change[:2] == ("r", "b")} == set(range(40))


@pytest.mark.usefixtures("small_chunks")
def test_a_snapshot_that_is_given_up_leaves_no_thread(capture: NewCapture, sql: Sql) -> None:
    _fill(sql, "a", 4000)
    before = set(threading.enumerate())
    _part(capture(snapshot_max_threads=3, snapshot_fetch_size=10), lambda found: len(found) > 20)
    assert [thread for thread in threading.enumerate() if thread not in before] == []


# -- stopped, and gone on with


@pytest.mark.usefixtures("small_chunks")
@THREADS
def test_only_what_is_left_is_read_and_the_changes_since(
    capture: NewCapture, sql: Sql, db_server: SQLServer, database: str, threads: int
) -> None:
    for table in "abc":
        _fill(sql, table, 500)
    options = {"snapshot_max_threads": threads, "snapshot_fetch_size": 40}
    first = _part(capture(**options), lambda found: len(found) > 700)
    sql(
        "UPDATE a SET v = 'new' WHERE k % 50 = 0; DELETE FROM a WHERE k = 7; DELETE FROM c WHERE k = 7;"
        "INSERT INTO a VALUES (900, 'in'); UPDATE c SET v = 'new' WHERE k % 50 = 0; UPDATE b SET k = 800 WHERE k = 8;"
    )
    second = capture(**options).once()
    reads = Counter((*change[1:2], change[3][0]) for change in changes([*first, *second]) if change[0] == "r")
    repeated = sum(count - 1 for count in reads.values())
    assert repeated <= 60 * threads
    assert _rows_after([*first, *second]) == _rows_in(db_server, database, *"abc")
    operations = [change[0] for change in changes(second)]
    assert "r" not in operations[: operations.index("d")]
    positions = [record.position for record in [*first, *second] if record.position]
    assert threads > 1 or positions == sorted(set(positions))
    marks = [mark for _, mark in _marks([record for record in second if changes([record])[0][0] == "r"])]
    assert (marks.count("first"), marks.count("last")) == (0, 1)


@pytest.mark.usefixtures("small_chunks")
def test_a_snapshot_may_be_stopped_again_and_again(
    capture: NewCapture, sql: Sql, db_server: SQLServer, database: str
) -> None:
    _fill(sql, "a", 600)
    records: list[Record] = []
    for number in range(5):
        records += _part(capture(snapshot_fetch_size=25), lambda found: sum(c[0] == "r" for c in changes(found)) > 90)
        sql(f"UPDATE a SET v = 'w{number}' WHERE k % 7 = {number}; INSERT INTO a VALUES ({1000 + number}, 'x');")
    records += capture().once()
    assert sum(change[0] == "r" for change in changes(records)) < 900
    assert _rows_after(records) == _rows_in(db_server, database, "a")


@pytest.mark.usefixtures("small_chunks")
def test_tables_that_came_and_went_since_are_no_hindrance(
    capture: NewCapture, sql: Sql, db_server: SQLServer, database: str
) -> None:
    for table in "abc":
        _fill(sql, table, 300)
    first = _part(capture(), lambda found: len(found) > 350)
    sql("DROP TABLE b; ALTER TABLE c ADD n INT DEFAULT 5; UPDATE c SET v = 'new' WHERE k = 9;")
    _fill(sql, "d", 120)
    second = capture().once()
    rows = _rows_after([*first, *second])
    assert {name: row for name, row in rows.items() if name[0] != "b"} == _rows_in(db_server, database, *"acd")
    assert sum(change[:2] == ("r", "a") for change in changes(second)) == 0


@pytest.mark.usefixtures("small_chunks")
def test_a_table_whose_key_has_changed_since_is_read_from_its_begin(
    capture: NewCapture, sql: Sql, db_server: SQLServer, database: str
) -> None:
    _fill(sql, "a", 500)
    first = _part(capture(), lambda found: len(found) > 200)
    sql("ALTER TABLE a MODIFY k VARCHAR(10);")
    second = capture().once()
    assert sum(change[0] == "r" for change in changes(second)) == 500
    assert {key: row for key, row in _rows_after([*first, *second]).items() if isinstance(key[1], str)} == _rows_in(
        db_server, database, "a"
    )


def test_a_killed_pipeline_reads_only_the_tables_that_are_left(
    db_server: SQLServer, database: str, sql: Sql, tmp_path: Path
) -> None:
    tables = [f"t{number:02d}" for number in range(8)]
    for table in tables:
        _fill(sql, table, 3000)
    create_reader(db_server)
    source = source_of(db_server, database, include_schema_changes=False, snapshot_locking_mode="none")
    pipeline = to_file(tmp_path, source, **{"offset.flush.interval.ms": 20})
    with db_server.connect(database=database) as holder, holder.cursor() as cursor:
        cursor.execute("LOCK TABLES t05 WRITE")  # it comes no further
        with pipeline.running() as process:
            process.wait_until(lambda: _chunks_done(pipeline.offset()) > 2, "a few finished tables")
            process.process.send_signal(signal.SIGKILL)
            process.process.wait()
    before, done = pipeline.output.read_bytes().count(b"\n"), _chunks_done(pipeline.offset())
    sql("UPDATE t00 SET v = 'new' WHERE k = 5; DELETE FROM t07 WHERE k = 6;")
    ended = pipeline.run("--once")
    assert ended.code == 0, ended.stderr
    events = pipeline.events()
    again = {event["value"]["source"]["table"] for event in events[before:] if (event["value"] or {}).get("op") == "r"}
    assert again == set(tables[done:])
    rows = {}
    for event in events:
        value = event["value"]
        if value is not None:
            name = value["source"]["table"], (value["after"] or value["before"])["k"]
            rows[name] = value["after"] and tuple(value["after"].values())
    assert {name: row for name, row in rows.items() if row} == _rows_in(db_server, database, *tables)


def _chunks_done(offset: dict[str, Any] | None) -> int:
    """How many chunks of a snapshot are finished, all of them from the first one on."""
    ranges = ((offset or {}).get("cdckit_snapshot_chunks") or ":").partition(":")[2]
    return int(ranges.rpartition("-")[2]) + 1 if ranges else 0
