"""What only MariaDB's log has: sequences, rows of the past, columns that no statement names, ALTER in two phases."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest

from cdckit.errors import DecodeError
from mysql.capture import Capture, changes, config_for
from testkit.servers.mariadb import MariaDBServer

NewReading = Callable[..., Capture]
TIMES = "a TIMESTAMP(6) GENERATED ALWAYS AS ROW START, b TIMESTAMP(6) GENERATED ALWAYS AS ROW END"


@pytest.fixture
def place(mariadb_server: MariaDBServer, unique_name: str) -> Iterator[str]:
    """An empty database."""
    mariadb_server.execute(f"CREATE DATABASE {unique_name}")
    yield unique_name
    mariadb_server.execute(f"DROP DATABASE {unique_name}")


@pytest.fixture
def sql(mariadb_server: MariaDBServer, place: str) -> Callable[[str], None]:
    """Runs a script in that database."""
    return lambda script: mariadb_server.run_sql(script, database=place)


@pytest.fixture
def reading(mariadb_server: MariaDBServer, place: str, tmp_path: Path) -> Iterator[NewReading]:
    """Captures of that database which begin where the log stands at the first one."""
    made: list[Capture] = []

    def new(**options: Any) -> Capture:
        for other in made:
            other.close()
        config = config_for(mariadb_server, database_include_list=place, snapshot_mode="no_data", **options)
        made.append(Capture(config, tmp_path / "state"))
        if made[-1].state.load_offset() is None:
            made[-1].once()
        return made[-1]

    yield new
    for each in made:
        each.close()


def test_a_sequence_has_no_events(reading: NewReading, sql: Callable[[str], None]) -> None:
    """Neither one that the snapshot has seen nor one that is made later, though the log has rows of both."""
    sql("CREATE SEQUENCE s; CREATE TABLE t (id INT PRIMARY KEY, n INT);")
    reading()
    sql("INSERT INTO t VALUES (1, NEXTVAL(s)); CREATE SEQUENCE later; INSERT INTO t VALUES (2, NEXTVAL(later));")
    assert changes(reading().once()) == [("c", "t", None, (1, 1)), ("c", "t", None, (2, 1))]


def test_rows_of_the_past_have_keys_of_their_own(reading: NewReading, sql: Callable[[str], None]) -> None:
    """A table that names its period has the period's end in its key, so that an old version is another row."""
    sql(f"CREATE TABLE t (id INT PRIMARY KEY, v INT, {TIMES}, PERIOD FOR SYSTEM_TIME (a, b)) WITH SYSTEM VERSIONING;")
    reading()
    sql("INSERT INTO t (id, v) VALUES (1, 1); UPDATE t SET v = 2; DELETE FROM t;")
    found = changes(reading().once())
    shown = [(op, *(row and row[:2] for row in rows)) for op, _, *rows in found if op != "tombstone"]
    assert shown == [
        ("c", None, (1, 1)),
        ("u", (1, 1), (1, 2)),
        ("c", None, (1, 1)),
        ("d", (1, 2), None),
        ("c", None, (1, 2)),
    ]


def test_rows_of_the_past_of_a_table_that_is_captured_later(
    reading: NewReading, sql: Callable[[str], None], place: str
) -> None:
    """Its definition, which was not followed, is the server's."""
    only = {"schema_history_internal_store_only_captured_tables_ddl": True}
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    sql(f"CREATE TABLE later (id INT PRIMARY KEY, {TIMES}, PERIOD FOR SYSTEM_TIME (a, b)) WITH SYSTEM VERSIONING;")
    reading(table_include_list=f"{place}.t", **only)
    sql("INSERT INTO later (id) VALUES (1);")
    with reading(table_include_list=f"{place}.(t|later)", **only).following() as batches:
        found = changes(next(batch.records for batch in batches if batch.records))
    assert [(op, table, row[:1]) for op, table, _, row in found] == [("c", "later", (1,))]


def test_a_period_without_names_is_left_out_and_told_of(
    reading: NewReading, sql: Callable[[str], None], caplog: pytest.LogCaptureFixture
) -> None:
    """Rows are those of the log: a version that ends is an update of what no event shows."""
    sql("CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;")
    reading()
    sql("INSERT INTO t VALUES (1, 1); UPDATE t SET v = 2; DELETE FROM t;")
    assert changes(reading().once()) == [
        ("c", "t", None, (1, 1)),
        ("u", "t", (1, 1), (1, 2)),
        ("c", "t", None, (1, 1)),
        ("u", "t", (1, 2), (1, 2)),
    ]
    assert "GENERATED ALWAYS AS ROW START" in caplog.text


