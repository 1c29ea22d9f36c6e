"""What stands behind cdckit in the docs: polars, Iceberg's transform, Flink."""

from __future__ import annotations

import sys
from pathlib import Path

from testkit.servers.cache import cached
from testkit.servers.java import fetch_jars
from testkit.servers.process import run

_POLARS = "2.1.0"
_ICEBERG = "1.10.0"
_FLINK = "1.20.1"
_ICEBERG_JARS = (
    f"org.apache.iceberg:iceberg-kafka-connect-transforms:{_ICEBERG}",
    "org.apache.kafka:connect-json:4.3.1",
    "org.apache.kafka:connect-transforms:4.3.1",
)
_FLINK_JARS = (
    f"org.apache.flink:flink-table-planner_2.12:{_FLINK}",
    f"org.apache.flink:flink-table-runtime:{_FLINK}",
    f"org.apache.flink:flink-table-api-java-bridge:{_FLINK}",
    f"org.apache.flink:flink-clients:{_FLINK}",
    f"org.apache.flink:flink-json:{_FLINK}",
    f"org.apache.flink:flink-connector-base:{_FLINK}",
    "org.apache.flink:flink-connector-kafka:3.4.0-1.20",
)


def polars() -> Path:
    """The folder of the programs of an environment that holds polars."""
    name = f"polars-{_POLARS}-python-{sys.version_info.major}.{sys.version_info.minor}"
    return cached(name, _install_polars) / "bin"


def _install_polars(folder: Path) -> None:
    run([sys.executable, "-m", "venv", folder])
    pip = (folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run([*pip, f"polars=={_POLARS}"])


def iceberg_jars() -> Path:
    """The folder of Iceberg's transforms for Kafka Connect, with Connect's own classes."""
    return cached(f"iceberg-transforms-{_ICEBERG}", lambda folder: fetch_jars(_ICEBERG_JARS, folder))


def flink_jars() -> Path:
    """The folder of Flink SQL, with its Kafka connector and its JSON formats."""
    return cached(f"flink-{_FLINK}", lambda folder: fetch_jars(_FLINK_JARS, folder))


def ensure_downstream() -> None:
    """Fetches all of it, where it is not there yet."""
    for fetched in (polars, iceberg_jars, flink_jars):
        fetched()
