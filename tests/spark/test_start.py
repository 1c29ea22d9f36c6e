"""What a pipeline says from its start on: what it waits for, where it reads from, and all of it in the logs' format."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark.conftest import FAST_JVM
from spark.shop import deliver
from testkit.running import Ended, Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.real_python, pytest.mark.timeout(1200)]

SECONDS = 400.0
TALKING = f"{FAST_JVM['spark.driver.extraJavaOptions']} -Xlog:gc*,safepoint:stderr"
"""Has the JVM write to its standard error all the time, to its end."""


def said(ended: Ended) -> list[dict[str, Any]]:
    """The log's lines, each of which is JSON."""
    assert ended.code == 0, ended.stderr
    return [json.loads(line) for line in ended.stderr.splitlines()]


def test_it_says_what_it_waits_for_and_where_it_reads_from(
    session: SparkSession,
    mysql_server: MySQLServer,
    unique_name: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As a program of its own; then, going on, in the shared session."""
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; USE {unique_name}; CREATE TABLE t (id INT PRIMARY KEY)")
    mysql_server.execute(f"INSERT INTO {unique_name}.t VALUES (1), (2)")
    create_reader(mysql_server)
    sink = {"type": "spark", "mode": "mirror", "path": str(tmp_path / "lake")}
    spark = {"master": "local[2]", **FAST_JVM, "spark.driver.extraJavaOptions": TALKING}
    settings = {"runner": "spark", "spark": spark}
    source = source_of(mysql_server, unique_name)
    pipeline = Pipeline(tmp_path, source, sink, settings, {"CDC_LOG_FORMAT": "json"})
    log = said(pipeline.run("--once", seconds=SECONDS))
    messages = [line["message"] for line in log]
    milestones = [
        "starting Spark …",
        next(text for text in messages if text.startswith("starting Spark took ")),
        "pipeline 'p' starts on the runner spark; nothing is saved yet",
        next(text for text in messages if text.startswith("snapshot at ")),
        f"snapshot: writing {unique_name}.t …",
        next(text for text in messages if text.startswith(f"snapshot: writing {unique_name}.t took ")),
        "pipeline 'p' stopped; 2 events delivered",
    ]
    assert [text for text in messages if text in milestones] == milestones
    assert [line for line in log if line["logger"] == "cdckit.java"], "the JVM said nothing"
    place = _place(pipeline.offset())
    with caplog.at_level(logging.INFO):
        deliver(pipeline)
    messages = caplog.messages
    assert f"the log is read from {place} on" in messages
    assert not [text for text in messages if text.startswith("snapshot")]


def test_the_direct_runner_says_the_same(mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> None:
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; USE {unique_name}; CREATE TABLE t (id INT PRIMARY KEY)")
    create_reader(mysql_server)
    for mode, first, second in (
        ("initial", "snapshot at ", "the log is read from "),
        ("no_data", "snapshot at ", "the log is read from "),
        ("never", "the log is read from ", "the log is read from "),
        ("always", "snapshot at ", "a new snapshot is taken, in the place of going on (snapshot.mode=always)"),
    ):
        folder = tmp_path / mode
        folder.mkdir()
        source = {**source_of(mysql_server, unique_name), "snapshot.mode": mode}
        pipeline = Pipeline(folder, source, {"type": "stdout"}, {}, {"CDC_LOG_FORMAT": "json"})
        assert _begins(said(pipeline.run("--once"))) == ("; nothing is saved yet", first), mode
        assert _begins(said(pipeline.run("--once"))) == ("; its offset is saved", second), mode


def _begins(log: list[dict[str, Any]]) -> tuple[str, str]:
    """What the first two lines say of the start."""
    kinds = ("snapshot at ", "the log is read from ", "a new snapshot is taken, in the place of going on")
    started = next(line["message"] for line in log if "starts on the runner" in line["message"])
    told = next(line["message"] for line in log if line["message"].startswith(kinds))
    return started[started.index(";") :], next((kind for kind in kinds[:2] if told.startswith(kind)), told)


def _place(offset: Mapping[str, Any] | None) -> str:
    assert offset is not None
    return f"{offset['file']}:{offset['pos']}"
