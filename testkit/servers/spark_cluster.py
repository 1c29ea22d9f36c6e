"""A Spark cluster: a standalone master and one worker, out of the jars that PySpark brings."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import psutil
import pyspark

from testkit.descendants import descendants
from testkit.servers import process
from testkit.servers.java import ensure_java
from testkit.servers.ports import free_port
from testkit.servers.server import Server

_DEPLOY = "org.apache.spark.deploy"
_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
_MEMORY = "2g"
_DAEMON_MEMORY = "256m"
_SECONDS = 5.0


class SparkCluster(Server):
    """A master with one worker, both on loopback; its executors are processes of their own.

    Args:
        cores: how many the worker offers.
    """

    def __init__(self, cores: int = 2) -> None:
        super().__init__()
        self._cores = cores

    @property
    def url(self) -> str:
        """Value for ``spark.master``."""
        return f"spark://{self.host}:{self.port}"

    def executors(self) -> list[psutil.Process]:
        """The executors that run now, of all applications."""
        return descendants(self._worker.pid, "CoarseGrainedExecutorBackend")

    def python_workers(self) -> list[psutil.Process]:
        """The executors' Python processes that run now: daemons, and what they have forked."""
        return descendants(self._worker.pid, "pyspark.daemon")

    def install(self) -> None:
        """Fetch Java, which is all that PySpark does not bring."""
        ensure_java()

    def _lay_out(self, data: Path) -> None:
        data.mkdir()

    def _spawn(self) -> subprocess.Popen[bytes]:
        self._web = free_port()
        master = self._start("master.Master", "--port", str(self.port), "--webui-port", str(self._web))
        worker = (
            "--cores",
            str(self._cores),
            "--memory",
            _MEMORY,
            "--work-dir",
            str(self.datadir),
            "--webui-port",
            "0",
        )
        self._worker = self._start("worker.Worker", *worker, self.url)
        return master

    def _start(self, daemon: str, *arguments: str) -> subprocess.Popen[bytes]:
        home = Path(pyspark.__file__).parent
        java = ensure_java().parents[1]
        place = {"SPARK_HOME": str(home), "JAVA_HOME": str(java), "SPARK_LOCAL_IP": self.host}
        options = {"SPARK_DAEMON_JAVA_OPTS": _JVM, "SPARK_DAEMON_MEMORY": _DAEMON_MEMORY, "SPARK_PUBLIC_DNS": self.host}
        program = str(home / "bin" / "spark-class")
        command = [program, f"{_DEPLOY}.{daemon}", "--host", self.host, *arguments]
        return process.spawn(command, self.errlog, env=place | options, cwd=self.datadir)

    def _answers(self) -> bool:
        """Whether the worker has made itself known to the master."""
        try:
            with urllib.request.urlopen(f"http://{self.host}:{self._web}/json/", timeout=_SECONDS) as answer:
                return any(worker["state"] == "ALIVE" for worker in json.load(answer)["workers"])
        except (urllib.error.URLError, TimeoutError, ConnectionError, json.JSONDecodeError):
            return False

    def stop(self) -> None:
        """End the worker, then the master."""
        process.end(self._worker, grace=_SECONDS)
        super().stop()

    def close(self) -> None:
        """End both and remove what they left."""
        if self.pid is not None:
            process.end(self._worker, grace=_SECONDS)
        super().close()
