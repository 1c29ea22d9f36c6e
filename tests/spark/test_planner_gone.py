"""The Python process in which Spark plans a stream's batches: it is killed, or begins anew while its source is away."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark.conftest import FAST_JVM
from testkit.descendants import descendants
from testkit.running import Pipeline, Running, create_reader, source_of, whole_lines
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.real_python, pytest.mark.nightly, pytest.mark.timeout(900)]

AWAY_SECONDS = 20.0


@pytest.fixture
def server() -> Iterator[MySQLServer]:
    """A server of the test's own, to be killed."""
    with MySQLServer().start() as server:
        server.run_sql("CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY)")
        server.execute("INSERT INTO shop.t VALUES (0)")
        create_reader(server)
        yield server


def test_a_planner_that_was_killed_and_one_whose_source_is_away_begin_anew(server: MySQLServer, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    pipeline = Pipeline(
        tmp_path,
        source_of(server, "shop", topic_prefix="p"),
        {"type": "file", "path": str(out)},
        {"runner": "spark", "spark": {"spark.master": "local[2]", **FAST_JVM}},
    )
    with pipeline.running() as process:
        process.wait_until(lambda: _ids(out) == [0])
        _kill_planner(process)
        server.execute("INSERT INTO shop.t VALUES (1)")
        process.wait_until(lambda: _ids(out)[-1] == 1)
        server.kill()
        process.wait_for("trying again in 0.6 s")
        _kill_planner(process)
        time.sleep(AWAY_SECONDS)
        server.start()
        server.execute("INSERT INTO shop.t VALUES (2)")
        process.wait_until(lambda: _ids(out)[-1] == 2)
        ended = process.stop()
    assert ended.code == 0, ended.stderr
    assert "a Python process that Spark kept is gone" in ended.stderr
    assert _ids(out) == [0, 1, 2]


def _ids(out: Path) -> list[int]:
    records = whole_lines(out) if out.exists() else []
    return [record["value"]["payload"]["after"]["id"] for record in records] or [-1]


def _kill_planner(process: Running) -> None:
    process.wait_until(lambda: bool(descendants(process.process.pid, "python_streaming_source_runner")))
    for planner in descendants(process.process.pid, "python_streaming_source_runner"):
        planner.kill()
