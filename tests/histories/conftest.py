"""The server of histories, which restarts as they want."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spark.conftest import session
from testkit.running import create_reader
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import CAPTURE_PRIVILEGES, SIGNAL_PRIVILEGES

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
