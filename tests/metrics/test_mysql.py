"""The metrics of a pipeline that reads MySQL, scraped while it runs."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from metrics.scraping import Scrape, holds, scrape, served_at
from testkit.running import Pipeline, Running, create_reader, source_of, to_file
from testkit.servers.mysql import MySQLServer

TABLES = """
create table orders (id int primary key, word varchar(20));
create table notes (n int primary key);
insert into orders values (1, 'a'), (2, 'b'), (3, 'c');
"""
CHANGES = """
insert into orders values (4, 'd');
update orders set word = 'changed' where id < 3;
delete from orders where id = 1;
alter table notes add column word varchar(10);
truncate table notes;
insert into other values (1);
"""


def pipeline(server: MySQLServer, database: str, folder: Path, address: str, **options: Any) -> Pipeline:
    server.run_sql(f"create database {database}")
    server.run_sql(TABLES + "create table other (n int primary key);", database=database)
    create_reader(server)
    tables = f"{database}.orders,{database}.notes"
    source = source_of(server, database, table_include_list=tables, skipped_operations="none", **options)
    return to_file(folder, source, **{"metrics.address": address})


def url_of(running: Running) -> str:
    running.wait_until(lambda: served_at(running.pipeline.state) is not None, "the metrics' address")
    url = served_at(running.pipeline.state)
    assert url is not None
    return url


def test_snapshot_stream_and_history(mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> None:
    found = pipeline(mysql_server, unique_name, tmp_path, "127.0.0.1:0", custom_metric_tags="region=eu,team=orders")
    with found.running() as running:
        url = url_of(running)
        assert f"metrics are served at {url}" in running.log
        running.wait_until(holds(url, lambda now: bool(now.of("cdckit_streaming_connected")) and _streams(now)))
        _check_snapshot(scrape(url), unique_name)
        mysql_server.run_sql(CHANGES, database=unique_name)
        running.wait_until(holds(url, _has_all_changes), "the changes")
        _check_stream(scrape(url), unique_name)
        assert running.stop().code == 0
    assert {own["region"] for own, _ in scrape_of(found)} == {"eu"}


def scrape_of(found: Pipeline) -> list[tuple[dict[str, str], float]]:
    """A pipeline started anew begins its counts anew; its labels are those of the file."""
    with found.running() as running:
        now = scrape(url_of(running))
        assert now.value("cdckit_delivered_records_total") == 0
        assert now.of("cdckit_snapshot_running") == []
        running.stop()
    return [*now.of("cdckit_running"), *now.of("cdckit_pipeline_info", runner="direct", source="mysql")]


def _streams(now: Scrape) -> bool:
    return now.value("cdckit_streaming_connected") == 1 and now.value("cdckit_delivered_records_total") == 3


def _has_all_changes(now: Scrape) -> bool:
    """Whether it has come to the end, where a row of a table stands that is not captured."""
    return (
        now.value("cdckit_streaming_events_filtered_total") == 1
        and now.value("cdckit_events_total", operation="t") == 1
        and now.value("cdckit_lag_bytes") == 0
    )


def _check_snapshot(now: Scrape, database: str) -> None:
    assert now.by("cdckit_snapshot_rows_scanned", "data_collection") == {
        f"{database}.orders": 3,
        f"{database}.notes": 0,
    }
    assert [now.value(f"cdckit_snapshot_{name}") for name in ("tables", "tables_remaining", "events")] == [2, 0, 3]
    states = ("running", "completed", "aborted", "paused", "holding_global_lock")
    assert [now.value(f"cdckit_snapshot_{name}") for name in states] == [0, 1, 0, 0, 0]
    captured = {own["data_collection"] for own, _ in now.of("cdckit_streaming_captured_table_info")}
    assert captured == {f"{database}.orders", f"{database}.notes"}


def _check_stream(now: Scrape, database: str) -> None:
    assert now.by("cdckit_events_total", "operation") == {"r": 3, "c": 1, "u": 2, "d": 1, "t": 1}
    assert now.value("cdckit_delivered_records_total", team="orders") == 3 + 1 + 2 + 2 + 1  # and a tombstone
    assert now.value("cdckit_lag_bytes") == 0
    assert now.value("cdckit_lag_seconds") == 0
    assert now.value("cdckit_log_bytes_total") > 0
    assert now.value("cdckit_streaming_events_filtered_total") == 1
    assert now.value("cdckit_streaming_transactions_committed_total") >= 3
    assert now.by("cdckit_schema_history_status", "status") == {"STOPPED": 0, "RECOVERING": 0, "RUNNING": 1}
    ((change, _),) = now.of("cdckit_schema_history_last_applied_change_info")
    assert change["ddl"].startswith("truncate table notes")
    ((position, _),) = now.of("cdckit_streaming_source_position_info")
    assert position["file"].startswith("binlog.")
    assert now.of("cdckit_queue_messages") == []  # a file has no buffer
    assert now.value("process_resident_memory_bytes") > 0


def test_a_port_that_is_taken_is_told_before_anything_happens(
    mysql_server: MySQLServer, unique_name: str, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = pipeline(mysql_server, unique_name, tmp_path, address).run("--once")
    assert ended.code == 2
    assert f"metrics.address: cannot listen at {address}: Address already in use" in ended.errors
    assert not (tmp_path / "state").exists()


def test_without_an_address_nothing_is_served_or_counted(
    mysql_server: MySQLServer, unique_name: str, tmp_path: Path
) -> None:
    found = pipeline(mysql_server, unique_name, tmp_path, "127.0.0.1:0")
    del found.others["metrics.address"]  # type: ignore[attr-defined]
    assert found.run("--once").code == 0
    mysql_server.run_sql(CHANGES, database=unique_name)
    ended = found.run("--once")
    assert "metrics" not in ended.stderr
    assert served_at(found.state) is None
