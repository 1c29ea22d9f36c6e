"""What is read and left out of log files is counted as of their server: the same log, read from the same state."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cdckit.cli.main import call
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.metrics.collector import FiguresCollector
from cdckit.engine.runners.direct import DirectRunner
from testkit.running import Pipeline, create_reader, source_of, to_file
from testkit.servers.mysql_family import SQLServer

TABLES = """
CREATE TABLE t (id INT PRIMARY KEY, d DATE);
CREATE TABLE changed_unseen (id INT PRIMARY KEY);
CREATE TABLE other (id INT);
"""
CHANGES = """
INSERT INTO t VALUES (1, NULL), (2, NULL), (3, NULL);
UPDATE t SET id = 9 WHERE id = 3;
DELETE FROM t WHERE id = 1;
SET sql_mode = 'ALLOW_INVALID_DATES'; INSERT INTO t VALUES (4, '2021-02-31');
INSERT INTO other VALUES (1); INSERT INTO other VALUES (2);
SET sql_log_bin = 0; ALTER TABLE changed_unseen ADD COLUMN v INT; SET sql_log_bin = 1;
INSERT INTO changed_unseen VALUES (1, 1); INSERT INTO changed_unseen VALUES (2, 2);
CREATE TABLE late (id INT PRIMARY KEY); INSERT INTO late VALUES (1);
TRUNCATE TABLE t;
"""
NOT_COMPARED = ("_seconds", "_log_bytes_total")
"""Clocks; and files begin with an event more than a server sends."""


def test_counts_are_those_of_the_server(
    db_server: SQLServer, unique_name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    create_reader(db_server)
    db_server.run_sql(f"FLUSH BINARY LOGS; CREATE DATABASE {unique_name}; USE {unique_name}; {TABLES}")
    of_server = _pipeline(db_server, unique_name, tmp_path)
    _run(of_server, capsys)
    shutil.copytree(of_server.state, tmp_path / "before")
    db_server.run_sql(CHANGES, database=unique_name)
    name = db_server.execute("SHOW BINARY LOGS")[-1][0]
    shutil.copy(db_server.datadir / name, tmp_path)
    expected = _run(of_server, capsys)
    shutil.rmtree(of_server.state)
    shutil.copytree(tmp_path / "before", of_server.state)
    metrics, status = _run(_pipeline(db_server, unique_name, tmp_path, binlog_files=str(tmp_path / name)), capsys)
    assert metrics ^ expected[0] == set()
    assert status == expected[1]
    assert status["skipped"] == {f"{unique_name}.changed_unseen": 2, f"{unique_name}.t": 1}
    assert status["operations"] == {"c": 5, "u": 1, "d": 1, "t": 1}
    assert ("cdckit_skipped_events_total", (("data_collection", f"{unique_name}.t"),), 1.0) in metrics
    assert ("cdckit_streaming_events_filtered_total", (), 2.0) in metrics


def _pipeline(server: SQLServer, database: str, folder: Path, **options: Any) -> Pipeline:
    left_out = {
        "table_exclude_list": f"{database}.other",
        "skipped_operations": "none",
        "inconsistent_schema_handling_mode": "skip",
        "event_converting_failure_handling_mode": "skip",
    }
    source = source_of(server, database, **left_out, **options)
    return to_file(folder, source, **{"metrics.address": "127.0.0.1:0"})


Metrics = set[tuple[str, tuple[tuple[str, str], ...], float]]


def _run(pipeline: Pipeline, capsys: pytest.CaptureFixture[str]) -> tuple[Metrics, dict[str, Any]]:
    """The metrics at the end of a run, but for what is the clock's, and what `cdc status` says of counts."""
    runner = DirectRunner(load_pipeline(pipeline.written()))
    runner.run(once=True)
    families = FiguresCollector(runner.figures, {}).collect()
    samples = [one for family in families for one in family.samples if not one.name.endswith(NOT_COMPARED)]
    metrics = {(one.name, tuple(sorted(one.labels.items())), one.value) for one in samples}
    capsys.readouterr()
    assert call(["status", str(pipeline.written()), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    return metrics, {name: said[name] for name in ("operations", "skipped", "records")}
