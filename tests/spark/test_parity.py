"""Events equal to Debezium's recordings also on the Spark runner, on live servers."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from mysql.recordings import DATA, JSON_HEADERS, by_topic, recorded, take_events
from mysql.test_parity import TARGETS, assert_same, marked, workload_of
from testkit.servers.mysql_family import SQLServer

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


@pytest.mark.parametrize(("target", "scenario"), [*marked(product(TARGETS, ["dml", "types-noschema"]))])
def test_events_equal_the_recording(target: str, scenario: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    server: SQLServer = request.getfixturevalue(TARGETS[target])
    configuration = DATA / target / scenario / "conf.properties"
    for part, script in (("snapshot", "setup"), ("stream", "stream")):
        server.run_sql_file(DATA / "sql" / f"{workload_of(configuration)}.{script}.sql")
        output = tmp_path / "out.jsonl"
        overrides = [
            JSON_HEADERS, f"sink.path={output}", f"state={tmp_path / 'state'}", f"source.database.port={server.port}",
        ]  # fmt: skip
        SparkRunner(load_pipeline(configuration, overrides, runner="spark", sink="file")).run(once=True)
        assert_same(recorded(target, scenario, part), by_topic(take_events(output)))
