"""Tables and columns of any name: `${…}`, dots, backticks and commas in names are read as something else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cdckit.errors import ConfigError
from cdckit_spark.config import LakeConfig
from cdckit_spark.jobs import mirror
from proof.shop import proved
from spark.shop import deliver
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(600),
    pytest.mark.unequal("the test asks for proofs itself", always=False),
]

TABLE = "`o``r.d${env:HOME}\"e'r%s`"
KEY, HOME = "`k.${env:HOME}`", "`${env:HOME}`"
COLUMNS = f"""
CREATE TABLE {TABLE} (
    {KEY} INT PRIMARY KEY, {HOME} VARCHAR(20), `a``b` INT, `c.d` INT, `"q'u` INT, `100%` INT, t TEXT, u INT, `t,u` INT
);
INSERT INTO {TABLE} VALUES (1, 'a', 1, 1, 1, 1, 'a', 1, 1), (2, 'b', 2, 2, 2, 2, 'b', 2, 2);
INSERT INTO {TABLE} VALUES (3, 'c', 3, 3, 3, 3, 'c', 3, 3);
"""
CHANGES = f"""
SET binlog_row_image = minimal;
UPDATE {TABLE} SET {HOME} = 'x' WHERE {KEY} = 1; UPDATE {TABLE} SET `a``b` = 9, u = 8 WHERE {KEY} = 1;
UPDATE {TABLE} SET {KEY} = 20, `c.d` = 7, `t,u` = 7 WHERE {KEY} = 2; DELETE FROM {TABLE} WHERE {KEY} = 3;
"""
DEFINITIONS = f"""
ALTER TABLE {TABLE} ADD COLUMN `n${{env:HOME}}` INT DEFAULT 5 COMMENT '${{env:HOME}}';
ALTER TABLE {TABLE} RENAME COLUMN `c.d` TO `e${{env:PATH}}.f`, DROP COLUMN `"q'u`, MODIFY `100%` BIGINT;
INSERT INTO {TABLE} ({KEY}, {HOME}) VALUES (4, 'd');
"""

NAMES = ["k.${env:HOME}", "${env:HOME}", "a`b", "e${env:PATH}.f", "100%", "t", "u", "t,u", "n${env:HOME}"]
"""What the columns are called in the end."""


@pytest.fixture
def database(mysql_server: MySQLServer, unique_name: str) -> Iterator[str]:
    create_reader(mysql_server)
    mysql_server.execute(f"CREATE DATABASE {unique_name} CHARACTER SET utf8mb4")
    yield unique_name
    mysql_server.execute(f"DROP DATABASE {unique_name}")


@pytest.mark.parametrize(("mode", "options"), [
    ("mirror", {"small.batch.rows": 0}),
    pytest.param("mirror", {}, marks=pytest.mark.nightly),
    pytest.param("mirror", {"small.batch.rows": 0, "cluster.by": ["a`b", "100%"]}, marks=pytest.mark.nightly),
    pytest.param("changelog", {"small.batch.rows": 0}, marks=pytest.mark.nightly),
])  # fmt: skip
def test_names_are_kept(
    mysql_server: MySQLServer, database: str, session: SparkSession, tmp_path: Path, mode: str, options: dict[str, Any]
) -> None:
    """Of a table that is made, merged, whose rows are looked up under another key, and whose columns change."""
    source = source_of(
        mysql_server, database, topic_prefix=database, skipped_operations="none", include_schema_changes=False
    )
    sink = {"type": "spark", "path": str(tmp_path / "lake"), "mode": mode, **options}
    pipeline = Pipeline(tmp_path, source, sink, {"name": database, "runner": "spark"})
    for script in (COLUMNS, CHANGES, DEFINITIONS):
        mysql_server.run_sql(script, database=database)
        deliver(pipeline)
    (table,) = (tmp_path / "lake").iterdir()
    found = session.read.format("delta").load(str(table))
    assert {*NAMES} <= {*found.columns}
    if mode == "mirror":
        assert not {*found.columns} & {"c.d", "\"q'u"}
        shown = [tuple(row[name] for name in NAMES) for row in found.collect()]
        quoted = ", ".join(f"`{name.replace('`', '``')}`" for name in NAMES)
        assert {table.outcome for table in proved(pipeline, spark="always").values()} == {"equal"}
        assert sorted(shown) == sorted(mysql_server.execute(f"SELECT {quoted} FROM {database}.{TABLE}"))


def test_names_in_a_job_of_ones_own_are_kept(session: SparkSession, tmp_path: Path) -> None:
    names = ["_op", "k.${env:HOME}", "a`b", "_position", "_ts"]
    for batch, (op, value) in enumerate([("c", "x"), ("u", "y")]):
        row = (op, 1, value, f"000{batch}", datetime(2026, 1, 1))
        rows = session.createDataFrame([row], "a string, b int, c string, d string, e timestamp").toDF(*names)
        small = {"small.batch.rows": "0"}
        mirror(rows, str(tmp_path / "t"), batch, key=names[1:2], application="a", options=small)
    found = session.read.format("delta").load(str(tmp_path / "t"))
    assert found.columns == [*names[1:3], "__position"]
    assert [tuple(row) for row in found.collect()] == [(1, "y", "0001")]


def test_a_database_that_spark_would_call_otherwise_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'database' has '\$\{'"):
        LakeConfig.load({"database": "`a${env:HOME}`"}, "sink")
