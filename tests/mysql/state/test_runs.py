"""Pipelines whose state is in a database: who may run, and what the end of a connection does to a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mysql.state.places import USER, forgetful, make_user
from testkit.forgetful import Forgetful
from testkit.running import create_reader, source_of
from testkit.servers.mysql_family import SQLServer

pytestmark = pytest.mark.one_server


@pytest.fixture
def pipeline(db_server: SQLServer, database: str, tmp_path: Path) -> Iterator[Forgetful]:
    """One that captures a table on the server that has its state, too."""
    state = f"{database}_state"
    db_server.run_sql(f"CREATE DATABASE {state}; CREATE TABLE {database}.t (id INT PRIMARY KEY)")
    create_reader(db_server)
    make_user(db_server, state)
    sink = {"type": "file", "path": str(tmp_path / "out.jsonl")}
    yield forgetful(tmp_path, source_of(db_server, database), sink, db_server, state)
    db_server.execute(f"DROP DATABASE {state}")


def _insert(server: SQLServer, database: str, *ids: int) -> None:
    for each in ids:
        server.execute(f"INSERT INTO {database}.t VALUES ({each})")


def _arrived(pipeline: Forgetful) -> list[int]:
    return [event["value"]["after"]["id"] for event in pipeline.events()]


def test_one_process_runs_and_its_end_is_whole(
    db_server: SQLServer, database: str, pipeline: Forgetful, tmp_path: Path
) -> None:
    with pipeline.running() as process:
        process.wait_for("snapshot at")
        _insert(db_server, database, 1, 2)
        process.wait_until(lambda: pipeline.output.exists() and _arrived(pipeline) == [1, 2])
        (tmp_path / "other").mkdir()
        refused = replace(pipeline, folder=tmp_path / "other").run("--once")
        assert refused.code == 7
        assert f"held by process {process.process.pid} on " in refused.errors
        _insert(db_server, database, 3)
        process.wait_until(lambda: _arrived(pipeline) == [1, 2, 3])
        assert process.stop().code == 0
    assert pipeline.run("--once").code == 0
    assert _arrived(pipeline) == [1, 2, 3]


def test_a_lost_connection_ends_the_run_and_the_next_one_goes_on(
    db_server: SQLServer, database: str, pipeline: Forgetful
) -> None:
    with pipeline.running() as process:
        process.wait_for("snapshot at")
        _insert(db_server, database, 1)
        process.wait_until(lambda: pipeline.output.exists() and _arrived(pipeline) == [1])
        query = f"SELECT id FROM information_schema.processlist WHERE user = '{USER}'"
        for [session] in db_server.execute(query):
            db_server.end_session(session)
        _insert(db_server, database, 2, 3)
        ended = process.ended()
    assert ended.code == 7
    assert "the connection was lost while saving in cdckit_" in ended.errors
    assert f"{db_server.host}:{db_server.port}" in ended.errors
    _insert(db_server, database, 4)
    assert pipeline.run("--once").code == 0
    assert list(dict.fromkeys(_arrived(pipeline))) == [1, 2, 3, 4]
