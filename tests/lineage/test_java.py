"""OpenLineage's client for Java, by which lineage servers read events, reads ours."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from openlineage.client.serde import Serde

from cdckit.api.notices import DefinedColumn
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.lineage.events import RunEvents
from cdckit.engine.lineage.outputs import OutputField
from testkit.servers.downstream import openlineage_jars
from testkit.servers.java import ensure_java

PIPELINE = """
runner: direct
source:
  type: mysql
  topic.prefix: shop
  database.hostname: db
  database.user: u
  openlineage.integration.enabled: true
  openlineage.integration.job.tags: env=prod
  openlineage.integration.job.owners: Ada=owner
  openlineage.integration.dataset.kafka.bootstrap.servers: named:9092
sink: {type: kafka, bootstrap.servers: "k:9092"}
"""


@pytest.mark.nightly
def test_it_reads_each_event(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.yaml"
    file.write_text(PIPELINE)
    events = RunEvents(load_pipeline(file))
    after = OutputField("after", "STRUCT", None, (OutputField("id", "INT64"),))
    made = [
        events.event("START", {}, {}),
        events.event("RUNNING", {"a.b": [DefinedColumn("id", "BIGINT", "a key")]}, {"shop.a.b": [after]}),
        events.event("FAIL", {}, {}, ValueError("bad")),
    ]
    told = tmp_path / "events.jsonl"
    told.write_text("".join(f"{Serde.to_json(one)}\n" for one in made))
    command = [str(ensure_java()), "-cp", f"{openlineage_jars()}/*", str(Path(__file__).with_name("ReadEvents.java"))]
    done = subprocess.run([*command, str(told)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    run = "7 shop/shop.0 DEBEZIUM env owner cdckit"
    assert done.stdout.splitlines() == [
        f"START {run} -",
        f"RUNNING {run} -",
        "< mysql://db:3306 a.b TABLE BIGINT",
        "> kafka://named:9092 shop.a.b after.id",
        f"FAIL {run} bad",
    ]
