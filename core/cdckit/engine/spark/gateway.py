"""Starts the JVM that PySpark works through; what it says is kept for an error while it starts, and logged later."""

from __future__ import annotations

import atexit
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
from pyspark.sql import SparkSession

from cdckit.engine.spark.delta import VERIFIED
from cdckit.engine.spark.given import ARGUMENTS
from cdckit.engine.spark.home import without_archives
from cdckit.errors import ConfigError

log = logging.getLogger("cdckit.runner")
java_log = logging.getLogger("cdckit.java")

_UNRESOLVED = re.compile(r"unresolved dependency: ([^#\s]+)#([^;\s]+);([^:\s]+): not found")
_LOGGED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (?P<level>[A-Z]+) (?P<logger>\S+): (?P<message>.*)")
"""A line of `log4j2.properties`."""
_LEVELS = {"FATAL": logging.CRITICAL, "ERROR": logging.ERROR, "WARN": logging.WARNING, "INFO": logging.INFO}
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
        local = settings.get("spark.master", "").partition("[")[0] == "local"
        with _submitting(arguments), without_archives(local=local):
            gateway = launch_gateway(conf, {"stderr": said.taken})  # type: ignore[no-untyped-call]
    except PySparkException as error:
        raise ConfigError(
            f"spark: the session does not start: {_why(said.all(), str(error))}", number="CDC2306"
        ) from error
    finally:
        said.pass_on()
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)


def forget_ended_java() -> None:
    """Lets go of a JVM that this process has started and that has ended since, so that another one may be started."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is None or process.poll() is None:
        return
    log.warning("Java has ended (code %d): it is started anew", process.returncode)
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


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
    """What a process and its children write to their standard error: kept at first, later logged line by line."""

    def __init__(self) -> None:
        self._given, self.taken = os.pipe()
        self._kept: list[str] = []
        self._passes = threading.Event()
        self._one_at_a_time = threading.Lock()
        self._level = logging.WARNING
        self._thread = threading.Thread(target=self._read, name="cdckit-java", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with os.fdopen(self._given, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if not self._passes.is_set():
                    self._kept.append(line.rstrip())
                    continue
                with self._one_at_a_time:
                    self._log(line.rstrip())

    def _log(self, line: str) -> None:
        """Logs a line of Java's own log at its level, one that goes on with it at the same level."""
        found = _LOGGED.fullmatch(line)
        if found is not None:
            self._level = _LEVELS.get(found["level"], logging.DEBUG)
        if line:
            java_log.log(self._level, "%s", f"{found['logger']}: {found['message']}" if found else line)

    def all(self) -> list[str]:
        """All lines of a process that has ended."""
        os.close(self.taken)
        self.taken = -1
        self._thread.join(5)
        return self._kept

    def pass_on(self) -> None:
        """From now on every line is logged, until this process ends."""
        self._passes.set()
        if self.taken >= 0:
            os.close(self.taken)
            atexit.register(self._one_at_a_time.acquire, timeout=1)  # no thread may write while Python ends
            log.debug("Java said as it started: %s", "\n".join(self._kept))
