"""Programs in Java that stand behind cdckit, each in a JVM of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from py4j.java_gateway import JavaGateway, find_jar_path

from servers.cache import cached
from servers.java import ensure_java, fetch_jars

_OPENED = ("java.lang", "java.time", "java.util", "java.util.concurrent")
"""Packages that Flink's serializers look into."""


@contextmanager
def java_with(name: str, artifacts: Sequence[str]) -> Iterator[JavaGateway]:
    """A JVM with jars of Maven Central, which are kept under a name."""
    jars = cached(name, lambda folder: fetch_jars(artifacts, folder))
    gateway = JavaGateway.launch_gateway(
        classpath=f"{jars}/*",
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
