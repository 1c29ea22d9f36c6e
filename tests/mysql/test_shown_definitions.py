"""Tables that the server shows otherwise than its log has told: read again, they are as the server shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.record import Record
from cdckit.connector.resnapshot import ask
from cdckit.errors import SnapshotDueError
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.schema_history.history import HISTORY
from mysql.capture import Capture, changes, config_for
from mysql.conftest import NewCapture
from testkit.servers.mariadb import MariaDBServer

Sql = Callable[[str], None]

MADE = "CREATE TABLE t (id INT PRIMARY KEY, x ENUM('a', 'b')); INSERT INTO t VALUES (1, 'a');"
UNTOLD = (
    "SET sql_log_bin = 0; ALTER TABLE t MODIFY x INT; ALTER TABLE t MODIFY x ENUM('A1', 'B1'); SET sql_log_bin = 1;"
)
"""As a session does that logs nothing, or a server that reads a statement otherwise than it is written."""


def _rows(records: Sequence[Record]) -> list[tuple[Any, ...]]:
    return [(op, table, *after) for op, table, _, after in changes(records) if after]


def _read(reading: Capture) -> list[tuple[Any, ...]]:
    return _rows([record for batch in reading.batches() for record in batch])


def _keys(records: Sequence[Record]) -> list[Any]:
    return [record.key and record.key.to_dict() for record in records]  # type: ignore[union-attr]


def _asked(reading: Capture, *tables: str) -> Capture:
    ask(reading.state, reading.offset(), tables)
    return reading


def _told(reading: Capture) -> Iterator[str]:
    return (place for place, _ in reading.state.read_history(HISTORY))


def _read_whole(reading: Capture) -> list[tuple[Any, ...]]:
    return _rows(reading.once())


@pytest.mark.parametrize("read", [_read, _read_whole])
def test_it_is_in_force_from_the_rows_on(
    capture: NewCapture, sql: Sql, database: str, read: Callable[[Capture], list[tuple[Any, ...]]]
) -> None:
    """What lies before them is as the log has told it, and what follows as the server shows it, also in a later run."""
    sql(MADE)
    reading = capture()
    assert read(reading) == [("r", "t", 1, "a")]
    sql(f"{UNTOLD} INSERT INTO t VALUES (2, 2);")
    assert read(_asked(reading, f"{database}.t")) == [("c", "t", 2, "b"), ("r", "t", 1, "A1"), ("r", "t", 2, "B1")]
    sql("INSERT INTO t VALUES (3, 1);")
    assert read(reading) == [("c", "t", 3, "A1")]
    sql("INSERT INTO t VALUES (4, 2);")
    assert read(capture()) == [("c", "t", 4, "B1")]


@pytest.mark.parametrize("read", [_read, _read_whole])
def test_the_one_that_was_taken_last_is_in_force(
    capture: NewCapture, sql: Sql, database: str, read: Callable[[Capture], list[tuple[Any, ...]]]
) -> None:
    """Though the log ends where it ended as the one before was taken, whichever runner takes it."""
    sql(MADE)
    reading = capture()
    _read(reading)
    sql(UNTOLD)
    assert _read(_asked(reading, f"{database}.t")) == [("r", "t", 1, "A1")]
    sql(UNTOLD.replace("A1", "A2"))
    assert read(_asked(reading, f"{database}.t")) == [("r", "t", 1, "A2")]
    sql("INSERT INTO t VALUES (2, 1)")
    assert read(reading) == [("c", "t", 2, "A2")]


def test_one_of_which_a_statement_tells_by_then_begins_anew(capture: NewCapture, sql: Sql, database: str) -> None:
    """The log goes on from the place behind which the rows come: there the definition of before is in force."""
    sql(MADE)
    reading = capture()
    _read(reading)
    sql(f"{UNTOLD} INSERT INTO t VALUES (2, 2);")
    _asked(reading, f"{database}.t").parallel(2)
    start = reading.offset()
    point = reading.source.latest_offset(start)
    sql("INSERT INTO t VALUES (3, 1); ALTER TABLE t ADD y INT; INSERT INTO t VALUES (4, 2, 4);")
    with pytest.raises(SnapshotDueError, match="has another type for x"):
        reading.source.plan(start, point, 2)
    assert _read(reading)[-4:] == [
        ("r", "t", 1, "A1", None), ("r", "t", 2, "B1", None), ("r", "t", 3, "A1", None), ("r", "t", 4, "B1", 4),
    ]  # fmt: skip
    sql("INSERT INTO t VALUES (5, 1, 5);")
    assert _read(reading) == [("c", "t", 5, "A1", 5)]


def test_statements_about_other_tables_are_passed_over(capture: NewCapture, sql: Sql, database: str) -> None:
    sql(MADE)
    reading = capture()
    _read(reading)
    sql(UNTOLD)
    _asked(reading, f"{database}.t")
    start = reading.offset()
    point = reading.source.latest_offset(start)
    sql("CREATE TABLE u (id INT PRIMARY KEY); INSERT INTO t VALUES (2, 2);")
    [split] = reading.source.plan(start, point, 2)
    assert _rows([record for batch in reading.source.read(split) for record in batch.records]) == [
        ("r", "t", 1, "A1"), ("r", "t", 2, "B1"),
    ]  # fmt: skip


def test_between_two_batches_of_one_snapshot_it_begins_anew(capture: NewCapture, sql: Sql, database: str) -> None:
    """Though the log stands still: the rows of the first batch are read once more."""
    sql(MADE + "INSERT INTO t VALUES (2, 'b'), (3, 'a');")
    reading = capture(snapshot_batch_rows=1)
    _read(reading)
    batches = _asked(reading, f"{database}.t").batches()
    assert _rows(next(batches)) == [("r", "t", 1, "a")]
    sql(UNTOLD)
    with pytest.raises(SnapshotDueError, match="has another type for x"):
        next(batches)
    assert _read(reading) == [("r", "t", 1, "A1"), ("r", "t", 2, "B1"), ("r", "t", 3, "A1")]


def test_a_table_that_the_log_has_not_told_of_is_read(capture: NewCapture, sql: Sql, database: str) -> None:
    sql(MADE)
    reading = capture()
    _read(reading)
    sql("SET sql_log_bin = 0; CREATE TABLE u (id INT PRIMARY KEY); SET sql_log_bin = 1; INSERT INTO u VALUES (1);")
    reading = capture(inconsistent_schema_handling_mode="skip")
    assert _read(_asked(reading, f"{database}.u")) == [("r", "u", 1)]


def test_a_table_without_a_primary_key_has_another_unique_one(capture: NewCapture, sql: Sql, database: str) -> None:
    """By the key of before, two rows would be one."""
    sql("CREATE TABLE t (id INT NOT NULL, b INT NOT NULL, UNIQUE i (id)); INSERT INTO t VALUES (1, 1)")
    reading = capture()
    _read(reading)
    sql("SET sql_log_bin = 0; ALTER TABLE t DROP INDEX i, ADD UNIQUE (b); SET sql_log_bin = 1")
    read = [_keys(batch) for batch in _asked(reading, f"{database}.t").batches()]
    sql("INSERT INTO t VALUES (1, 2)")
    read += [_keys(batch) for batch in reading.batches()]
    assert read == [[{"b": 1}], [{"b": 2}]]


@pytest.mark.parametrize("was", ["", "WITH SYSTEM VERSIONING"])
def test_a_table_that_is_system_versioned_by_now_or_no_more(
    mariadb_server: MariaDBServer, tmp_path: Path, unique_name: str, was: str
) -> None:
    script = partial(mariadb_server.run_sql, database=unique_name)
    mariadb_server.execute(f"CREATE DATABASE {unique_name}")
    script(f"CREATE TABLE t (id INT PRIMARY KEY, x INT) {was}; INSERT INTO t VALUES (1, 1);")
    with Capture(config_for(mariadb_server, database_include_list=unique_name), tmp_path).closing() as reading:
        _read(reading)
        script(f"SET sql_log_bin = 0; ALTER TABLE t {'DROP' if was else 'ADD'} SYSTEM VERSIONING; SET sql_log_bin = 1")
        assert _read(_asked(reading, f"{unique_name}.t")) == [("r", "t", 1, 1)]
        script("UPDATE t SET x = 2; INSERT INTO t VALUES (2, 2)")
        assert _read(reading) == [("u", "t", 1, 2), ("c", "t", 2, 2)]
    mariadb_server.execute(f"DROP DATABASE {unique_name}")


def test_one_that_is_told_in_other_words_is_left_as_it_is(capture: NewCapture, sql: Sql, database: str) -> None:
    reading = capture()
    _read(reading)
    sql(
        "CREATE TABLE t (id INTEGER(11) UNSIGNED, b BOOL, c CHAR, n NUMERIC(5), f FLOAT(10), g FLOAT(7,3), d DOUBLE "
        "PRECISION, y YEAR, s NATIONAL VARCHAR(3), z TIMESTAMP(0) NULL, j JSON, o GEOMETRYCOLLECTION, "
        "e ENUM('a ', 'b'), l LONG, w INT(5) ZEROFILL, x BIT, v VARCHAR(5) BINARY, PRIMARY KEY (id), UNIQUE (b)); "
        "ALTER TABLE t MODIFY f FLOAT AFTER g, ADD i8 INT8 FIRST;"
    )
    _read(reading)
    before = list(_told(reading))
    _read(_asked(reading, f"{database}.t"))
    assert list(_told(reading)) == before
    assert LogOffset.from_json(reading.offset()).resnapshot is not None
