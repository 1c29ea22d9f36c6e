"""Dates that do not exist, which a server stores under ALLOW_INVALID_DATES, and those that are zero."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cdckit.errors import DecodeError
from mysql.capture import changes
from mysql.conftest import NewCapture
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql_family import SQLServer

Sql = Callable[[str], None]

ROW = "SET sql_mode = 'ALLOW_INVALID_DATES'; INSERT INTO t VALUES ({}, '2023-02-31', '2023-04-31 01:02:03', 'kept');"
SHOWN = (0, 3_723_000, "kept")
"""1970-01-01, and its 01:02:03."""


@pytest.fixture(autouse=True)
def _table(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, d DATE, dt DATETIME NOT NULL, v VARCHAR(9));")


def test_they_stop_the_snapshot_and_the_stream(capture: NewCapture, sql: Sql) -> None:
    sql(ROW.format(1))
    with pytest.raises(DecodeError, match=r"2023-02-31 is no date.*handling\.mode=warn"):
        capture().once()
    sql("TRUNCATE TABLE t;")
    capture().once()
    sql(ROW.format(2))
    with pytest.raises(DecodeError, match=r"2023-02-31 is no date.*handling\.mode=warn"):
        capture().once()


def test_zero_dates_are_null_or_the_default_or_the_epoch(capture: NewCapture, sql: Sql) -> None:
    sql("ALTER TABLE t ADD COLUMN e DATETIME NOT NULL DEFAULT '1970-01-02', MODIFY v VARCHAR(9) DEFAULT 'x';")
    row = "SET sql_mode = ''; INSERT INTO t (id, d, dt, e) VALUES ({}, 0, 0, 0);"
    sql(row.format(1))
    found = changes(capture().once())
    sql(row.format(2))
    found += changes(capture().once())
    assert found == [(op, "t", None, (n, None, 0, "x", 86_400_000)) for op, n in (("r", 1), ("c", 2))]


@pytest.mark.parametrize("mode", ["warn", "skip", "ignore"])
def test_or_are_shown_as_the_epoch(capture: NewCapture, sql: Sql, mode: str) -> None:
    """The row is kept, in the snapshot and in the log."""
    sql(ROW.format(1))
    options = {"event_deserialization_failure_handling_mode": mode}
    found = changes(capture(**options).once())
    sql(ROW.format(2))
    found += changes(capture(**options).once())
    assert found == [("r", "t", None, (1, *SHOWN)), ("c", "t", None, (2, *SHOWN))]


def test_tables_are_cut_behind_them(capture: NewCapture, sql: Sql) -> None:
    """As those of one batch of Spark's are, where a part of the key is no date."""
    sql("ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (dt, id);" + "".join(ROW.format(n) for n in range(9)))
    options = {"event_deserialization_failure_handling_mode": "warn"}
    batches = list(capture(snapshot_batch_rows=4, **options).batches())
    assert [{after[0] for _, _, _, after in changes(batch)} for batch in batches] == [{0, 1, 2, 3}, {4, 5, 6, 7}, {8}]


def test_each_of_them_is_logged_once(
    capture: NewCapture, sql: Sql, db_server: SQLServer, caplog: pytest.LogCaptureFixture
) -> None:
    date = "2023-02-29" if isinstance(db_server, MariaDBServer) else "2023-02-30"
    sql(ROW.format(1).replace("2023-02-31", date) + ROW.format(2).replace("2023-02-31", date))
    capture(event_deserialization_failure_handling_mode="ignore").once()
    assert caplog.text.count(f"{date} is no date") == 1
