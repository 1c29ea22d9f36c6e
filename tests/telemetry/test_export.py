"""Metrics and spans of a pipeline that reads MySQL, as a collector gets them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from cdckit.engine.metrics.collector import METRICS
from metrics.test_mysql import CHANGES, TABLES
from telemetry.receiver import Receiver, plain, receiving
from testkit.running import Pipeline, create_reader, source_of, to_file
from testkit.servers.mysql import MySQLServer


def pipeline(server: MySQLServer, database: str, folder: Path, **options: Any) -> Pipeline:
    server.run_sql(f"create database {database}")
    server.run_sql(TABLES + "create table other (n int primary key);", database=database)
    create_reader(server)
    tables = f"{database}.orders,{database}.notes"
    source = source_of(server, database, table_include_list=tables, skipped_operations="none", **options)
    return to_file(folder, source, transforms=[{"type": "ActivateTracingSpan"}])


def asked(monkeypatch: pytest.MonkeyPatch, receiver: Receiver) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a-key-that-nobody-sees")
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "300")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "200")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=trial")


def test_metrics_and_spans_of_a_run(
    mysql_server: MySQLServer, unique_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = time.time_ns()
    with receiving() as receiver:
        asked(monkeypatch, receiver)
        found = pipeline(mysql_server, unique_name, tmp_path, custom_metric_tags="region=eu")
        with found.running() as running:
            running.wait_until(lambda: receiver.value("cdckit_streaming_connected") == 1, "the stream")
            mysql_server.run_sql(CHANGES, database=unique_name)
            running.wait_until(lambda: receiver.value("cdckit_events", operation="t") == 1, "the changes")
            running.wait_until(lambda: _delivered(receiver) == 9, "the spans")
            assert running.stop().code == 0
        _check_metrics(receiver, unique_name)
        _check_spans(receiver, unique_name, began)
        assert {one["service.name"] for one in receiver.resources} == {"cdckit"}
        assert {one["deployment.environment"] for one in receiver.resources} == {"trial"}
        assert {one["api-key"] for one in receiver.headers} == {"a-key-that-nobody-sees"}
        assert "a-key-that-nobody-sees" not in running.log
    assert "traceparent" in found.output.read_text()


def _delivered(receiver: Receiver) -> int:
    return sum(attributes["cdckit.records"] for _, attributes in receiver.named("cdckit batch"))


def _check_metrics(receiver: Receiver, database: str) -> None:
    assert receiver.value("cdckit_delivered_records", pipeline="p", server="p", region="eu") == 9
    assert [receiver.value("cdckit_events", operation=one) for one in "rcud"] == [3, 1, 2, 1]
    assert receiver.value("cdckit_snapshot_rows_scanned", data_collection=f"{database}.orders") == 3
    assert receiver.value("cdckit_pipeline_info", runner="direct", source="mysql") == 1
    assert (receiver.monotonic["cdckit_events"], receiver.monotonic["cdckit_lag_seconds"]) == (True, False)
    texts = {metric.shown_name for metric in METRICS if metric.kind == "info"}
    assert texts & set(receiver.points) == {"cdckit_pipeline_info", "cdckit_streaming_captured_table_info"}


def _check_spans(receiver: Receiver, database: str, began: int) -> None:
    batches = receiver.named("cdckit batch")
    for span, attributes in batches:
        assert began < span.start_time_unix_nano <= span.end_time_unix_nano < time.time_ns()
        assert attributes["cdckit.pipeline"] == "p"
        assert attributes["cdckit.tag.region"] == "eu"
        assert (attributes["cdckit.source"], attributes["cdckit.sink"]) == ("mysql", "file")
    assert any(span.end_time_unix_nano - span.start_time_unix_nano > 0 for span, _ in batches)
    ((span, attributes),) = receiver.named("cdckit snapshot")
    assert (span.status.code, attributes["cdckit.rows"], attributes["cdckit.tables"]) == (Status.STATUS_CODE_OK, 3, 2)
    assert len(receiver.named("db-log-write")) == 8  # ActivateTracingSpan's, by the same provider


def test_what_a_run_has_ended_by(
    mysql_server: MySQLServer, unique_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving() as receiver:
        asked(monkeypatch, receiver)
        monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
        monkeypatch.setenv("OTEL_SERVICE_NAME", "shop")
        found = pipeline(mysql_server, unique_name, tmp_path)
        found.source["database.password"] = "another-password"  # type: ignore[index]
        ended = found.run("--once")
        assert ended.code == 3
        ((span, attributes),) = receiver.named("cdckit failure")
        (event,) = span.events
        assert (span.status.code, attributes["cdckit.pipeline"]) == (Status.STATUS_CODE_ERROR, "p")
        assert plain(event.attributes)["exception.type"] == "SourceError"
        assert span.status.message in ended.errors
        assert "another-password" not in str(receiver.spans)
        assert receiver.points == {}
        assert {one["service.name"] for one in receiver.resources} == {"shop"}


def test_nobody_who_listens_stops_nothing(
    mysql_server: MySQLServer, unique_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving() as receiver:
        asked(monkeypatch, receiver)
    found = pipeline(mysql_server, unique_name, tmp_path)
    assert found.run("--once").code == 0
    assert len(found.events()) == 3
