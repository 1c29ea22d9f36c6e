"""What only MariaDB's log has: sequences, rows of the past, columns that no statement names, ALTER in two phases."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pymysql
import pytest

from cdckit.api.state_store import Json
from cdckit.errors import DecodeError
from cdckit_mysql.schema_history.history import HISTORY
from mysql.capture import Capture, changes, config_for
from mysql.signalling import SIGNALS, Signalled
from testkit.servers.mariadb import MariaDBServer

NewReading = Callable[..., Capture]
Sql = Callable[[str], None]
STARTS, ENDS = "a TIMESTAMP(6) GENERATED ALWAYS AS ROW START", "b TIMESTAMP(6) GENERATED ALWAYS AS ROW END"
TIMES = f"{STARTS}, {ENDS}"
PERIOD = "PERIOD FOR SYSTEM_TIME (a, b)"
ADDED = f"ADD {STARTS}, ADD {ENDS}, ADD {PERIOD}, ADD SYSTEM VERSIONING"


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


def test_a_sequence_has_no_events(reading: NewReading, sql: Sql) -> None:
    """Neither one that the snapshot has seen nor one that is made later, though the log has rows of both."""
    sql("CREATE SEQUENCE s; CREATE TABLE t (id INT PRIMARY KEY, n INT);")
    reading()
    sql("INSERT INTO t VALUES (1, NEXTVAL(s)); CREATE SEQUENCE later; INSERT INTO t VALUES (2, NEXTVAL(later));")
    assert changes(reading().once()) == [("c", "t", None, (1, 1)), ("c", "t", None, (2, 1))]


def test_rows_of_the_past_of_a_table_that_is_captured_later(reading: NewReading, sql: Sql, place: str) -> None:
    """Its definition, which was not followed, is the server's."""
    only = {"schema_history_internal_store_only_captured_tables_ddl": True}
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    sql(f"CREATE TABLE later (id INT PRIMARY KEY, {TIMES}, PERIOD FOR SYSTEM_TIME (a, b)) WITH SYSTEM VERSIONING;")
    reading(table_include_list=f"{place}.t", **only)
    sql("INSERT INTO later (id) VALUES (1);")
    with reading(table_include_list=f"{place}.(t|later)", **only).following() as batches:
        found = changes(next(batch.records for batch in batches if batch.records))
    assert [(op, table, row[:1]) for op, table, _, row in found] == [("c", "later", (1,))]


VERSIONED = {
    "hidden": "CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;",
    "by a column": "CREATE TABLE t (id INT PRIMARY KEY, v INT WITH SYSTEM VERSIONING);",
    "in partitions": "CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME;",
    "without a key": "CREATE TABLE t (id INT, v INT) WITH SYSTEM VERSIONING;",
    "named": f"CREATE TABLE t (id INT PRIMARY KEY, v INT, {TIMES}, {PERIOD}) WITH SYSTEM VERSIONING;",
    "altered": f"CREATE TABLE t (id INT PRIMARY KEY, v INT); ALTER TABLE t {ADDED};",
    "end first": f"CREATE TABLE t (id INT PRIMARY KEY, v INT, {ENDS}, {STARTS}, {PERIOD}) WITH SYSTEM VERSIONING;",
}
"""Tables `t`, by where they have their period."""


@pytest.mark.parametrize(("known", "image"), [("from the server", "MINIMAL"), ("from the log", "FULL")])
@pytest.mark.parametrize("table", VERSIONED)
def test_events_of_a_versioned_table_are_those_of_its_rows_of_now(
    reading: NewReading, sql: Sql, table: str, known: str, image: str
) -> None:
    """Old versions are inserted by updates, ended by deletes and removed by DELETE HISTORY: none of it is an event."""
    if known == "from the server":
        sql(VERSIONED[table])
    reading()
    if known == "from the log":
        sql(VERSIONED[table])
    sql(
        f"SET binlog_row_image = {image}; INSERT INTO t (id, v) VALUES (1, 1), (2, 2); UPDATE t SET v = 3 WHERE id < 3;"
        "UPDATE t SET id = 4 WHERE id = 1; DELETE FROM t WHERE id = 2; DELETE HISTORY FROM t;"
        "INSERT INTO t (id, v) VALUES (2, 5);"
    )
    found = [one for one in changes(reading().once()) if one[0] != "tombstone"]
    keyed = table != "without a key"
    assert [(op, before and before[0], after and after[0]) for op, _, before, after in found] == [
        ("c", None, 1),
        ("c", None, 2),
        ("u", 1, 1),
        ("u", 2, 2),
        *([("d", 1, None), ("c", None, 4)] if keyed else [("u", 1, 4)]),
        ("d", 2, None),
        ("c", None, 2),
    ]
    assert [after[1] for _, _, _, after in found if after] == [1, 2, 3, 3, 3, 5]


