"""One Spark session for all tests that need one; its workers find the test's own modules."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cdckit.spark.session import start_session
from spark.script import Script

FAST_JVM = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
"""Settings for short runs: code is compiled fast rather than well."""


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on two processors with Delta Lake."""
    tests = str(Path(__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [tests, os.environ.get("PYTHONPATH")]))
    settings = {
        "spark.master": "local[2]",
        **FAST_JVM,
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    found = start_session("tests", settings, delta=True)
    yield found
    found.stop()


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """An empty script."""
    return Script(tmp_path / "script")
