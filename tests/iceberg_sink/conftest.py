"""A database whose tables are kept in a catalog."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from delta_sink.shop import Shop
from testkit.servers.mysql import MySQLServer


@pytest.fixture
def shop(mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> Iterator[Shop]:
    """A database without tables, whose tables are mirrored, dropped after the test."""
    shop = Shop(mysql_server, unique_name, tmp_path, format="iceberg")
    shop.make()
    yield shop
    mysql_server.execute(f"DROP DATABASE {unique_name}")