@pytest.mark.parametrize("pieces", [1, 3])
def test_one_event_of_the_log_may_end_rows_and_change_others(
    reading: NewReading, sql: Sql, mariadb_server: MariaDBServer, place: str, pieces: int
) -> None:
    """A trigger that deletes and updates writes both as updates; each becomes what it is, at a place of its own."""
    sql("CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING; CREATE TABLE u (id INT);")
    with mariadb_server.connect(database=place) as connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE TRIGGER g BEFORE INSERT ON u FOR EACH ROW BEGIN DELETE FROM t WHERE id = 1; DELETE FROM t WHERE "
            "id = 2; UPDATE t SET v = 9 WHERE id = 3; DELETE FROM t WHERE id = 4; END"
        )
    sql("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4);")
    reading()
    sql("INSERT INTO u VALUES (1);")
    records = reading().once() if pieces == 1 else list(chain(*reading().parallel(pieces)))
    assert [one for one in changes(records) if one[0] != "tombstone"] == [
        ("d", "t", (1, 1), None),
        ("d", "t", (2, 2), None),
        ("u", "t", (3, 3), (3, 9)),
        ("d", "t", (4, 4), None),
        ("c", "u", None, (1,)),
    ]
    positions = [record.position for record in records]
    assert positions == sorted(set(positions))


def test_history_that_is_inserted_is_no_event(reading: NewReading, sql: Sql) -> None:
    """As backups with their history are loaded."""
    sql("CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;")
    reading()
    sql(
        "SET system_versioning_insert_history = 1;"
        "INSERT INTO t (id, v, row_start, row_end) VALUES (1, 1, '2001-01-01', '2002-01-01'), (2, 2, '2002-01-01',"
        "TIMESTAMP'2038-01-19 03:14:07.999999');"
        "INSERT INTO t (id, v) VALUES (1, 3);"
    )
    assert [row for *_, row in changes(reading().once())] == [(2, 2), (1, 3)]


def test_versioning_begins_and_ends_with_its_statements(reading: NewReading, sql: Sql) -> None:
    """Columns may be added and renamed meanwhile, and a table like the versioned one is versioned, too."""
    sql("CREATE TABLE t (id INT PRIMARY KEY, v INT);")
    reading()
    sql(
        "SET time_zone = '+00:00'; INSERT INTO t VALUES (1, 1); ALTER TABLE t ADD SYSTEM VERSIONING;"
        "UPDATE t SET v = 2; SET system_versioning_alter_history = keep; ALTER TABLE t ADD n INT; UPDATE t SET n = 3;"
        "CREATE TABLE u LIKE t; INSERT INTO u VALUES (7, 7, 7); DELETE FROM u;"
        "ALTER TABLE t DROP SYSTEM VERSIONING; UPDATE t SET n = 4;"
        f"ALTER TABLE t {ADDED}; ALTER TABLE t RENAME COLUMN b TO c; DELETE FROM t;"
    )
    found = [one for one in changes(reading().once()) if one[0] != "tombstone"]
    assert [(op, table, row[:3] if (row := after or before) else None) for op, table, before, after in found] == [
        ("c", "t", (1, 1)),
        ("u", "t", (1, 2)),
        ("u", "t", (1, 2, 3)),
        ("c", "u", (7, 7, 7)),
        ("d", "u", (7, 7, 7)),
        ("u", "t", (1, 2, 4)),
        ("d", "t", (1, 2, 4)),
    ]


def test_a_table_with_versions_by_transactions_stops_the_pipeline(reading: NewReading, sql: Sql) -> None:
    """MariaDB logs its changes as statements, whatever the format of the log."""
    numbers = "a BIGINT UNSIGNED GENERATED ALWAYS AS ROW START, b BIGINT UNSIGNED GENERATED ALWAYS AS ROW END"
    sql(f"CREATE TABLE t (id INT PRIMARY KEY, v INT, {numbers}, {PERIOD}) WITH SYSTEM VERSIONING;")
    reading()
    sql("INSERT INTO t (id, v) VALUES (1, 1);")
    with pytest.raises(DecodeError, match=r"\.t\b.*statement") as stopped:
        reading().once()
    assert stopped.value.number == "CDC5104"


