"""Rows whose key is 0.0 or -0.0, which a server holds for one key: changes under the one find the row of the other."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from delta_sink.shop import Shop
from testkit.servers.mysql import MySQLServer

_CHANGES = (
    "UPDATE t SET k = -k, v = 2; UPDATE u SET k = -k, v = 2;",
    "DELETE FROM t WHERE k = 0; INSERT INTO t VALUES (0, 3); UPDATE u SET v = 3 WHERE a = 1; UPDATE u SET k = -k;",
    "UPDATE t SET k = -k; DELETE FROM t WHERE k = 0; DELETE FROM u WHERE a = 0; INSERT INTO u VALUES (0, -0e0, 4);",
)


@pytest.mark.parametrize(("format_", "mode"), [("delta", "mirror"), ("delta", "history"), ("iceberg", "mirror")])
def test_they_are_one_key(
    mysql_server: MySQLServer, unique_name: str, tmp_path: Path, afterwards: ExitStack, format_: str, mode: str
) -> None:
    shop = Shop(mysql_server, unique_name, tmp_path, mode, format_)
    shop.make(
        "CREATE TABLE t (k DOUBLE PRIMARY KEY, v INT); CREATE TABLE u (a INT, k FLOAT, v INT, PRIMARY KEY (a, k));"
        "INSERT INTO t VALUES (-0e0, 1), (1, 1); INSERT INTO u VALUES (0, 0, 1), (1, -0e0, 1);"
    )
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    shop.deliver()
    for change in _CHANGES:
        shop.run(change)
        shop.deliver()
        shop.assert_equal(["t", "u"])