@pytest.mark.parametrize("metadata", ["FULL", "NO_LOG"])
@pytest.mark.parametrize("versioning", ["", "WITH SYSTEM VERSIONING"])
def test_hashes_of_long_keys_are_left_out(
    reading: NewReading, sql: Callable[[str], None], metadata: str, versioning: str
) -> None:
    """They are hidden columns of the log, with or without their names, also behind a column that is added later."""
    sql(f"CREATE TABLE t (id INT PRIMARY KEY, v TEXT, UNIQUE (v), UNIQUE (v, id)) {versioning};")
    reading()
    sql(f"SET GLOBAL binlog_row_metadata = '{metadata}'")
    try:
        sql("INSERT INTO t VALUES (1, 'a');")
        if not versioning:
            sql("ALTER TABLE t ADD n INT; UPDATE t SET v = 'b', n = 3;")
    finally:
        sql("SET GLOBAL binlog_row_metadata = 'FULL'")
    later = [] if versioning else [("u", "t", (1, "a", None), (1, "b", 3))]
    assert changes(reading().once()) == [("c", "t", None, (1, "a")), *later]


def test_a_column_too_many_is_still_told(reading: NewReading, sql: Callable[[str], None]) -> None:
    """A table with a long key may have one hidden number, not two."""
    sql("CREATE TABLE t (id INT PRIMARY KEY, v TEXT, UNIQUE (v));")
    reading()
    sql("SET sql_log_bin = 0; ALTER TABLE t ADD n BIGINT; SET sql_log_bin = 1; INSERT INTO t VALUES (1, 'a', 2);")
    with pytest.raises(DecodeError, match="the log has 4 columns, the tracked definition 2"):
        reading().once()


@pytest.mark.parametrize("pieces", [1, 3])
def test_alter_in_two_phases_counts_when_it_is_done(
    reading: NewReading, sql: Callable[[str], None], pieces: int
) -> None:
    """Its statement is told twice; of one that fails, too. Its end tells the number of its begin, here one with bytes
    that would mean something else.
    """
    sql("CREATE TABLE t (id INT PRIMARY KEY, v INT);")
    reading()
    sql(f"SET gtid_seq_no = {1 << 32 | 0xFF03}; INSERT INTO t VALUES (0, 4);")
    sql("SET binlog_alter_two_phase = 1; INSERT INTO t VALUES (1, 5); ALTER TABLE t ADD n INT FIRST;")
    sql("INSERT INTO t VALUES (9, 2, 5);")
    with pytest.raises(pymysql.IntegrityError):
        sql("SET binlog_alter_two_phase = 1; ALTER TABLE t DROP n, ADD UNIQUE (v), ALGORITHM=COPY;")
    sql("INSERT INTO t VALUES (9, 3, 6);")
    expected = [
        ("c", "t", None, (0, 4)),
        ("c", "t", None, (1, 5)),
        ("c", "t", None, (9, 2, 5)),
        ("c", "t", None, (9, 3, 6)),
    ]
    if pieces == 1:
        assert changes(reading().once()) == expected
    else:
        found = reading().parallel(pieces)
        assert changes([record for part in found for record in part]) == expected


def test_rows_between_the_phases_have_the_old_definition(
    mariadb_server: MariaDBServer, reading: NewReading, sql: Callable[[str], None], place: str
) -> None:
    """Others write to the table while an online ALTER is at work, between its begin and its end in the log."""
    sql("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t SELECT seq, 0 FROM seq_1_to_20000;")
    reading()
    writer = Writer(mariadb_server, place)
    writer.start()
    try:
        writer.write_one_more()
        sql("SET binlog_alter_two_phase = 1; ALTER TABLE t ADD INDEX (v), ADD n INT DEFAULT 7, ALGORITHM=INPLACE;")
        writer.write_one_more()
    finally:
        writer.stop.set()
        writer.join()
    rows = [row for _, _, _, row in changes(reading().once())]
    widths = [len(row) for row in rows]
    assert widths == sorted(widths)
    assert set(widths) == {2, 3}
    assert [row[0] for row in rows] == list(range(100_000, 100_000 + len(rows)))
    assert all(row[2:] in ((), (7,)) for row in rows)


class Writer(threading.Thread):
    """Inserts rows, from 100000 on, until it is stopped."""

    def __init__(self, server: MariaDBServer, database: str) -> None:
        super().__init__()
        self.stop = threading.Event()
        self._server = server
        self._database = database
        self._written = threading.Semaphore(0)

    def write_one_more(self) -> None:
        """Waits until a row is written that is not yet."""
        while self._written.acquire(blocking=False):
            pass
        for _ in range(2):
            assert self._written.acquire(timeout=30)

    def run(self) -> None:
        """Writes."""
        number = 100_000
        with self._server.connect(database=self._database) as connection, connection.cursor() as cursor:
            while not self.stop.is_set():
                cursor.execute("INSERT INTO t (id, v) VALUES (%s, 1)", (number,))
                self._written.release()
                number += 1
