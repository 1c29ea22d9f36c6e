"""A pipeline on Spark whose state is in an object store: nothing of it has to be left on the driver's machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from s3_state.places import forgetful, make_bucket
from testkit.running import create_reader, source_of
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.object_store import ObjectStore

pytestmark = [pytest.mark.spark, pytest.mark.nightly]


def test_each_runner_goes_on_where_the_other_stopped_without_its_folder(
    mariadb_server: MariaDBServer, object_store: ObjectStore, unique_name: str, tmp_path: Path
) -> None:
    server = mariadb_server
    server.run_sql(f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.t (id INT PRIMARY KEY)")
    server.run_sql(f"INSERT INTO {unique_name}.t VALUES (1)")
    create_reader(server)
    sink = {"type": "file", "path": str(tmp_path / "out.jsonl")}
    pipeline = forgetful(
        tmp_path, source_of(server, unique_name), sink, object_store, make_bucket(object_store, unique_name)
    )
    for number, runner in enumerate(("direct", "spark", "spark", "direct"), 2):
        ended = pipeline.run("--once", "--runner", runner)
        assert ended.code == 0, ended.stderr
        server.execute(f"INSERT INTO {unique_name}.t VALUES ({number})")
    assert [event["value"]["after"]["id"] for event in pipeline.events()] == [1, 2, 3, 4]
    server.run_sql(f"DROP DATABASE {unique_name}")
