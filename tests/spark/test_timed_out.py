"""A test that runs out of time, or fails with its query running, does the tests after it no harm."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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


@pytest.mark.timeout(600)
def test_the_next_test_has_a_sound_session(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TESTS)
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    variables = {**own, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--timeout", "200", "-v", str(tmp_path)]
    out = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False).stdout
    verdicts = dict(line.split("::")[1].split()[:2] for line in out.splitlines() if line.startswith("test_it.py::"))
    assert verdicts == {
        "test_before": "PASSED",
        "test_within_a_call": "FAILED",
        "test_after_it": "PASSED",
        "test_leaves_a_query": "FAILED",
        "test_after_the_query": "PASSED",
        "test_kills_java": "FAILED",
        "test_after_java": "PASSED",
    }, out
