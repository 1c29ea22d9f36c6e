"""The server of histories, which restarts as they want."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from running import create_reader
from servers.mariadb import MariaDBServer
from servers.mysql import MySQLServer
from servers.mysql_family import CAPTURE_PRIVILEGES, SIGNAL_PRIVILEGES
from spark.conftest import session

__all__ = ["histories_mariadb", "histories_server", "session"]


@pytest.fixture(scope="session")
def histories_server() -> Iterator[MySQLServer]:
    """A MySQL server of its own with the user of pipelines."""
    with MySQLServer() as server:
        create_reader(server, *CAPTURE_PRIVILEGES, *SIGNAL_PRIVILEGES)
        yield server


@pytest.fixture(scope="session")
def histories_mariadb() -> Iterator[MariaDBServer]:
    """The same of MariaDB."""
    with MariaDBServer() as server:
        create_reader(server, *CAPTURE_PRIVILEGES, *SIGNAL_PRIVILEGES)
        yield server
