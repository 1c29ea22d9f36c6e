"""The server of histories, which restarts as they want."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark.conftest import sound_session
from testkit.running import create_reader
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import CAPTURE_PRIVILEGES, SIGNAL_PRIVILEGES


@pytest.fixture(scope="session")
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session whose Python processes Spark starts itself: histories look for them, to kill them."""
    yield from sound_session(request, tmp_path_factory, sys.executable)


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


@pytest.fixture(scope="module")
def three_members() -> Iterator[MongoReplicaSet]:
    """A replica set of three, which may be told not to replicate. Idle, it takes four percent of a processor."""
    with MongoReplicaSet(nodes=3, setParameter="enableTestCommands=1") as made:
        yield made
