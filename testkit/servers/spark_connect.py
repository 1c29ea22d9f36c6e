"""A server of Spark Connect, out of the jars that PySpark brings, and the packages that its clients need."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pyspark

from testkit.servers import process
from testkit.servers.cache import cached
from testkit.servers.java import ensure_java
from testkit.servers.server import Server
from testkit.spark_java import FAST_START

_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
_GRPC = "1.80.0"
_PACKAGES = (f"grpcio=={_GRPC}", f"grpcio-status=={_GRPC}")
"""What `pyspark[connect]` needs beside what the tests have."""
_SECONDS = 1.0


class SparkConnect(Server):
    """A server on two processors of this machine.

    Args:
        environment: what its Python processes find in theirs.
    """

    def __init__(self, **environment: str) -> None:
        super().__init__()
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
        }
        flags = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        java = ("--master", "local[2]", "--driver-java-options", FAST_START)
        command: list[str | Path] = [home / "bin" / "spark-submit", "--class", _CLASS, *java, *flags, "spark-internal"]
        return process.spawn(command, self.errlog, env=self._variables(home), cwd=self.datadir)

    def _variables(self, home: Path) -> dict[str, str]:
        place = {"SPARK_HOME": str(home), "JAVA_HOME": str(ensure_java().parents[1]), "SPARK_LOCAL_IP": self.host}
        python = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(connect_packages())}
        return place | python | self._environment

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


def _install(folder: Path) -> None:
    """Install with a pip of our own: the environment that runs the tests may hold none."""
    with tempfile.TemporaryDirectory() as work:
        process.run([sys.executable, "-m", "venv", work])
        pip = (Path(work) / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        process.run([*pip, "--no-deps", "--target", folder, *_PACKAGES])
