"""The metrics and the status of a pipeline on Spark, while it runs: parts of tables, lag, and what workers counted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.metrics.status import pipeline_status
from cdckit.engine.runners.spark import SparkRunner
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.state.place import StatePlace
from metrics.scraping import scrape, served_at
from testkit.running import create_reader, source_of, to_file
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

ROWS = 120_000
"""Enough for a table to be read in parts."""
TABLES = f"""
create table small (n int primary key);
create table empty_one (n int primary key);
create table large (n int primary key, word varchar(10));
insert into small values (1), (2);
set session cte_max_recursion_depth = {ROWS};
insert into large with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < {ROWS})
  select n, 'x' from numbers;
analyze table large, small, empty_one;
"""
CHANGES = """
insert into small values (3), (4);
update large set word = 'y' where n < 4;
delete from small where n = 1;
"""


def wait_for(holds: Callable[[], bool], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def test_progress_lag_and_counts(mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> None:
    mysql_server.run_sql(f"create database {unique_name}")
    mysql_server.run_sql(TABLES, database=unique_name)
    create_reader(mysql_server)
    found = to_file(
        tmp_path, source_of(mysql_server, unique_name), runner="spark", **{"metrics.address": "127.0.0.1:0"}
    )
    pipeline, stopping = load_pipeline(found.written()), StopSignal()
    thread = threading.Thread(target=SparkRunner(pipeline, stopping).run)
    thread.start()
    try:
        wait_for(lambda: served_at(pipeline.folder) is not None)
        url = served_at(pipeline.folder) or ""
        wait_for(lambda: scrape(url).by("cdckit_snapshot_completed", "pipeline") == {"p": 1})
        now = scrape(url)
        assert now.by("cdckit_snapshot_rows_scanned", "data_collection") == {
            f"{unique_name}.small": 2, f"{unique_name}.empty_one": 0, f"{unique_name}.large": ROWS,
        }  # fmt: skip
        assert now.value("cdckit_snapshot_tables_remaining") == 0
        assert now.value("cdckit_delivered_records_total") == ROWS + 2
        mysql_server.run_sql(CHANGES, database=unique_name)
        wait_for(lambda: scrape(url).value("cdckit_delivered_records_total") == ROWS + 2 + 7)  # one is a tombstone
        now = scrape(url)
        assert now.by("cdckit_events_total", "operation") == {"r": ROWS + 2, "c": 2, "u": 3, "d": 1, "t": 0}
        assert now.value("cdckit_lag_bytes") == 0
        assert now.value("cdckit_lag_seconds") == 0
        assert now.value("cdckit_log_bytes_total") > 0
        assert now.value("cdckit_streaming_connected") == 1
        assert now.value("cdckit_streaming_transactions_committed_total") == 3
        assert abs(now.value("cdckit_last_event_time_seconds") - time.time()) < 600
        # The file of the status is written once a second at most: what the metrics have shown comes within that.
        wait_for(lambda: pipeline_status(StatePlace.of(pipeline)).records == ROWS + 2 + 7)
        status = pipeline_status(StatePlace.of(pipeline))
        assert (status.state, status.runner, status.lag_bytes) == ("running", "spark", 0)
        assert status.snapshot is not None
        assert {table.name.rpartition(".")[2]: table.rows for table in status.snapshot.tables}["large"] == ROWS
    finally:
        stopping.stop()
        thread.join(90)
    assert not thread.is_alive()
    assert pipeline_status(StatePlace.of(pipeline)).state == "stopped"
