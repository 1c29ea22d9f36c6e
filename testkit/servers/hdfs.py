"""HDFS: a name node and a data node of Hadoop's own in one process, out of the jar on Maven Central."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path

import pyspark

from testkit.servers.cache import cached
from testkit.servers.hadoop import hadoop_release
from testkit.servers.java import ensure_java, fetch_jars
from testkit.servers.process import spawn, with_root
from testkit.servers.server import Server

_HADOOP = (
    "hadoop-client-api",
    "hadoop-client-runtime",
    "commons-cli",
    "commons-codec",
    "commons-io",
    "commons-lang3",
    "jakarta.servlet-api",
    "jcl-over-slf4j",
    "log4j-api",
    "log4j-core",
    "log4j-slf4j2-impl",
    "slf4j-api",
)
"""Of PySpark's jars: Hadoop's clients, and what its servers need besides."""
_JVM = (
    "-Xmx256m",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Dorg.apache.logging.log4j.level=WARN",
)
_READY = "ready"
_SECONDS = 1.0


class HDFS(Server):
    """A file system whose files lie in the server's folder, in one copy; anybody may do anything.

    Options are Hadoop's own, such as ``dfs_namenode_acls_enabled``, with ``_`` for each ``.``.
    """

    @property
    def url(self) -> str:
        """Its root, for clients."""
        return f"hdfs://{self.host}:{self.port}"

    def install(self) -> None:
        """Fetch Java and Hadoop's servers."""
        ensure_java()
        _server()

    def _lay_out(self, data: Path) -> None:
        data.mkdir()

    def _spawn(self) -> subprocess.Popen[bytes]:
        options = [f"{name.replace('_', '.')}={value}" for name, value in self._options.items()]
        (self.datadir / _READY).unlink(missing_ok=True)
        java = [*_JVM, f"-Djava.io.tmpdir={self.datadir}"]
        program = [sys.executable, "-m", "testkit.servers.hdfs_in_one"]
        command = [*program, str(self.port), str(self.datadir), _classes(), *java, "--", *options]
        return spawn(command, self.errlog, cwd=self.datadir, env=with_root())

    def _answers(self) -> bool:
        try:
            socket.create_connection((self.host, self.port), _SECONDS).close()
        except OSError:
            return False
        return (self.datadir / _READY).exists()


def _classes() -> str:
    """The class path of the servers."""
    jars = Path(pyspark.__file__).parent / "jars"
    hadoop = (jar for name in _HADOOP for jar in sorted(jars.glob(f"{name}-[0-9]*.jar")))
    return os.pathsep.join(map(str, (*hadoop, *sorted(_server().glob("*.jar")))))


@cache
def _server() -> Path:
    """Return the folder of the jar of Hadoop's servers, of the release that PySpark has."""
    release = hadoop_release()
    artifact = f"org.apache.hadoop:hadoop-client-minicluster:{release}"
    return cached(f"hdfs-{release}", lambda folder: fetch_jars([artifact], folder, alone=True))
