"""A Spark cluster: a standalone master and its workers, out of the jars that PySpark brings."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import psutil
import pyspark

from testkit.descendants import descendants
from testkit.servers import process
from testkit.servers.java import ensure_java
from testkit.servers.ports import free_port
from testkit.servers.server import Server
from testkit.spark_java import ARCHIVED

_DEPLOY = "org.apache.spark.deploy"
_JVM = f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 {ARCHIVED}"
_MEMORY = "2g"
_DAEMON_MEMORY = "256m"
_SECONDS = 5.0


class SparkCluster(Server):
    """A master and its workers on loopback; the executors are processes of their own.

    Args:
        cores: how many a worker offers.
        others: further addresses of loopback, each with a worker of its own: to Spark, other hosts.
    """

    def __init__(self, cores: int = 2, others: Sequence[str] = ()) -> None:
        super().__init__()
        self._cores = cores
        self._others = others

    @property
    def url(self) -> str:
        """Value for ``spark.master``."""
        return f"spark://{self.host}:{self.port}"

    def executors(self) -> list[psutil.Process]:
        """The executors that run now, of all applications."""
        return self._below_workers("CoarseGrainedExecutorBackend")

    def python_workers(self) -> list[psutil.Process]:
        """The executors' Python processes that run now: daemons, and what they have forked."""
        return self._below_workers("pyspark.daemon")

    def _below_workers(self, word: str) -> list[psutil.Process]:
        return [found for worker in self._workers for found in descendants(worker.pid, word)]

    def install(self) -> None:
        """Fetch Java, which is all that PySpark does not bring."""
        ensure_java()

    def _lay_out(self, data: Path) -> None:
        data.mkdir()

    def _spawn(self) -> subprocess.Popen[bytes]:
        self._web = free_port()
        ports = "--port", str(self.port), "--webui-port", str(self._web)
        master = self._start("master.Master", self.host, *ports)
        size = "--cores", str(self._cores), "--memory", _MEMORY
        place = "--work-dir", str(self.datadir), "--webui-port", "0"
        hosts = [self.host, *self._others]
        self._workers = [self._start("worker.Worker", host, *size, *place, self.url) for host in hosts]
        return master

    def _start(self, daemon: str, host: str, *arguments: str) -> subprocess.Popen[bytes]:
        home = Path(pyspark.__file__).parent
        java = ensure_java().parents[1]
        place = {"SPARK_HOME": str(home), "JAVA_HOME": str(java), "SPARK_LOCAL_IP": host}
        options = {"SPARK_DAEMON_JAVA_OPTS": _JVM, "SPARK_DAEMON_MEMORY": _DAEMON_MEMORY, "SPARK_PUBLIC_DNS": host}
        program = str(home / "bin" / "spark-class")
        command = [program, f"{_DEPLOY}.{daemon}", "--host", host, *arguments]
        return process.spawn(command, self.errlog, env=place | options, cwd=self.datadir)

    def _answers(self) -> bool:
        """Whether all workers have made themselves known to the master."""
        try:
            with urllib.request.urlopen(f"http://{self.host}:{self._web}/json/", timeout=_SECONDS) as answer:
                alive = [worker for worker in json.load(answer)["workers"] if worker["state"] == "ALIVE"]
                return len(alive) == len(self._workers)
        except (urllib.error.URLError, TimeoutError, ConnectionError, json.JSONDecodeError):
            return False

    def stop(self) -> None:
        """End the workers, then the master."""
        self._end_workers()
        super().stop()

    def close(self) -> None:
        """End all and remove what they left."""
        if self.pid is not None:
            self._end_workers()
        super().close()

    def _end_workers(self) -> None:
        for worker in self._workers:
            process.end(worker, grace=_SECONDS)
