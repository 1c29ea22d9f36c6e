"""A pipeline whose tail a direct process has: how its stages are told apart in its log, and brought about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from crash.targets import Target
from spark.conftest import FAST_JVM
from testkit.running import Running
from testkit.writers import Writer

BESIDE, SNAPSHOT = "starting Spark beside the direct process", "Spark reads the snapshot"
BACKLOG, BACK = "behind: Spark goes on", "Spark has caught up"
SECONDS = 400.0
OPTIONS: dict[str, Any] = {
    "runner": "spark",
    "tail": "direct",
    "tail.max.lag.ms": 1,  # Spark goes on while there are changes, as soon as it is there
    "idle.wait.ms": 200,  # and gives the tail back when there are none
    "offset.flush.interval.ms": 100,
    "spark": {"spark.master": "local[2]", **FAST_JVM},
    "serializer": {"schemas.enable": False},
}


@contextmanager
def held(writer: Writer) -> Iterator[None]:
    """The log stands still meanwhile."""
    writer.hold()
    try:
        yield
    finally:
        writer.release()


def await_spark(process: Running) -> None:
    """Waits until Spark is the one that goes on."""
    process.wait_until(lambda: not _in_tail(process.log), "a stage on Spark", SECONDS)


def await_tail(process: Running) -> None:
    """Waits until Spark has been the one, and the direct process is again."""
    process.wait_until(lambda: _in_tail(process.log) and BACK in process.log, "the tail", SECONDS)


def await_records(process: Running, target: Target) -> None:
    """Waits until more has arrived."""
    before = target.size()
    process.wait_until(lambda: target.size() > before, "more records", SECONDS)


def _in_tail(log: str) -> bool:
    return log.rfind(BACK) >= max(log.rfind(BACKLOG), log.rfind(SNAPSHOT))
