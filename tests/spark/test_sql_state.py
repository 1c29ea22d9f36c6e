"""A pipeline on Spark whose state is in a database: nothing of it has to be left on the driver's machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from mysql.state.places import forgetful, make_user
from testkit.running import create_reader, source_of
from testkit.servers.mariadb import MariaDBServer

pytestmark = pytest.mark.spark


def test_each_runner_goes_on_where_the_other_stopped_without_its_folder(
    mariadb_server: MariaDBServer, unique_name: str, tmp_path: Path
) -> None:
    server, state = mariadb_server, f"{unique_name}_state"
    server.run_sql(f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.t (id INT PRIMARY KEY)")
    server.run_sql(f"CREATE DATABASE {state}; INSERT INTO {unique_name}.t VALUES (1)")
    create_reader(server)
    make_user(server, state)
    sink = {"type": "file", "path": str(tmp_path / "out.jsonl")}
    pipeline = forgetful(tmp_path, source_of(server, unique_name), sink, server, state)
    for number, runner in enumerate(("direct", "spark", "direct"), 2):
        ended = pipeline.run("--once", "--runner", runner)
        assert ended.code == 0, ended.stderr
        server.execute(f"INSERT INTO {unique_name}.t VALUES ({number})")
    assert [event["value"]["after"]["id"] for event in pipeline.events()] == [1, 2, 3]
    server.run_sql(f"DROP DATABASE {unique_name}; DROP DATABASE {state}")
