"""Tables that Spark makes have the comments of their source's."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from delta_sink.commented import HARD, LONGEST, kept, sql
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

TABLES = f"""
CREATE TABLE t (id INT PRIMARY KEY COMMENT {sql(HARD)}, v INT COMMENT {sql(LONGEST)}, w INT COMMENT '')
    COMMENT {sql(HARD)}; INSERT INTO t VALUES (1, 1, 1);
"""
LATER = f"""
CREATE TABLE made (id INT PRIMARY KEY COMMENT {sql(HARD)}) COMMENT {sql(LONGEST)}; INSERT INTO made VALUES (1);
ALTER TABLE made ADD COLUMN v INT COMMENT {sql(HARD)}; INSERT INTO made VALUES (2, 2);
DROP TABLE t; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9) COMMENT {sql(HARD)}, x INT) COMMENT 'made anew';
INSERT INTO t VALUES (1, 'a', 1);
"""


def test_comments_come_with_tables(
    session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    """With a snapshot, while the pipeline runs, and where a table is made anew: by Spark alone."""
    mysql_server.run_sql(f"CREATE DATABASE {unique_name} CHARACTER SET utf8mb4")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    mysql_server.run_sql(TABLES, database=unique_name)
    create_reader(mysql_server)
    sink = {"type": "spark", "mode": "mirror", "path": str(tmp_path / "lake"), "small.batch.rows": 0}
    pipeline = Pipeline(tmp_path, source_of(mysql_server, unique_name), sink, {"name": "shop"})

    def told(table: str) -> dict[str, str]:
        made = DeltaTable(tmp_path / "lake" / f"p.{unique_name}.{table}")
        found: dict[str, str | None] = {"": made.metadata().description}
        found |= {field.name: field.metadata.get("comment") for field in made.schema().fields}
        properties = made.metadata().configuration
        assert (properties["cdckit.pipeline"], properties["cdckit.source"]) == ("shop", f"{unique_name}.{table}")
        return {name: text for name, text in found.items() if text}

    SparkRunner(load_pipeline(pipeline.written(), runner="spark")).run(once=True)
    assert told("t") == {"": kept(HARD), "id": kept(HARD), "v": kept(LONGEST)}
    mysql_server.run_sql(LATER, database=unique_name)
    SparkRunner(load_pipeline(pipeline.written(), runner="spark")).run(once=True)
    assert told("made") == {"": LONGEST, "id": HARD, "v": HARD}
    assert told("t") == {"": "made anew", "v": HARD}
