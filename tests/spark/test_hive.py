"""Delta tables in a metastore of Hive, which Spark keeps: other programs find them there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hive_metastore.ttypes import Database
from pyiceberg.catalog.hive import HiveCatalog

from cdckit.engine.spark.delta import delta_settings
from spark.conftest import FAST_JVM
from spark.lake import at_source
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.hive import HiveMetastore
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.nightly, pytest.mark.timeout(1800)]

AGAIN = "trying again in"
TABLE = """
CREATE TABLE t (id INT PRIMARY KEY COMMENT 'the key', v VARCHAR(20), w INT);
INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2);
"""
CHANGES = (
    "UPDATE t SET v = 'c' WHERE id = 1; DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (3, 'd', 3);",
    """
    ALTER TABLE t ADD COLUMN x INT; INSERT INTO t VALUES (4, 'e', 4, 4);
    ALTER TABLE t DROP COLUMN v; INSERT INTO t VALUES (5, 5, 5);
    """,
    "ALTER TABLE t RENAME COLUMN x TO y; ALTER TABLE t MODIFY w BIGINT; UPDATE t SET w = 5000000000 WHERE id = 5;",
    "TRUNCATE TABLE t; INSERT INTO t VALUES (9, 9, 9);",
)
NEWEST = """
SELECT newest.* FROM (
    SELECT max_by(struct(c.*), c.__position) AS newest
    FROM {table} c CROSS JOIN (SELECT max(__position) AS place FROM {table} WHERE __op = 't') e
    WHERE e.place IS NULL OR c.__position > e.place GROUP BY c.id
) WHERE NOT newest.__deleted
"""
READER = """
import json, sys
from pyspark.sql import SparkSession
settings, query = json.loads(sys.argv[1]), sys.argv[2]
session = SparkSession.builder.config(map=settings).enableHiveSupport().getOrCreate()
print(json.dumps([row.asDict() for row in session.sql(query).collect()]))
"""
"""Somebody else's Spark, which knows nothing but the metastore."""


@pytest.fixture(scope="module")
def metastore() -> Iterator[HiveMetastore]:
    with HiveMetastore() as server:
        yield server


@dataclass(frozen=True)
class Shop:
    """A database, and a table of it in a database of the metastore's."""

    server: MySQLServer
    metastore: HiveMetastore
    name: str
    folder: Path
    mode: str
    database: str

    def run(self, script: str) -> None:
        self.server.run_sql(script, database=self.name)

    @property
    def settings(self) -> dict[str, str]:
        """What a user gives Spark."""
        return {
            "spark.master": "local[2]",
            **FAST_JVM,
            "spark.sql.catalogImplementation": "hive",
            "spark.hadoop.hive.metastore.uris": self.metastore.uri,
        }

    def pipeline(self) -> Pipeline:
        source = source_of(self.server, self.name, errors_retry_delay_max_ms=500, errors_max_retries=-1)
        sink = {"type": "spark", "mode": self.mode, "database": self.database}
        return Pipeline(self.folder, source, sink, {"runner": "spark", "spark": self.settings})

    def deliver(self) -> None:
        ended = self.pipeline().run("--once", seconds=400)
        assert ended.code == 0, ended.stderr

    def make_database(self) -> None:
        with self.client as client:
            client.create_database(Database(name=self.name, locationUri=f"file:{self.folder}/lake", parameters={}))

    @property
    def client(self) -> Any:
        """The metastore's own."""
        return HiveCatalog("any", uri=self.metastore.uri)._client

    @property
    def table(self) -> str:
        return f"{self.name}.p_{self.name}_t"

    def assert_equal(self) -> None:
        """Somebody else's Spark finds the rows of the source."""
        settings = {**self.settings, **delta_settings({}), "spark.driver.host": "127.0.0.1"}
        query = f"SELECT * FROM {self.table}" if self.mode == "mirror" else NEWEST.format(table=self.table)
        words = [sys.executable, "-c", READER, json.dumps(settings), query]
        read = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False)
        assert read.returncode == 0, read.stderr
        columns = [column for column, *_ in self.server.execute(f"SHOW COLUMNS FROM {self.name}.t")]
        found = [tuple(row[name] for name in columns) for row in json.loads(read.stdout)]
        assert sorted(found, key=repr) == at_source(self.server, f"{self.name}.t")


