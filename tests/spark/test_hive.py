"""Delta tables in a metastore of Hive, which Spark keeps: other programs find them there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
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

TABLE = """
CREATE TABLE t (id INT PRIMARY KEY COMMENT 'the key', v VARCHAR(20), w INT);
INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2);
"""
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