def test_a_snapshot_has_the_rows_of_now(mariadb_server: MariaDBServer, sql: Sql, place: str, tmp_path: Path) -> None:
    """Whatever moment the server's sessions see."""
    sql("CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING; INSERT INTO t VALUES (1, 1), (2, 2);")
    sql("DELETE FROM t WHERE id = 1; UPDATE t SET v = 3; SET GLOBAL system_versioning_asof = '2001-01-01';")
    try:
        with Capture(config_for(mariadb_server, database_include_list=place), tmp_path / "state").closing() as capture:
            assert changes(capture.once()) == [("r", "t", None, (2, 3))]
    finally:
        sql("SET GLOBAL system_versioning_asof = DEFAULT")


@pytest.mark.parametrize(("metadata", "definition"), [("FULL", "log"), ("NO_LOG", "server"), ("NO_LOG", "log")])
def test_a_history_of_an_earlier_release_does_not_name_the_end(
    reading: NewReading, sql: Sql, metadata: str, definition: str
) -> None:
    """The key tells it, in the log or as the server has shown it; else the pipeline stops."""
    if definition == "server":
        sql(VERSIONED["end first"])
    capture = reading()
    if definition == "log":
        sql(VERSIONED["end first"])
        capture.once()
    entries = [entry._replace(entry=_without_ends(entry.entry)) for entry in capture.state.read_history(HISTORY)]
    capture.state.replace_history(HISTORY, entries)
    sql(f"SET GLOBAL binlog_row_metadata = '{metadata}'")
    try:
        sql("INSERT INTO t (id, v) VALUES (1, 1); UPDATE t SET v = 2; DELETE FROM t;")
    finally:
        sql("SET GLOBAL binlog_row_metadata = 'FULL'")
    if (metadata, definition) == ("NO_LOG", "log"):
        with pytest.raises(DecodeError, match=r"\.t is system-versioned, and .* an earlier release"):
            reading().once()
    else:
        assert [op for op, *_ in changes(reading().once())] == ["c", "u", "d", "tombstone"]


def _without_ends(entry: Json) -> Json:
    return json.loads(json.dumps(entry).replace(', "row_end": true', ""))


def test_a_signal_table_may_be_versioned(mariadb_server: MariaDBServer, sql: Sql, place: str, tmp_path: Path) -> None:
    """A signal that is changed or deleted is not given again, and rows that change while they are read are newer."""
    sql(SIGNALS.replace(";", " WITH SYSTEM VERSIONING;"))
    sql(f"{VERSIONED['hidden']} INSERT INTO t SELECT seq, 0 FROM seq_1_to_9;")
    signalled = Signalled(mariadb_server, place, tmp_path / "state")
    signalled.once()
    signalled.signal(data_collections=[f"{place}.t"])
    sql("UPDATE t SET v = 1 WHERE id < 4; DELETE FROM t WHERE id > 6;")
    sql("UPDATE signals SET type = 'seen'; DELETE FROM signals;")
    signalled.once()
    assert signalled.reads() == [(number, int(number < 4)) for number in range(1, 7)]


@pytest.mark.parametrize("metadata", ["FULL", "NO_LOG"])
@pytest.mark.parametrize("versioning", ["", "WITH SYSTEM VERSIONING"])
def test_hashes_of_long_keys_are_left_out(reading: NewReading, sql: Sql, metadata: str, versioning: str) -> None:
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


def test_a_column_too_many_is_still_told(reading: NewReading, sql: Sql) -> None:
    """A table with a long key may have one hidden number, not two."""
    sql("CREATE TABLE t (id INT PRIMARY KEY, v TEXT, UNIQUE (v));")
    reading()
    sql("SET sql_log_bin = 0; ALTER TABLE t ADD n BIGINT; SET sql_log_bin = 1; INSERT INTO t VALUES (1, 'a', 2);")
    with pytest.raises(DecodeError, match="the log has 4 columns, the tracked definition 2"):
        reading().once()


@pytest.mark.parametrize("pieces", [1, 3])
def test_alter_in_two_phases_counts_when_it_is_done(reading: NewReading, sql: Sql, pieces: int) -> None:
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
    mariadb_server: MariaDBServer, reading: NewReading, sql: Sql, place: str
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
