"""A server of Spark Connect, out of the jars that PySpark brings, and the packages that its clients need."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pyspark

from testkit.servers import process
from testkit.servers.cache import cached
from testkit.servers.java import ensure_java, fetch_jars
from testkit.servers.server import Server
from testkit.spark_java import FAST_START

_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
_GRPC = "1.80.0"
_PACKAGES = (f"grpcio=={_GRPC}", f"grpcio-status=={_GRPC}")
"""What `pyspark[connect]` needs beside what the tests have."""
_SECONDS = 1.0
_LAUNCHER = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For the JVM that puts Spark's command line together before Spark's own starts."""


class SparkConnect(Server):
    """A server on two processors of this machine.

    Args:
        settings: its own, beside those that it needs.
        environment: what its Python processes find in theirs.
    """

    def __init__(self, settings: Mapping[str, str] | None = None, **environment: str) -> None:
        super().__init__()
        self._settings = settings or {}
        self._environment = environment

    @property
    def url(self) -> str:
        """What `SparkSession.builder.remote` takes."""
        return f"sc://{self.host}:{self.port}"

    def install(self) -> None:
        """Fetch Java and gRPC."""
        ensure_java()
        connect_packages()

    def _lay_out(self, data: Path) -> None:
        data.mkdir()

    def _spawn(self) -> subprocess.Popen[bytes]:
        home = Path(pyspark.__file__).parent
        settings = {
            "spark.connect.grpc.binding.address": self.host,
            "spark.connect.grpc.binding.port": str(self.port),
            "spark.driver.host": self.host,
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            **self._settings,
        }
        flags = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        java = ("--master", "local[2]", "--driver-java-options", FAST_START)
        command: list[str | Path] = [home / "bin" / "spark-submit", "--class", _CLASS, *java, *flags, "spark-internal"]
        return process.spawn(command, self.errlog, env=self.variables() | self._environment, cwd=self.datadir)

    def variables(self) -> dict[str, str]:
        """What programs of Spark's own find in their environment."""
        home = Path(pyspark.__file__).parent
        place = {"SPARK_HOME": str(home), "JAVA_HOME": str(ensure_java().parents[1]), "SPARK_LOCAL_IP": self.host}
        python = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(connect_packages())}
        return place | python | {"SPARK_LAUNCHER_OPTS": _LAUNCHER}

    def pipelines(self, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Spark's command `spark-pipelines` in a pipeline's folder, by this server."""
        command: Sequence[str | Path] = [Path(pyspark.__file__).parent / "bin" / "spark-pipelines", *arguments]
        variables = {**os.environ, **self.variables(), "SPARK_SUBMIT_OPTS": FAST_START}
        return subprocess.run(
            [*command, "--remote", self.url], cwd=folder, env=variables, capture_output=True, text=True, check=False
        )

    def _answers(self) -> bool:
        try:
            socket.create_connection((self.host, self.port), _SECONDS).close()
        except OSError:
            return False
        return True


@cache
def connect_packages() -> Path:
    """The folder of the packages that a client imports beside the tests' own."""
    name = f"grpcio-{_GRPC}-python-{sys.version_info.major}.{sys.version_info.minor}"
    return cached(name, _install)


def row_level_catalog(name: str) -> dict[str, str]:
    """Settings by which a catalog keeps tables in the server's memory that take MERGE by Spark's own plans.

    It is the one that Spark's tests of such plans bring: no table format in a release does so on Spark 4.2.
    """
    artifact = f"org.apache.spark:spark-catalyst_2.13:{pyspark.__version__}:tests"
    folder = cached(artifact.replace(":", "-"), lambda made: fetch_jars([artifact], made, alone=True))
    (jar,) = folder.glob("*.jar")
    kind = "org.apache.spark.sql.connector.catalog.SharedTablesInMemoryRowLevelOperationTableCatalog"
    return {"spark.driver.extraClassPath": str(jar), f"spark.sql.catalog.{name}": kind}


def _install(folder: Path) -> None:
    """Install with a pip of our own: the environment that runs the tests may hold none."""
    with tempfile.TemporaryDirectory() as work:
        process.run([sys.executable, "-m", "venv", work])
        pip = (Path(work) / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        process.run([*pip, "--no-deps", "--target", folder, *_PACKAGES])
