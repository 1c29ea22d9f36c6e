"""What the progress of a query of one's own tells: rows, chunks, how far behind the log's end it is."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession, functions as f
from pyspark.sql.streaming.query import StreamingQuery

from cdckit.engine.spark.stream_reader import LIMITED
from cdckit.spark import CdckitDataSource
from spark.own_rows import own_options
from spark.pages import examples_of
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

ROWS = 400
Batch = tuple[dict[str, Any], dict[str, Any], dict[str, Any], int]


@pytest.fixture
def shop(mysql_server: MySQLServer, unique_name: str) -> Iterator[str]:
    """A database with a table of many orders."""
    mysql_server.run_sql(
        f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.orders (id INT PRIMARY KEY, price INT);"
        f"INSERT INTO {unique_name}.orders WITH RECURSIVE s AS (SELECT 1 n UNION ALL SELECT n + 1 FROM s"
        f" WHERE n < {ROWS}) SELECT n, n FROM s"
    )
    yield unique_name
    mysql_server.run_sql(f"DROP DATABASE {unique_name}")


def started(session: SparkSession, server: MySQLServer, shop: str, folder: Path, **options: object) -> StreamingQuery:
    """A query over the orders that writes nothing anywhere."""
    session.dataSource.register(CdckitDataSource)
    own = own_options(server, shop, folder / "state", table=f"{shop}.orders", waitMs=1000, **options)
    rows = session.readStream.format("cdckit").options(**own).load()
    return rows.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint")).start()


def batches(query: StreamingQuery) -> list[Batch]:
    """Begin, end, what is reported and the number of rows of each batch, so far; then the query is stopped."""
    query.processAllAvailable()
    found = [progress["sources"][0] for progress in query.recentProgress if progress["numInputRows"]]
    query.stop()
    offsets = ("startOffset", "endOffset", "latestOffset")
    return [(*(json.loads(one[name] or "null") for name in offsets), one["numInputRows"]) for one in found]


def chunks(offset: dict[str, Any] | None) -> int:
    """How many chunks of the snapshot lie before an offset within it."""
    return int(((offset or {}).get("cdckit_snapshot_cursor") or {"chunk": 0})["chunk"])


@pytest.mark.skipif(not LIMITED, reason="Spark asks for that from 4.2 on")
def test_progress_tells_rows_and_chunks_of_a_snapshot_and_how_far_behind_the_log_is(
    session: SparkSession, mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    in_parts = {"source.snapshot.batch.rows": 150}
    found = batches(started(session, mysql_server, shop, tmp_path, **in_parts))
    assert sum(rows for *_, rows in found) == ROWS + 1, "and the row `t` with which a snapshot begins"
    ends = [chunks(end) for _, end, *_ in found]
    assert len(ends) > 2 and ends[:-1] == sorted(set(ends[:-1])) and ends[-1] == 0, ends
    assert [chunks(start) for start, *_ in found[1:]] == ends[:-1]
    assert [latest["cdckit_rows_left"] for *_, latest, _ in found] == [True] * (len(ends) - 1) + [False]
    assert all("cdckit_lag_seconds" not in latest for *_, latest, _ in found[:-1])
    # Many transactions, of which a batch takes some.
    mysql_server.run_sql("".join(f"UPDATE {shop}.orders SET price = -{n} WHERE id = {n};" for n in range(1, 101)))
    time.sleep(2)
    found = batches(started(session, mysql_server, shop, tmp_path, maxBytesPerTrigger=10_000, **in_parts))
    assert sum(rows for *_, rows in found) == 100
    behind = [latest["cdckit_lag_bytes"] for *_, latest, _ in found]
    assert len(behind) > 2 and behind == sorted(set(behind), reverse=True) and behind[-1] == 0, behind
    reported = [latest for *_, latest, _ in found]
    assert all(2 <= latest["cdckit_lag_seconds"] < 300 for latest in reported[:-1]), reported
    assert reported[-1]["cdckit_lag_seconds"] == 0
    assert all(9_000 < latest["cdckit_batch_bytes"] < 20_000 for latest in reported[:-1]), reported
    assert not any(latest["cdckit_rows_left"] for latest in reported)


@pytest.mark.skipif(not LIMITED, reason="the example shows what Spark tells from 4.2 on")
def test_the_example_of_the_docs(session: SparkSession, mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    session.dataSource.register(CdckitDataSource)
    own = own_options(mysql_server, shop, tmp_path / "state", table=f"{shop}.orders")
    names: dict[str, Any] = {"orders": session.readStream.format("cdckit").options(**own).load(), "f": f}
    (example,) = examples_of("What a query tells", {"s3a://lake": str(tmp_path)})
    exec(compile(example, "docs/spark-jobs.md", "exec"), names)
    assert (names["rows"], names["deletes"], names["behind"]) == (ROWS + 1, 0, 0.0)
    mysql_server.run_sql(f"DELETE FROM {shop}.orders WHERE id < 4; UPDATE {shop}.orders SET price = 0 WHERE id = 5")
    exec(compile(example, "docs/spark-jobs.md", "exec"), names)
    assert (names["rows"], names["deletes"]) == (4, 3)
    assert datetime.fromisoformat(names["newest"])