@pytest.fixture
def shop(mysql_server: MySQLServer, metastore: HiveMetastore, unique_name: str, tmp_path: Path) -> Iterator[Shop]:
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}")
    create_reader(mysql_server)
    made = Shop(mysql_server, metastore, unique_name, tmp_path, "mirror", unique_name)
    made.run(TABLE)
    yield made
    mysql_server.run_sql(f"DROP DATABASE {unique_name}")


@pytest.mark.parametrize(("mode", "above"), [("mirror", ""), ("changelog", "spark_catalog.")])
def test_tables_follow_their_source_and_others_find_them(shop: Shop, mode: str, above: str) -> None:
    """By their name, and by that of the catalog, too; a start finds again what the one before has made."""
    shop = replace(shop, mode=mode, database=f"{above}{shop.name}")
    shop.make_database()
    shop.deliver()
    for change in CHANGES:
        shop.run(change)
        shop.deliver()
        if change in CHANGES[1::2]:
            shop.assert_equal()
    if mode == "mirror":
        _assert_told(shop)


def _assert_told(shop: Shop) -> None:
    """Any client of the metastore finds the table, its newest columns and whose it is."""
    with shop.client as client:
        table = client.get_table(*shop.table.split("."))
    assert table.sd.location == f"file:{shop.folder}/lake/p_{shop.name}_t"
    assert table.parameters["spark.sql.sources.provider"] == "delta"
    assert table.parameters["cdckit.topic"] == f"p.{shop.name}.t"
    columns = {column.name: (column.type, column.comment) for column in table.sd.cols}
    assert (columns["id"], columns["w"], columns["y"]) == (("int", "the key"), ("bigint", None), ("int", None))
    assert "v" not in columns


def test_a_metastore_that_is_away_is_waited_for(shop: Shop) -> None:
    """When a pipeline starts, while it makes a table, and while it runs."""
    with HiveMetastore() as own:
        shop = replace(shop, metastore=own)
        shop.make_database()
        own.stop()
        with shop.pipeline().running() as process:
            process.wait_until(lambda: AGAIN in process.log, "an attempt", 300)
            own.start()
            process.wait_until(lambda: "2 delivered" in process.log, "the first rows", 300)
            own.kill()
            told = process.log.count(AGAIN)
            shop.run(CHANGES[1])
            process.wait_until(lambda: process.log.count(AGAIN) > told, "another attempt", 300)
            own.start()
            process.wait_until(lambda: "4 delivered" in process.log, "the other rows", 300)
            assert process.stop().code == 0
        shop.assert_equal()


def test_a_table_that_only_its_folder_knows_is_made_anew(shop: Shop) -> None:
    """As a kill leaves it between Delta's commit and the catalog's: Delta makes none in a folder that is not empty."""
    shop.make_database()
    shop.deliver()
    folder = shop.folder / "lake" / f"p_{shop.name}_t"
    with shop.client as client:
        client.drop_table(*shop.table.split("."), False)
    for path in [*folder.rglob("*")]:
        if path.is_file() and path.name.lstrip(".").split(".")[0] != f"{0:020}":
            path.unlink()
    shutil.rmtree(shop.pipeline().state)
    shop.deliver()
    shop.assert_equal()


def test_a_database_that_is_not_there_is_told_before_anything_is_read(shop: Shop) -> None:
    ended = shop.pipeline().run("--once", seconds=400)
    assert ended.code == 2
    assert f"sink.database: there is no database '{shop.name}': make it, by `CREATE DATABASE" in ended.errors
    assert "snapshot" not in ended.stderr
