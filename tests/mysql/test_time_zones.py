"""Times of a server in America/Los_Angeles are the same in snapshot and log, in whatever zone the host is."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mysql.capture import Capture, changes, config_for
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer

TABLE = (
    "CREATE TABLE t (id INT PRIMARY KEY, d DATE, t TIME(3), dt DATETIME(6), ts TIMESTAMP(6) NULL, y YEAR, "
    "made TIMESTAMP NOT NULL DEFAULT '2020-01-01 00:00:00')"
)
ROW = (
    "INSERT INTO t (id, d, t, dt, ts, y) "
    "VALUES ({id}, '{day}', '{at}.125', '{day} {at}.000001', '{day} {at}.000001', 2021)"
)
MOMENTS = {
    "winter": ("2021-01-15", "03:04:05"),
    "the hour that summer takes away": ("2021-03-14", "01:59:59"),
    "summer": ("2021-07-15", "23:59:59"),
    "the hour that comes twice": ("2021-11-07", "01:30:00"),
}


@pytest.fixture(scope="module", params=[MySQLServer, MariaDBServer], ids=["mysql", "mariadb"])
def california(request: pytest.FixtureRequest) -> Iterator[SQLServer]:
    """A server whose system's zone is America/Los_Angeles."""
    with zone("America/Los_Angeles"), request.param() as server:
        server.create_user("dbz", "dbz")
        yield server


class zone:  # noqa: N801 - reads as a statement
    """This process, and those that it starts, are in a time zone."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        self._before = os.environ.get("TZ")
        os.environ["TZ"] = self._name
        time.tzset()

    def __exit__(self, *_: object) -> None:
        os.environ.pop("TZ")
        if self._before is not None:
            os.environ["TZ"] = self._before
        time.tzset()


@pytest.mark.parametrize("host", ["UTC", "America/Los_Angeles", "Asia/Kolkata"])
def test_snapshot_and_log_are_equal(california: SQLServer, host: str, tmp_path: Path) -> None:
    """Debezium's JDBC driver needs `connectionTimeZone` for that; here it is accepted and changes nothing."""
    database = f"zones_{host.partition('/')[2].lower() or 'utc'}"
    california.run_sql(f"CREATE DATABASE {database}; USE {database}; {TABLE}")
    assert california.execute("SELECT @@system_time_zone") in ((("PST",),), (("PDT",),))
    insert(california, database, 0)
    options = {"database.connectionTimeZone": "America/Los_Angeles", "driver.connectionTimeZone": "LOCAL"}
    with zone(host):
        made = Capture(config_for(california, database_include_list=database, **options), tmp_path)
        snapshot = rows(made)
        insert(california, database, 100)
        log = rows(made)
        made.close()
    assert [row[1:] for row in snapshot] == [row[1:] for row in log]
    assert snapshot[0] == (
        0, 18642, 11045125000, 1610679845000001, "2021-01-15T11:04:05.000001Z", 2021, "2020-01-01T08:00:00Z",
    )  # fmt: skip
    assert [row[4] for row in snapshot[1:]] == [
        "2021-03-14T09:59:59.000001Z",
        "2021-07-16T06:59:59.000001Z",
        "2021-11-07T09:30:00.000001Z",
    ]


def insert(server: SQLServer, database: str, first: int) -> None:
    """The same rows, numbered from `first` on."""
    for number, (day, at) in enumerate(MOMENTS.values(), first):
        server.run_sql(ROW.format(id=number, day=day, at=at), database=database)


def rows(made: Capture) -> list[Any]:
    """The rows that the next run shows."""
    return [change[3] for change in changes(made.once())]
