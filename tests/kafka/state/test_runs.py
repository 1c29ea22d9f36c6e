"""Pipelines whose state is in Kafka: who may run, and what it does to a run that Kafka is away for a while."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kafka.state.places import forgetful
from testkit.forgetful import Forgetful
from testkit.running import create_reader, source_of
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer


@pytest.fixture
def pipeline(
    mysql_server: MySQLServer, kafka_broker: KafkaBroker, unique_name: str, tmp_path: Path
) -> Iterator[Forgetful]:
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.t (id INT PRIMARY KEY)")
    create_reader(mysql_server)
    sink = {"type": "file", "path": str(tmp_path / "out.jsonl")}
    yield forgetful(tmp_path, source_of(mysql_server, unique_name), sink, kafka_broker, unique_name)
    mysql_server.execute(f"DROP DATABASE {unique_name}")


def _arrived(pipeline: Forgetful) -> list[int]:
    return [event["value"]["after"]["id"] for event in pipeline.events()] if pipeline.output.exists() else []


def test_one_process_runs_and_its_end_is_whole(
    mysql_server: MySQLServer, unique_name: str, pipeline: Forgetful, tmp_path: Path
) -> None:
    insert = f"INSERT INTO {unique_name}.t VALUES (%s)"
    with pipeline.running() as process:
        process.wait_for("snapshot at")
        mysql_server.execute(insert % 1)
        process.wait_until(lambda: _arrived(pipeline) == [1])
        (tmp_path / "other").mkdir()
        refused = replace(pipeline, folder=tmp_path / "other").run("--once")
        assert refused.code == 7
        assert f"held by process {process.process.pid} on " in refused.errors
        mysql_server.execute(insert % 2)
        process.wait_until(lambda: _arrived(pipeline) == [1, 2])
        assert process.stop().code == 0
    mysql_server.execute(insert % 3)
    assert pipeline.run("--once").code == 0
    assert _arrived(pipeline) == [1, 2, 3]
