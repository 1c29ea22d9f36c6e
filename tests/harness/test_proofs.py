"""At the end of a test its pipelines are proven, those that can be; of the others it is told why they were not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from testkit.inner_tests import played
from testkit.running import create_reader, source_of
from testkit.servers.mysql import MySQLServer

CONFTEST = """
from testkit.proofs import Proofs

def pytest_addoption(parser):
    parser.addoption("--proofs", type=int, default=1)

def pytest_configure(config):
    config.addinivalue_line("markers", "unequal(why)")
    config.pluginmanager.register(Proofs(config.getoption("--proofs")))
"""
TESTS = """
import json, os
from dataclasses import replace

import pymysql
import pytest

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from testkit.running import to_file

SOURCE = json.loads(os.environ["SOURCE"])

@pytest.fixture
def pipeline(tmp_path):
    return to_file(tmp_path, SOURCE)

def run(pipeline):
    DirectRunner(load_pipeline(pipeline.written(), runner="direct")).run(once=True)

def forge(pipeline):
    run(pipeline)
    lines = pipeline.output.read_text().splitlines(keepends=True)
    pipeline.output.write_text("".join(lines[:-1]))

def test_sound(pipeline):
    run(pipeline)
    run(pipeline)

def test_sound_command(pipeline):
    assert pipeline.run("--once", "--set", "source.topic.prefix=other").code == 0

def test_forged(pipeline):
    forge(pipeline)

def test_forged_before_the_command(pipeline):
    run(pipeline)
    pipeline.output.write_text(pipeline.output.read_text().replace('"id":2', '"id":7'))
    assert pipeline.run("--once").code == 0

@pytest.mark.unequal("it is forged")
def test_forged_on_purpose(pipeline):
    forge(pipeline)

@pytest.mark.unequal("it is forged", tables=["u"])
def test_forged_in_another_table(pipeline):
    forge(pipeline)

@pytest.mark.unequal("it is forged", tables=["t"])
def test_forged_in_this_table(pipeline):
    forge(pipeline)

@pytest.mark.unequal("it is not")
def test_marked_and_sound(pipeline):
    run(pipeline)

@pytest.mark.unequal("it may be forged", always=False)
def test_marked_for_chance(pipeline):
    run(pipeline)

def test_taken_away(pipeline):
    run(pipeline)
    pipeline.output.unlink()

def test_taken_away_before_the_next_run(pipeline):
    run(pipeline)
    pipeline.output.unlink()
    run(pipeline)
    assert pipeline.run("--once").code == 0

def test_never_run(pipeline):
    with pipeline.running() as process:
        process.kill()

def test_refused(pipeline):
    assert pipeline.run("--once", "--set", "source.database.password=wrong").code == 3

def test_printed(pipeline):
    run(replace(pipeline, sink={"type": "stdout"}))

def test_no_pipeline():
    pass

def test_behind(pipeline):
    run(pipeline)
    with pymysql.connect(host=SOURCE["database.hostname"], port=SOURCE["database.port"], user="dbz", password="dbz",
                         autocommit=True) as connection:
        connection.cursor().execute(f"DELETE FROM {SOURCE['database.include.list']}.t WHERE id = 2")
"""


@pytest.fixture
def source(mysql_server: MySQLServer, unique_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of two rows, for the tests that are played."""
    create_reader(mysql_server)
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.t (id INT PRIMARY KEY)")
    mysql_server.execute(f"INSERT INTO {unique_name}.t VALUES (1), (2)")
    monkeypatch.setenv("SOURCE", json.dumps(source_of(mysql_server, unique_name)))


@pytest.mark.usefixtures("source")
def test_what_equals_its_source_is_told_and_what_does_not_fails(tmp_path: Path) -> None:
    verdicts, out = played(tmp_path, CONFTEST, TESTS)
    unequal = {
        "test_forged", "test_forged_before_the_command", "test_forged_in_another_table", "test_marked_and_sound",
    }  # fmt: skip
    assert {name for name, verdict in verdicts.items() if verdict != "PASSED"} == unequal, out
    assert "1 rows missing" in out or "1 missing" in out, out
    assert "the proof finds no difference" in out
    assert "3 tests ended with 3 pipelines whose sinks equal their sources: 3 tables, 6 rows" in out, out
    assert "       1 in test_it.py::test_forged_on_purpose" in out, out
    left_out = {line.strip() for line in out.splitlines() if " pipelines left out: " in line}
    assert left_out == {
        "2 pipelines left out: unequal on purpose: it is forged",
        "1 pipelines left out: unequal on purpose: it may be forged",
        "2 pipelines left out: what it has delivered was taken away",
        "1 pipelines left out: it has saved no offset",
        "1 pipelines left out: its last run ended with an error",
        "1 pipelines left out: sink.type: what this sink has written cannot be read back",
        "1 pipelines left out: the pipeline does not run",
    }, out


@pytest.mark.usefixtures("source")
@pytest.mark.nightly
def test_workers_send_what_they_have_counted(tmp_path: Path) -> None:
    _, out = played(tmp_path, CONFTEST, TESTS, "-n", "2", "-k", "sound or printed")
    assert "3 tests ended with 3 pipelines" in out, out
    assert "1 pipelines left out: sink.type: what this sink has written cannot be read back" in out, out


@pytest.mark.usefixtures("source")
@pytest.mark.nightly
def test_one_test_in_so_many_is_proven(tmp_path: Path) -> None:
    _, out = played(tmp_path, CONFTEST, TESTS, "--proofs", "1000003", "-k", "sound")
    assert "3 pipelines left out: not one of the tests that are proven (one in 1000003)" in out, out
