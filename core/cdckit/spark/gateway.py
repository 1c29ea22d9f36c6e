"""Starts the JVM that PySpark works through, and keeps what it says while it starts for the error that may follow."""

from __future__ import annotations

import logging
import os
import re
import shlex
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway

from cdckit.errors import ConfigError
from cdckit.spark.delta import VERIFIED
from cdckit.spark.given import ARGUMENTS

log = logging.getLogger("cdckit.runner")

_STANDARD_ERROR = 2
_UNRESOLVED = re.compile(r"unresolved dependency: ([^#\s]+)#([^;\s]+);([^:\s]+): not found")
_REASON = re.compile(r"^(?:Exception in thread \S+ |Error: |Caused by: )(.+)")


def start_java(settings: Mapping[str, str], arguments: Sequence[str]) -> None:
    """Starts the JVM with these settings and arguments of `spark-submit`, unless there is one already.

    Raises:
        ConfigError: it ended at once; the message says why, and what to do.
    """
    if SparkContext._gateway is not None:
        return
    conf = SparkConf(loadDefaults=False)
    for key, value in settings.items():
        conf.set(key, value)
    said = _Said()
    try:
        with _submitting(arguments):
            gateway = launch_gateway(conf, {"stderr": said.taken})  # type: ignore[no-untyped-call]
    except PySparkException as error:
        raise ConfigError(f"spark: the session does not start: {_why(said.all(), str(error))}") from error
    finally:
        said.pass_on()
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)


@contextmanager
def _submitting(arguments: Sequence[str]) -> Iterator[None]:
    """PySpark takes arguments from the environment alone."""
    before = os.environ.get(ARGUMENTS)
    os.environ[ARGUMENTS] = shlex.join(arguments)
    try:
        yield
    finally:
        if before is None:
            del os.environ[ARGUMENTS]
        else:
            os.environ[ARGUMENTS] = before


def _why(said: Sequence[str], otherwise: str) -> str:
    """One sentence out of what the JVM said before it ended."""
    if missing := next(filter(None, map(_UNRESOLVED.search, said)), None):
        jar = ":".join(missing.groups())
        advice = (
            f"install the release that was verified (pip install 'delta-spark=={VERIFIED}')"
            if missing[1] == "io.delta"
            else "correct spark.jars.packages"
        )
        return f"the jar {jar} is in no repository that could be asked: {advice}, or name the jar's file in spark.jars"
    reason = next((found[1] for line in said if (found := _REASON.match(line))), otherwise.strip().split("\n")[0])
    return f"{reason}; check the Java version (17 or newer) and the settings under 'spark'"


class _Said:
    """What a process writes to its standard error: kept at first, later passed on to this one's."""

    def __init__(self) -> None:
        self._given, self.taken = os.pipe()
        self._kept = bytearray()
        self._passes = threading.Event()
        self._thread = threading.Thread(target=self._read, name="cdckit-java", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while data := os.read(self._given, 1 << 16):
            if self._passes.is_set():
                os.write(_STANDARD_ERROR, data)
            else:
                self._kept += data
        os.close(self._given)

    def all(self) -> list[str]:
        """All lines of a process that has ended."""
        os.close(self.taken)
        self.taken = -1
        self._thread.join(5)
        return self._kept.decode(errors="replace").splitlines()

    def pass_on(self) -> None:
        """From now on everything is passed on."""
        self._passes.set()
        if self.taken >= 0:
            os.close(self.taken)
            log.debug("Java said as it started: %s", self._kept.decode(errors="replace"))
