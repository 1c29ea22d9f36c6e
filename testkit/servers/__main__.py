"""Fetches servers ahead of their first use: ``python -m testkit.servers [NAME …]``, all of them by default."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from testkit.browser import ensure_chromium
from testkit.servers.apicurio_serdes import apicurio_jars
from testkit.servers.connect import ConnectWorker
from testkit.servers.delta import ensure_delta
from testkit.servers.downstream import ensure_downstream
from testkit.servers.errors import ServerUnavailableError
from testkit.servers.hive import HiveMetastore
from testkit.servers.java import ensure_java
from testkit.servers.kafka import KafkaBroker
from testkit.servers.linters import hadolint
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mongodb import MongoNode
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql56 import MySQL56Server
from testkit.servers.object_store import ObjectStore
from testkit.servers.prometheus import programs
from testkit.servers.redis import RedisServer
from testkit.servers.schema_registry import SchemaRegistry
from testkit.servers.spark_connect import SparkConnect, row_level_catalog
from testkit.spark_java import archive_classes


def _prepare_delta() -> None:
    """Fetches its jars, and parses Spark's classes and theirs, which the first test of Spark would do else."""
    ensure_java()
    ensure_delta()
    archive_classes()


_INSTALLERS: dict[str, Callable[[], object]] = {
    "java": ensure_java,
    "mysql": lambda: MySQLServer().install(),
    "mysql56": lambda: MySQL56Server().install(),
    "mariadb": lambda: MariaDBServer().install(),
    "mongodb": lambda: MongoNode("any").install(),
    "kafka": lambda: KafkaBroker().install(),
    "connect": lambda: ConnectWorker("any").install(),
    "registry": lambda: SchemaRegistry().install(),
    "apicurio": apicurio_jars,
    "redis": lambda: RedisServer().install(),
    "prometheus": programs,
    "hadolint": hadolint,
    "s3": lambda: ObjectStore().install(),
    "delta": _prepare_delta,
    "hive": lambda: HiveMetastore().install(),
    "spark-connect": lambda: SparkConnect().install(),
    "spark-catalog": lambda: row_level_catalog("any"),
    "downstream": ensure_downstream,
    "chromium": ensure_chromium,
}
_AT_A_TIME = 6
"""Most wait for the network, for apt or for Maven, which do one thing after the other."""


def main(names: list[str]) -> int:
    """Install the servers ``names``; return the exit code."""
    unknown = set(names) - set(_INSTALLERS)
    if unknown:
        print(f"no server {', '.join(sorted(unknown))}: there are {', '.join(_INSTALLERS)}", file=sys.stderr)
        return 2
    with ThreadPoolExecutor(_AT_A_TIME) as threads:
        failures = list(filter(None, threads.map(_install, names or _INSTALLERS)))
    print(*failures, sep="\n", end="\n" * bool(failures), file=sys.stderr)
    return int(bool(failures))


def _install(name: str) -> str | None:
    """What has gone wrong; None: it is there."""
    try:
        _INSTALLERS[name]()
    except ServerUnavailableError as error:
        return f"{name}: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
