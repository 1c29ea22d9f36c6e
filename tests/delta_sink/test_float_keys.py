"""Rows whose key is a FLOAT: the snapshot and the log name the same ones."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from delta_sink.shop import Shop
from testkit.servers.mysql_family import SQLServer


@pytest.mark.parametrize("mode", ["mirror", "changelog", "history"])
def test_rows_are_found_by_all_digits(
    db_server: SQLServer, unique_name: str, tmp_path: Path, afterwards: ExitStack, mode: str
) -> None:
    """A server prints six of them."""
    shop = Shop(db_server, unique_name, tmp_path, mode)
    shop.make(
        "CREATE TABLE t (k FLOAT PRIMARY KEY, f FLOAT, v INT); CREATE TABLE u (a INT, k FLOAT NOT NULL, UNIQUE (k, a));"
        "INSERT INTO t VALUES (0.1, 0.1, 1), (1/3, 1/3, 2), (16777216, 1.2345678, 3), (123456789, NULL, 4);"
        "INSERT INTO u VALUES (1, 1.0000001), (NULL, 2.0000002);"
    )
    afterwards.callback(db_server.execute, f"DROP DATABASE {unique_name}")
    shop.deliver()
    shop.run("UPDATE t SET v = v + 1; DELETE FROM t WHERE v > 4; INSERT INTO t VALUES (2/3, 1, 5); UPDATE u SET a = 5;")
    shop.deliver()
    shop.assert_equal(["t"])
