"""Values that the log's events show otherwise than a snapshot's, as Debezium's do: in tables they are the source's."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from delta_sink.shop import Shop
from testkit.servers.mariadb import MariaDBServer

ROWS = "({0}1, 'x,y'), ({0}2, 'a\\\\,b'), ({0}3, 'z'), ({0}4, NULL)"


@pytest.mark.parametrize("mode", ["mirror", "history"])
def test_labels_with_commas(shop: Shop, mode: str) -> None:
    """The log shows them behind a backslash."""
    shop = shop.with_sink(mode, {})
    shop.run(
        f"CREATE TABLE t (id INT PRIMARY KEY, e ENUM('x,y', 'a\\\\,b', 'z')); INSERT INTO t VALUES {ROWS.format(1)}"
    )
    shop.deliver()
    shop.assert_equal(["t"])
    shop.run(f"INSERT INTO t VALUES {ROWS.format(2)}; ALTER TABLE t ADD f ENUM('p', 'q,r') NOT NULL DEFAULT 'q,r'")
    shop.run("UPDATE t SET e = 'x,y', f = 'q,r' WHERE id = 24; UPDATE t SET f = 'p' WHERE id = 11")
    shop.run("DELETE FROM t WHERE id = 12")
    shop.deliver()
    shop.assert_equal(["t"])
    assert {row["f"] for row in shop.lake.found("t")} <= {None, "p", "q,r"}
    assert {row["e"] for row in shop.lake.found("t")} == {None, "x,y", "a\\,b", "z"}


@pytest.mark.parametrize("mode", ["mirror", "changelog"])
def test_zero_timestamps_of_mariadb(
    mariadb_server: MariaDBServer, unique_name: str, tmp_path: Path, afterwards: ExitStack, mode: str
) -> None:
    """The log shows them as 1970; a snapshot as null, or, in a column that forbids it, as the default."""
    shop = Shop(mariadb_server, unique_name, tmp_path, mode)
    afterwards.callback(mariadb_server.execute, f"DROP DATABASE {unique_name}")
    columns = "a TIMESTAMP NULL, b TIMESTAMP(6) NULL, c TIMESTAMP(3) NOT NULL DEFAULT '2020-02-02'"
    zero, first = "'0000-00-00', '0000-00-00', '0000-00-00'", ", ".join(["'1970-01-01 00:00:01'"] * 3)
    shop.make(f"CREATE TABLE t (id INT PRIMARY KEY, {columns}); SET sql_mode = ''; INSERT INTO t VALUES (1, {zero})")
    shop.deliver()
    shop.run(f"SET sql_mode = '', time_zone = '+00:00'; INSERT INTO t VALUES (2, {zero}), (3, {first})")
    shop.deliver()
    found = {row["id"]: [row[name] for name in "abc"] for row in shop.lake.found("t")}
    assert found[2] == found[1]
    assert found[2][:2] == [None, None]
    assert [moment.timestamp() for moment in found[3]] == [1, 1, 1]
