"""What OpenLineage is told of a pipeline on Spark: tables by the planner, what is written by the workers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from lineage.run_event import check
from lineage.test_events import INTEGRATION, TABLES, datasets
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


def test_tables_become_tables(mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> None:
    mysql_server.run_sql(f"create database {unique_name}")
    mysql_server.run_sql(TABLES, database=unique_name)
    create_reader(mysql_server)
    told = tmp_path / "events.jsonl"
    (tmp_path / "lineage.yml").write_text(yaml.safe_dump({"transport": {"type": "file", "location": str(told)}}))
    source = source_of(mysql_server, unique_name, **{INTEGRATION + "enabled": True})
    source[INTEGRATION + "config.file.path"] = "lineage.yml"
    sink = {"type": "spark", "path": str(tmp_path / "lake")}
    found = Pipeline(tmp_path, source, sink, {"runner": "spark"})
    SparkRunner(load_pipeline(found.written())).run(once=True)
    events = [json.loads(line) for line in told.read_text().splitlines()]
    for event in events:
        check(event)
    assert (events[0]["eventType"], events[-1]["eventType"]) == ("START", "COMPLETE")
    tables = datasets(events, "inputs")
    namespace = f"mysql://{mysql_server.host}:{mysql_server.port}"
    assert [one["name"] for one in tables[namespace, f"{unique_name}.orders"]] == ["id", "word"]
    assert [one["name"] for one in tables[namespace, f"{unique_name}.notes"]] == ["n"]
    written = datasets(events, "outputs")
    fields = written["file", f"{tmp_path}/lake/p.{unique_name}.orders"]
    assert [(one["name"], one["type"]) for one in fields] == [("id", "INT64"), ("word", "STRING")]
