"""A metastore of Hive on a database of its own (Derby), out of the archive on Maven Central."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape

import pyspark

from testkit.servers.cache import cached
from testkit.servers.java import ensure_java, fetch_archive, fetch_jars
from testkit.servers.process import run, spawn, with_root
from testkit.servers.server import Server

_HOME = "CDCKIT_HIVE_HOME"
_VERSION = "3.1.3"
_ARCHIVE = f"org.apache.hive:hive-standalone-metastore:{_VERSION}:tar.gz:bin"
_PACKAGE = "org.apache.hadoop.hive.metastore"
_JVM = (
    "-Xmx256m",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xshare:auto",
    "-Dorg.apache.logging.log4j.level=WARN",
)
_LACKING = (
    "javax.servlet:javax.servlet-api:3.1.0",
    "commons-collections:commons-collections:3.2.2",
    "org.apache.httpcomponents:httpclient:4.5.13",
    "org.apache.hadoop:hadoop-hdfs:3.3.6",
)
_HADOOP = (
    "hadoop-client-api",
    "hadoop-client-runtime",
    "commons-cli",
    "commons-io",
    "gson",
    "jcl-over-slf4j",
    "slf4j-api",
)
_LOGGING = ("log4j-api", "log4j-core", "log4j-slf4j2-impl")
"""Hadoop, which the archive leaves to the machine, and logging for it: PySpark brings both."""

_SECONDS = 1.0


class HiveMetastore(Server):
    """A metastore without the rest of Hive; the databases and tables that it knows lie in its folder.

    It lets columns change as Iceberg's may, which it does not by default, and gives locks of the dead up after 15 s.
    Hive 4 has taken calls away that pyiceberg 0.12
    makes (``get_table``).

    Options are the metastore's own, such as ``metastore_txn_timeout``, with ``_`` for each ``.``.
    """

    @property
    def uri(self) -> str:
        """Value for clients' ``uri``."""
        return f"thrift://{self.host}:{self.port}"

    def install(self) -> None:
        """Fetch Java and the metastore, and make a database for it."""
        ensure_java()
        _database()

    def _lay_out(self, data: Path) -> None:
        shutil.copytree(_database(), data)

    def _spawn(self) -> subprocess.Popen[bytes]:
        options = {
            "metastore.warehouse.dir": f"file://{self.datadir}/warehouse",
            "metastore.expression.proxy": f"{_PACKAGE}.DefaultPartitionExpressionProxy",
            "metastore.disallow.incompatible.col.type.changes": "false",
            "metastore.task.threads.always": f"{_PACKAGE}.txn.AcidHouseKeeperService",
            "metastore.timedout.txn.reaper.start": "1s",
            "metastore.timedout.txn.reaper.interval": "1s",
            "metastore.txn.timeout": "15s",
            **{name.replace("_", "."): str(value) for name, value in self._options.items()},
        }
        classes = _classes(self.datadir, options)
        command = [sys.executable, "-m", "testkit.servers.hive_on_loopback", str(self.port), classes]
        return spawn([*command, *_java_options(self.datadir)], self.errlog, cwd=self.datadir, env=with_root())

    def _answers(self) -> bool:
        from pyiceberg.catalog.hive import HiveCatalog
        from thrift.Thrift import TException

        try:
            socket.create_connection((self.host, self.port), _SECONDS).close()
            return bool(HiveCatalog("any", uri=self.uri).list_namespaces())
        except (OSError, TException):
            return False


def _java_options(folder: Path) -> list[str]:
    return [*_JVM, f"-Djava.io.tmpdir={folder}"]


def _classes(folder: Path, options: dict[str, str]) -> str:
    """The class path of the metastore's programs, with their configuration, which is written."""
    place = {"javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true"}
    properties = "".join(
        f"<property><name>{name}</name><value>{escape(value)}</value></property>"
        for name, value in (place | options).items()
    )
    (folder / "metastore-site.xml").write_text(f"<configuration>{properties}</configuration>")
    jars = Path(pyspark.__file__).parent / "jars"
    hadoop = (jar for name in _HADOOP + _LOGGING for jar in sorted(jars.glob(f"{name}-[0-9]*.jar")))
    return os.pathsep.join(map(str, (folder, *hadoop, _home() / "lib" / "*")))


@cache
def _home() -> Path:
    """Return the folder of ``lib`` and ``scripts``: ``$CDCKIT_HIVE_HOME``, or downloaded."""
    if home := os.environ.get(_HOME):
        return Path(home)
    (folder,) = cached(f"hive-metastore-{_VERSION}", _fetch).iterdir()
    return folder


def _fetch(folder: Path) -> None:
    fetch_archive(_ARCHIVE, folder)
    (home,) = folder.iterdir()
    fetch_jars(_LACKING, home / "lib", alone=True)


@cache
def _database() -> Path:
    """Return the folder of a database that has the metastore's tables, and nothing in them."""
    return cached(f"hive-metastore-{_VERSION}-derby", _make_database)


def _make_database(folder: Path) -> None:
    tool = f"{_PACKAGE}.tools.MetastoreSchemaTool"
    options = (*_java_options(folder), "-cp", _classes(folder, {}))
    run(
        [ensure_java(), *options, tool, "-dbType", "derby", "-initSchema"],
        env={"METASTORE_HOME": str(_home())},
        cwd=folder,
    )
