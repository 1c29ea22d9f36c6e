"""What OpenTelemetry gets of a pipeline on Spark: the driver exports for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from lineage.test_events import TABLES
from telemetry.receiver import receiving
from telemetry.test_export import asked
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


def test_metrics_and_spans_of_a_run(
    mysql_server: MySQLServer, unique_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mysql_server.run_sql(f"create database {unique_name}")
    mysql_server.run_sql(TABLES, database=unique_name)
    create_reader(mysql_server)
    source = source_of(mysql_server, unique_name)
    sink = {"type": "file", "path": str(tmp_path / "events.jsonl")}
    with receiving() as receiver:
        asked(monkeypatch, receiver)
        found = load_pipeline(Pipeline(tmp_path, source, sink, {"runner": "spark"}).written())
        SparkRunner(found).run(once=True)
        rows = receiver.value("cdckit_delivered_records", pipeline="p")
        assert rows is not None and rows > 0
        assert receiver.value("cdckit_pipeline_info", runner="spark", source="mysql") == 1
        batches = receiver.named("cdckit batch")
        assert sum(attributes["cdckit.records"] for _, attributes in batches) == rows
        ((_, snapshot),) = receiver.named("cdckit snapshot")
        assert snapshot["cdckit.tables"] == 2
