"""Fixtures for every test: real servers, one of each kind per test process, started on demand."""

from __future__ import annotations

import gc
import logging
import uuid
from collections.abc import Generator, Iterator
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, settings

from testkit.fast import FastTests
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql56 import MySQL56Server
from testkit.servers.mysql_family import SQLServer
from testkit.servers.object_store import ObjectStore
from testkit.servers.redis import RedisServer
from testkit.servers.schema_registry import SchemaRegistry
from testkit.spark_java import FAST_START, archive_classes
from testkit.spark_together import give_way, make_scheduler, turn
from testkit.warm_command.starting import forked_calls

settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("project")  # how fast a busy machine is tells nothing of the code

pytest_xdist_make_scheduler = pytest.hookimpl(make_scheduler, optionalhook=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nightly", action="store_true", help="run the long series: more rounds, more rows")
    parser.addoption("--fast", action="store_true", help="skip what starts a server, Spark or any program")
    parser.addoption("--proofs", type=int, default=1, metavar="N", help="prove one test's pipelines in N; 0: of none")
    parser.addoption("--first-seed", type=int, default=0, help="the fuzzers' first seed: other cases than usual")
    parser.addoption("--cases", type=int, default=0, help="how many cases the fuzzers take of each kind")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--fast"):
        config.pluginmanager.register(FastTests())
    else:
        give_way(config)
        if every := config.getoption("--proofs"):
            from testkit.proofs import Proofs

            config.pluginmanager.register(Proofs(every))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keeps modules and tests, which live to the end, from the garbage collector: each time it would walk over all."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the long series to ``--nightly``; those of the shared Spark session begin, then long files."""
    if not config.getoption("--nightly"):
        long = [item for item in items if _is_long(item)]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
    items.sort(key=lambda item: turn(item.nodeid))


def _is_long(item: pytest.Item) -> bool:
    """Whether a test is of the long series: it is marked so, or it is MariaDB's of one that is the same for MySQL."""
    if item.get_closest_marker("nightly"):
        return True
    played = getattr(item, "callspec", None)
    return bool(item.get_closest_marker("one_server") and played and "mariadb" in played.id.split("-"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Have Spark's JVMs start fast, those of fixtures too."""
    if item.get_closest_marker("spark"):
        archive_classes()


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """Commands that a test calls in this process set logging up: the next test has it as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(autouse=True)
def forked_command(request: pytest.FixtureRequest) -> Iterator[None]:
    """Has calls of `cdc` be forks of a warm process; not in the long series, nor where marked `real_python`."""
    asked = request.config.getoption("--nightly") or request.config.getoption("--fast")
    with forked_calls(wanted=not asked and request.node.get_closest_marker("real_python") is None):
        yield


@pytest.fixture(autouse=True)
def fast_spark(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have pipelines that say nothing of Java start it fast."""
    if request.node.get_closest_marker("spark"):
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--driver-java-options '{FAST_START}' pyspark-shell")


@pytest.fixture(scope="session")
def nightly(request: pytest.FixtureRequest) -> bool:
    """Whether the long series were asked for: a test takes its larger numbers then."""
    return bool(request.config.getoption("--nightly"))


@pytest.fixture(scope="session")
def mysql_server() -> Iterator[MySQLServer]:
    """A MySQL 9 server with the user ``dbz``, password ``dbz``."""
    with MySQLServer() as server:
        server.create_user("dbz", "dbz")
        yield server


@pytest.fixture(scope="session")
def mysql56_server() -> Iterator[MySQL56Server]:
    """A MySQL 5.6 server, whose log has no row metadata, with the user ``dbz``, password ``dbz``."""
    with MySQL56Server() as server:
        server.create_user("dbz", "dbz")
        yield server


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariaDBServer]:
    """A MariaDB server with the user ``dbz``, password ``dbz``."""
    with MariaDBServer() as server:
        server.create_user("dbz", "dbz")
        yield server


@pytest.fixture(scope="session", params=["mysql", "mariadb"])
def db_server(request: pytest.FixtureRequest) -> SQLServer:
    """Each server that the MySQL source reads, one after the other."""
    server: SQLServer = request.getfixturevalue(f"{request.param}_server")
    return server


@pytest.fixture(scope="session")
def mongo() -> Iterator[MongoReplicaSet]:
    """A MongoDB replica set of one member."""
    with MongoReplicaSet() as replica_set:
        yield replica_set


@pytest.fixture(scope="session")
def kafka_broker() -> Iterator[KafkaBroker]:
    """A Kafka broker without topics; automatic creation is off."""
    with KafkaBroker() as broker:
        yield broker


@pytest.fixture(scope="session")
def schema_registry() -> Iterator[SchemaRegistry]:
    """A schema registry, empty."""
    with SchemaRegistry() as registry:
        yield registry


@pytest.fixture(scope="session")
def object_store() -> Iterator[ObjectStore]:
    """An object store that speaks S3, without buckets."""
    with ObjectStore() as store:
        yield store


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis server, empty."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def afterwards() -> Iterator[ExitStack]:
    """What a test takes away again once its pipelines are proven, such as its database: within it that is too early."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def unique_name() -> str:
    """A name for this test's own database, topic or prefix: letters, digits and an underscore."""
    return f"t_{uuid.uuid4().hex[:12]}"


@pytest.fixture
def database(db_server: SQLServer, unique_name: str) -> Iterator[str]:
    """Name of an empty utf8mb4 database on ``db_server``, dropped after the test."""
    db_server.revive()
    db_server.execute(f"CREATE DATABASE {unique_name} CHARACTER SET utf8mb4")
    yield unique_name
    db_server.execute(f"DROP DATABASE IF EXISTS {unique_name}")
