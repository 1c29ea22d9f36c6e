"""A test that runs out of time, or fails with its query running, does the tests after it no harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from testkit.inner_tests import played

CONFTEST = "from spark.conftest import session\n"
TESTS = """
from contextlib import suppress

import pytest

def count(session):
    return session.range(5).count()

@pytest.fixture(scope="module")
def table(session):
    session.range(7).createOrReplaceTempView("seven")
    return "seven"

@pytest.fixture
def tidied(session):
    yield
    with suppress(Exception):  # as a fixture that drops its tables: it must come back at once
        session.sql("SHOW TABLES").collect()

def test_before(session, table):
    assert session.table(table).count() == 7

@pytest.mark.timeout(10)
def test_within_a_call(session, tidied):
    session._jvm.java.lang.Thread.sleep(600_000)

def test_after_it(session, table):
    assert (count(session), session.table(table).count()) == (5, 7)

def test_leaves_a_query(session):
    session.readStream.format("rate").load().writeStream.format("noop").queryName("left").start()
    assert not session.streams.active

def test_after_the_query(session, table):
    assert not session.streams.active
    assert session.table(table).count() == 7  # the session is the same

def test_kills_java(session):
    session.sparkContext._gateway.proc.kill()
    count(session)

def test_after_java(session, table):
    assert (count(session), session.table(table).count()) == (5, 7)
"""


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_the_next_test_has_a_sound_session(tmp_path: Path) -> None:
    verdicts, out = played(tmp_path, CONFTEST, TESTS, "--timeout", "200")
    assert verdicts == {
        "test_before": "PASSED",
        "test_within_a_call": "FAILED",
        "test_after_it": "PASSED",
        "test_leaves_a_query": "FAILED",
        "test_after_the_query": "PASSED",
        "test_kills_java": "FAILED",
        "test_after_java": "PASSED",
    }, out
