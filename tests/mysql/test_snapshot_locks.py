"""How a snapshot keeps writers out, as whom, and for how long; and that a slow sink breaks nothing."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest

from cdckit.api.batch import Batch
from cdckit.errors import RetriableSourceError, SourceError
from mysql.capture import Capture, changes, config_for
from mysql.conftest import NewCapture
from testkit.servers.mysql_family import CAPTURE_PRIVILEGES, SQLServer

Sql = Callable[[str], None]

MANUAL = CAPTURE_PRIVILEGES
HOSTED = (*(privilege for privilege in MANUAL if privilege != "RELOAD"), "LOCK TABLES")
"""The same where a global read lock is not to be had."""


@pytest.fixture
def capture_as(
    db_server: SQLServer, database: str, unique_name: str, tmp_path: Path
) -> Iterator[Callable[..., Capture]]:
    """Makes the one capture of the test's own database, by a user with some privileges."""
    made: list[Capture] = []

    def new(*privileges: str, **options: Any) -> Capture:
        user = f"u{unique_name[-10:]}"
        db_server.create_user(user, "secret", privileges)
        given = {"database_include_list": database, "database_user": user, "database_password": "secret", **options}
        made.append(Capture(config_for(db_server, **given), tmp_path / "state"))
        return made[-1]

    yield new
    for each in made:
        each.close()


def _snapshot(reading: Capture) -> Iterator[Batch]:
    [split] = reading.source.plan(reading.offset(), None)
    return reading.source.read(split)


def _writes(server: SQLServer, database: str, sql: str) -> bool:
    """Whether a statement goes through within a second or so."""
    with server.connect(database=database) as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION lock_wait_timeout = 1")
        try:
            cursor.execute(sql)
        except pymysql.OperationalError as error:
            assert "timeout" in str(error).lower()
            return False
    return True


@pytest.mark.parametrize("privileges", [MANUAL, HOSTED], ids=["manual", "hosted"])
def test_the_manuals_grants_are_enough(
    capture_as: Callable[..., Capture], sql: Sql, privileges: tuple[str, ...]
) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2);")
    reading = capture_as(*privileges)
    assert changes(reading.once()) == [("r", "t", None, (1,)), ("r", "t", None, (2,))]
    sql("INSERT INTO t VALUES (3);")
    assert changes(reading.once()) == [("c", "t", None, (3,))]


def test_who_may_lock_nothing_is_told_what_to_grant(capture_as: Callable[..., Capture], sql: Sql) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    with pytest.raises(SourceError, match="LOCK TABLES is needed where RELOAD is not granted"):
        capture_as(*HOSTED[:-1]).once()


@pytest.mark.parametrize(("privileges", "mode"), [(MANUAL, "minimal"), (MANUAL, "none"), (HOSTED, "minimal")])
def test_writers_go_on_while_rows_are_read(
    capture_as: Callable[..., Capture],
    sql: Sql,
    db_server: SQLServer,
    database: str,
    privileges: tuple[str, ...],
    mode: str,
) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1);")
    reading = capture_as(*privileges, snapshot_locking_mode=mode)
    batches = _snapshot(reading)
    next(batches)
    assert _writes(db_server, database, "INSERT INTO t VALUES (2)")
    for batch in batches:
        assert all(change[3] == (1,) for change in changes(batch.records))
        reading.keep(batch.offset)
    assert changes(reading.once()) == [("c", "t", None, (2,))]


@pytest.mark.parametrize(
    ("privileges", "mode", "engine"), [(MANUAL, "extended", "InnoDB"), (HOSTED, "minimal", "MyISAM")]
)
def test_writers_wait_to_the_end_where_a_transaction_would_not_do(
    capture_as: Callable[..., Capture],
    sql: Sql,
    db_server: SQLServer,
    database: str,
    privileges: tuple[str, ...],
    mode: str,
    engine: str,
) -> None:
    sql(f"CREATE TABLE t (id INT PRIMARY KEY) ENGINE={engine}; INSERT INTO t VALUES (1);")
    reading = capture_as(*privileges, snapshot_locking_mode=mode)
    batches = _snapshot(reading)
    next(batches)
    assert not _writes(db_server, database, "INSERT INTO t VALUES (2)")
    for batch in batches:
        reading.keep(batch.offset)
    assert _writes(db_server, database, "INSERT INTO t VALUES (2)")
    assert changes(reading.once()) == [("c", "t", None, (2,))]


def test_perconas_lock_is_refused_where_there_is_none(capture: NewCapture, sql: Sql) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    with pytest.raises(SourceError, match=r"only Percona Server has: use snapshot\.locking\.mode=minimal"):
        capture(snapshot_locking_mode="minimal_percona").once()


@pytest.fixture
def impatient(db_server: SQLServer) -> Iterator[None]:
    """A server that closes connections which are slow to take their rows, or idle."""
    names = ("net_write_timeout", "wait_timeout")
    before = {name: db_server.execute(f"SELECT @@GLOBAL.{name}")[0][0] for name in names}
    for name in names:
        db_server.execute(f"SET GLOBAL {name} = 2")
    yield
    for name, value in before.items():
        db_server.execute(f"SET GLOBAL {name} = {value}")


@pytest.mark.usefixtures("impatient")
def test_a_sink_may_stall_for_longer_than_the_server_waits(capture: NewCapture, sql: Sql) -> None:
    rows, size = 6000, 4000
    sql(
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v TEXT); CREATE TABLE z (id INT PRIMARY KEY);"
        f"INSERT INTO t (v) VALUES {','.join(['(NULL)'] * rows)}; UPDATE t SET v = REPEAT('x', {size});"
        "INSERT INTO z VALUES (1);"
    )
    reading = capture()
    found = 0
    batches = _snapshot(reading)
    for batch in batches:
        found += len(batch.records)
        if found and found - len(batch.records) == 0:
            time.sleep(4.5)
    assert found == rows + 1


def test_an_answer_that_does_not_come_is_not_waited_for(
    capture: NewCapture, sql: Sql, db_server: SQLServer, database: str
) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1);")
    with db_server.connect(database=database) as holder, holder.cursor() as cursor:
        cursor.execute("LOCK TABLES t WRITE")
        with pytest.raises(RetriableSourceError, match=r"database\.query\.timeout\.ms"):
            capture(database_query_timeout_ms=500, snapshot_lock_timeout_ms=30_000).once()


def test_a_pause_before_the_snapshot_ends_with_the_pipeline(
    capture: NewCapture, sql: Sql, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    sql("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1);")
    reading = capture(snapshot_delay_ms=3_600_000)
    reading.stop.stop()
    assert [record for batch in _snapshot(reading) for record in batch.records] == []
    assert capture(snapshot_delay_ms=50).once()
