"""One Spark session for all tests that need one; its workers find the test's own modules."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cdckit.engine.spark.session import start_session
from spark.script import Script
from spark.sound_session import end_without_delta, kept_sound
from testkit.running import create_reader
from testkit.servers.mysql import MySQLServer
from testkit.spark_java import FAST_START
from testkit.spark_together import refuse_session
from testkit.warm_python.starting import warm_python

FAST_JVM = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.extraJavaOptions": FAST_START,
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}
"""Settings for short runs: code is compiled fast rather than well, and VACUUM lists files in two tasks, not the default
10,000."""
MANY_FILES = 300
"""So many files a process has open when it looks for those that nobody uses."""
PLANS = "spark.sql.maxPlanStringLength"
INTERPRETED = {
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.databricks.delta.snapshotPartitions": "1",
    PLANS: "0",
}
"""For few rows: writing an expression's code anew for each task takes longer than these, and the texts of plans, which
Spark's own page shows, are a tenth of a merge. The long series, and pipelines in processes of their own, have Spark
write code, as it does for users."""


def spark_python(request: pytest.FixtureRequest) -> str:
    """What Spark starts as Python: forks of a warm process, or Python itself in the long series."""
    return sys.executable if request.config.getoption("--nightly", False) else str(warm_python())


@pytest.fixture(scope="session")
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on two processors with Delta Lake, whose Python processes are forked from a warm one."""
    yield from sound_session(request, tmp_path_factory, spark_python(request))


def sound_session(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, python: str
) -> Iterator[SparkSession]:
    """What the fixture gives, with another program for Spark's Python processes."""
    tests = Path(__file__).parents[1]
    places = [str(tests), str(tests.parent), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, places))
    settings = {
        "spark.master": "local[2]",
        **FAST_JVM,
        **({} if request.config.getoption("--nightly", False) else INTERPRETED),
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    with kept_sound(request):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYSPARK_PYTHON", python)
            end_without_delta()
            session = start_session("tests", settings, delta=True)
        yield session


@pytest.fixture(autouse=True)
def no_session_apart(request: pytest.FixtureRequest) -> None:
    """Files that another worker may get do without the shared session."""
    refuse_session(request)


@pytest.fixture(autouse=True)
def forked_python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has Spark in processes of their own fork Python, too; not in the long series, nor where marked `real_python`."""
    marked = {mark.name for mark in request.node.iter_markers()}
    asked = request.config.getoption("--nightly", False) or request.config.getoption("--fast", False)
    if "spark" in marked and "real_python" not in marked and not asked:
        monkeypatch.setenv("PYSPARK_PYTHON", str(warm_python()))


@pytest.fixture(autouse=True)
def few_connections() -> Iterator[None]:
    """Lets go of connections to Java, which each thread that has ended keeps until Python looks for garbage.

    Among many objects it seldom does, and `select` takes no file above 1,023.
    """
    yield
    if len([*Path("/proc/self/fd").iterdir()]) > MANY_FILES:
        gc.collect()


@pytest.fixture
def told_plans(session: SparkSession) -> Iterator[None]:
    """Has the session keep the text of each plan."""
    before = str(session.conf.get(PLANS))
    session.conf.set(PLANS, str(2**31 - 1 - 15))
    yield
    session.conf.set(PLANS, before)


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """An empty script."""
    return Script(tmp_path / "script")


_SHOP = """
CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(20)); CREATE TABLE b (id INT PRIMARY KEY, v VARCHAR(20));
INSERT INTO a VALUES (1, 'x'), (2, 'y'); INSERT INTO b VALUES (1, 'x');
"""


@pytest.fixture
def shop(session: SparkSession, mysql_server: MySQLServer, unique_name: str) -> Iterator[str]:
    """A database on MySQL with two tables, dropped after the test."""
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}")
    mysql_server.run_sql(_SHOP, database=unique_name)
    create_reader(mysql_server)
    yield unique_name
    mysql_server.run_sql(f"DROP DATABASE {unique_name}")
