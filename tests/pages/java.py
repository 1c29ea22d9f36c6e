"""Programs in Java that stand behind cdckit, each in a JVM of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.java_gateway import JavaGateway, find_jar_path

from testkit.servers.java import ensure_java

_OPENED = ("java.lang", "java.time", "java.util", "java.util.concurrent")
"""Packages that Flink's serializers look into."""


@contextmanager
def java_with(*folders: Path) -> Iterator[JavaGateway]:
    """A JVM with the jars of folders."""
    gateway = JavaGateway.launch_gateway(
        classpath=os.pathsep.join(f"{jars}/*" for jars in folders),
        jarpath=find_jar_path(),
        java_path=str(ensure_java()),
        javaopts=[
            "-Xmx512m",
            "-XX:TieredStopAtLevel=1",
            *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
        ],
        die_on_exit=True,
    )
    try:
        yield gateway
    finally:
        gateway.shutdown()
