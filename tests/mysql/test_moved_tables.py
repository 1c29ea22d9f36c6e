"""Incremental snapshots of tables that are no longer, at the server, what the log has told of so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mysql.signalling import SIGNALS, Signalled
from testkit.servers.mysql_family import SQLServer

Sql = Callable[[str], None]

ROWS = [(number, number % 2) for number in range(100)]


@pytest.fixture
def signalled(db_server: SQLServer, database: str, sql: Sql, tmp_path: Path) -> Iterator[Signalled]:
    """A capture that a signal waits for, of tables `t` and `u`."""
    sql(SIGNALS)
    sql("CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE u (id INT PRIMARY KEY); INSERT INTO u VALUES (1);")
    sql(f"INSERT INTO t VALUES {', '.join(map(str, ROWS))};")
    capture = Signalled(db_server, database, tmp_path / "state")
    capture.once()
    capture.signal(data_collections=[f"{database}.t", f"{database}.u"])
    yield capture


def test_a_table_that_has_another_name_by_now_is_left(
    signalled: Signalled, sql: Sql, caplog: pytest.LogCaptureFixture
) -> None:
    sql("ALTER TABLE t RENAME other; UPDATE other SET v = 7 WHERE id = 3;")
    records = signalled.once()
    assert (signalled.reads(), signalled.reads("other"), signalled.reads("u")) == ([], [], [(1,)])
    assert f"{signalled.database}.t is not read: the schema history does not know it" in caplog.text
    assert [record.topic for record in records].count(f"p.{signalled.database}.other") == 1


@pytest.mark.parametrize("rows", [0, 20])
@pytest.mark.parametrize("change", ["RENAME TABLE t TO other", "TRUNCATE t; DROP TABLE t"])
def test_a_table_that_goes_before_the_next_chunk_is_left(
    signalled: Signalled, sql: Sql, change: str, rows: int
) -> None:
    signalled.follow(until=lambda: len(signalled.reads()) >= rows)
    sql(change)
    signalled.once()
    assert signalled.reads("u") == [(1,)]
    assert signalled.told()[-1] == ("Incremental", "COMPLETED")


@pytest.mark.parametrize(
    "change", ["ALTER TABLE t CHANGE id number INT", "DROP TABLE t; CREATE TABLE t (number INT PRIMARY KEY, v INT)"]
)
def test_a_table_whose_key_has_another_name_by_now_is_read_once_the_log_tells_of_it(
    signalled: Signalled, sql: Sql, change: str
) -> None:
    sql(f"{change}; REPLACE INTO t VALUES {', '.join(map(str, ROWS))};")
    signalled.once()
    assert signalled.reads() == ROWS
    assert signalled.reads("u") == [(1,)]
