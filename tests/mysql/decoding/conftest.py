"""Fixtures of the decoding tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mysql.decoding.reading import Reading
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer


@pytest.fixture
def reading(db_server: SQLServer, database: str) -> Reading:
    """An empty database of each server."""
    return Reading(db_server, database)


@pytest.fixture
def mysql_reading(mysql_server: MySQLServer, unique_name: str) -> Iterator[Reading]:
    """An empty database of MySQL."""
    yield from _reading(mysql_server, unique_name)


@pytest.fixture
def mariadb_reading(mariadb_server: MariaDBServer, unique_name: str) -> Iterator[Reading]:
    """An empty database of MariaDB."""
    yield from _reading(mariadb_server, unique_name)


def _reading(server: SQLServer, database: str) -> Iterator[Reading]:
    server.execute(f"CREATE DATABASE {database} CHARACTER SET utf8mb4")
    yield Reading(server, database)
    server.execute(f"DROP DATABASE IF EXISTS {database}")
