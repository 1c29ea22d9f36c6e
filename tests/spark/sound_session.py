"""What a test that failed leaves of the shared Spark session is put in order before the next one begins.

A test that runs out of time inside a call to the JVM leaves an answer on the wire, which the next call would take for
its own, and whatever ran goes on: Java is ended then, and the next test that asks for the session gets another. Of a
test that fails otherwise the queries are stopped.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession


@contextmanager
def kept_sound(request: pytest.FixtureRequest) -> Iterator[None]:
    """Watches over the session that this session fixture gives, for as long as it does."""
    watch = _Watch(request)
    request.config.pluginmanager.register(watch)
    try:
        yield
        if SparkSession._instantiatedSession is not None:
            SparkSession._instantiatedSession.stop()
    finally:
        request.config.pluginmanager.unregister(watch)


def end_without_delta() -> None:
    """Ends a session that a test before has started for itself, without Delta Lake: Java takes no jars any more."""
    if not _java_runs():
        return
    running = SparkSession._instantiatedSession
    if SparkContext._active_spark_context is not None and running is not None:
        if "delta" in str(running.conf.get("spark.sql.extensions", "")).lower():
            return
        running.stop()
    _end_java()


class _Watch:
    def __init__(self, request: Any) -> None:
        self._request = request
        self._failed = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        self._failed |= report.failed
        if call.excinfo is not None and _out_of_time(call.excinfo.value):
            _end_java()  # before fixtures of the test are torn down, which may call it
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Generator[None, object, object]:
        try:
            return (yield)
        finally:
            if self._failed:
                self._failed = False
                _stop_queries()
            if not _java_runs():
                _end_java()
                self._request._fixturedef.finish(self._request)  # the next test that asks for it gets another


def _out_of_time(error: BaseException) -> bool:
    return isinstance(error, pytest.fail.Exception) and str(error).startswith("Timeout (>")


def _stop_queries() -> None:
    if not _java_runs() or SparkSession._instantiatedSession is None:
        return
    try:
        for query in SparkSession._instantiatedSession.streams.active:
            query.stop()
    except Exception:  # noqa: BLE001 - whatever it is, this session cannot be relied on
        _end_java()


def _java_runs() -> bool:
    gateway: Any = SparkContext._gateway
    return gateway is not None and gateway.proc.poll() is None


def _end_java() -> None:
    gateway: Any = SparkContext._gateway
    if gateway is not None:
        gateway.proc.kill()
        gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
