"""The board and the alert rules: Prometheus takes them, and finds what they ask for in a pipeline that runs."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cdckit.engine.metrics.collector import METRICS
from deploy.files import DEPLOY, ROOT
from metrics.scraping import served_at
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer
from testkit.servers.prometheus import PrometheusServer, programs

ALERTS = DEPLOY / "grafana" / "alerts.yml"
BOARD = json.loads((DEPLOY / "grafana" / "cdckit.json").read_text())
TITLES = {
    "Connected", "Time since last event", "Event count", "MilliSeconds Behind Source", "Seconds Behind Master",
    "NumberOf Committed Transactions", "NumberOf RolledBack Transactions", "Total NumberOf EventsSeen",
    "NumberOf Skipped Events", "NumberOf Events Filtered", "NumberOf Erroneous Events", "NumberOf Disconnects",
    "Queue Total Capacity", "Queue Remaining Capacity", "Table count", "Remaining tables", "Running", "Completed",
    "Aborted", "Holding GlobalLock", "Snapshot Duration", "Rows scanned", "Changes Recovered", "Changes Applied",
    "Since Last AppliedChange", "Since Last RecoveredChange",
}  # fmt: skip
"""Panels of the boards of Debezium's examples."""


def panels() -> Iterator[dict[str, Any]]:
    yield from (panel for panel in BOARD["panels"] if panel["type"] != "row")


def expressions() -> list[str]:
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def test_the_boards_panels() -> None:
    titles = {panel["title"] for panel in panels()}
    assert TITLES - titles == set()
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert len(ids) == len(set(ids))
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in BOARD["panels"]]
    assert len(places) == len(set(places))


def test_promtool_finds_no_fault() -> None:
    done = subprocess.run(
        [programs() / "promtool", "check", "rules", ALERTS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_alerts_are_raised_when_they_should(tmp_path: Path) -> None:
    text = Path(__file__).with_name("alerts_test.yml").read_text()
    (tmp_path / "test.yml").write_text(text.replace("[RULES]", f"[{ALERTS}]"))
    command: list[str | Path] = [programs() / "promtool", "test", "rules", tmp_path / "test.yml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for rule in rules():
        assert f"alertname: {rule['alert']}\n" in text or rule["alert"] == "CdckitEventsSkipped"


def test_each_alert_asks_for_metrics_that_there_are_and_has_a_runbook() -> None:
    names = {metric.shown_name for metric in METRICS}
    page = (ROOT / "docs" / "operating.md").read_text()
    headings = {
        re.sub(r"[^a-z0-9 -]", "", line[4:].lower()).replace(" ", "-")
        for line in page.splitlines()
        if line.startswith("### ")
    }
    for rule in rules():
        asked = set(re.findall(r"\bcdckit_\w+", rule["expr"]))
        assert asked - names == set()
        place, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert place == "docs/operating.md"
        assert anchor in headings


@pytest.fixture
def asked(
    mysql_server: MySQLServer, kafka_broker: KafkaBroker, unique_name: str, tmp_path: Path
) -> Iterator[PrometheusServer]:
    """A Prometheus that has asked a pipeline while that delivered a snapshot and changes."""
    mysql_server.run_sql(f"create database {unique_name}")
    mysql_server.run_sql("create table t (n int primary key); insert into t values (1), (2);", database=unique_name)
    create_reader(mysql_server)
    sink = {"type": "kafka", "bootstrap.servers": kafka_broker.bootstrap}
    source = source_of(mysql_server, unique_name, topic_prefix=unique_name)
    with Pipeline(tmp_path, source, sink, {"metrics.address": "127.0.0.1:0", "name": "shop"}).running() as running:
        running.wait_until(lambda: served_at(running.pipeline.state) is not None)
        target = str(served_at(running.pipeline.state)).split("/")[2]
        with PrometheusServer([target]) as prometheus:
            changes = "insert into t values ({0}); alter table t add column c{0} int; delete from t where n = {0};"
            mysql_server.run_sql(changes.format(3), database=unique_name)
            seen = 'cdckit_events_total{operation="d"} >= 1'
            running.wait_until(lambda: bool(prometheus.query(seen)), "a change in Prometheus")
            running.wait_until(lambda: bool(prometheus.query("rate(cdckit_log_bytes_total[1m])")), "two looks")
            yield prometheus


def test_a_running_pipeline_has_what_the_board_asks_for(asked: PrometheusServer) -> None:
    """Each expression, and each part of one beside an `or`, gives series; what only trouble brings has a 0."""
    shown = [one.replace("$pipeline", "shop").replace("$__rate_interval", "1m") for one in expressions()]
    deadline = time.monotonic() + 60
    while shown := [one for one in shown if not asked.query(one)]:  # after a look that took too long nothing has values
        assert time.monotonic() < deadline, shown
        time.sleep(0.2)
    names = {metric.shown_name for metric in METRICS} | {"process_resident_memory_bytes", "process_cpu_seconds_total"}
    for expression in expressions():
        assert set(re.findall(r"\b(?:cdckit|process)_\w+", expression)) - names == set()
    for rule in rules():
        asked.query(rule["expr"])
