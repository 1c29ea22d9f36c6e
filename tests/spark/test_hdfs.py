"""Checkpoint, copies of the state and tables on HDFS, of a real name node and data node."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cdckit.engine.spark.hadoop import HadoopFolder
from spark.conftest import FAST_JVM
from spark.lake import Rows, at_source
from spark.shop import random_seed
from spark.test_hive import NEWEST
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.hdfs import HDFS
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.nightly, pytest.mark.timeout(1800)]

LONGEST_WORK = 4.0
"""How many seconds a driver lives at the most once it has begun to write."""
AGAIN = "trying again in"
TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20)); INSERT INTO t VALUES (1, 'a'), (2, 'b');"
CHANGES = (
    "INSERT INTO t VALUES (3, 'c'); UPDATE t SET v = 'd' WHERE id = 1;",
    "ALTER TABLE t ADD COLUMN w INT; INSERT INTO t VALUES (4, 'e', 4); DELETE FROM t WHERE id = 2;",
    "ALTER TABLE t DROP COLUMN v; INSERT INTO t VALUES (5, 5);",
    "TRUNCATE TABLE t; INSERT INTO t VALUES (6, 6), (7, 7);",
)


@pytest.fixture(scope="module")
def hdfs() -> Iterator[HDFS]:
    with HDFS() as server:
        yield server


class Shop:
    """A table, and what comes of it on HDFS."""

    def __init__(
        self, session: SparkSession, server: MySQLServer, hdfs: HDFS, name: str, folder: Path, mode: str
    ) -> None:
        self.session = session
        self.server = server
        self.name = name
        self.mode = mode
        self.place = f"{hdfs.url}/{name}"
        self.pipeline = Pipeline(
            folder,
            source_of(server, name, errors_retry_delay_max_ms=500, errors_max_retries=-1),
            {"type": "spark", "mode": mode, "path": f"{self.place}/lake"},
            {
                "name": "shop",
                "runner": "spark",
                "checkpoint": f"{self.place}/kept",
                "spark": {"spark.master": "local[2]", **FAST_JVM},
            },
        )
        server.run_sql(f"CREATE DATABASE {name}; USE {name}; {TABLE}")
        create_reader(server)

    def sql(self, script: str) -> None:
        self.server.run_sql(script, database=self.name)

    def deliver(self) -> str:
        """Has it deliver all that there is; gives its log."""
        ended = self.pipeline.run("--once", seconds=400)
        assert ended.code == 0, ended.stderr
        return ended.stderr

    def kill_at_work(self, chance: random.Random) -> None:
        """Kills a run at a random instant after it has begun to write there."""
        before = self._files()
        with self.pipeline.running() as process:
            process.wait_until(lambda: self._files() != before, "anything written", 240)
            time.sleep(chance.uniform(0, LONGEST_WORK))
            process.kill()

    def _files(self) -> set[str]:
        folders = [HadoopFolder(self.session, self.place)]
        for folder in folders:
            try:
                folders += [each for each in folder.iterdir() if each.is_dir()] if folder.is_dir() else []
            except FileNotFoundError:  # it went away meanwhile
                continue
        return {f"{folder}/{each.name}" for folder in folders if folder.is_dir() for each in folder.iterdir()}

    def rows(self) -> Rows:
        """What has come of the table, as the source has it."""
        table = f"delta.`{self.place}/lake/p.{self.name}.t`"
        columns = [column for column, *_ in self.server.execute(f"SHOW COLUMNS FROM {self.name}.t")]
        if self.mode == "mirror":
            found = self.session.sql(f"SELECT * FROM {table}")
        else:
            positions = self.session.sql(f"SELECT __op, __position FROM {table}").collect()
            assert len(positions) == len(set(positions))
            found = self.session.sql(NEWEST.format(table=table))
        return sorted((tuple(row) for row in found.select(*columns).collect()), key=repr)

    def assert_equal(self) -> None:
        assert self.rows() == at_source(self.server, f"{self.name}.t")


@pytest.mark.parametrize("mode", ["mirror", "changelog"])
def test_tables_equal_their_source_after_kills_and_without_the_state(
    session: SparkSession, mysql_server: MySQLServer, hdfs: HDFS, unique_name: str, tmp_path: Path, mode: str
) -> None:
    chance = random.Random(random_seed())
    shop = Shop(session, mysql_server, hdfs, unique_name, tmp_path, mode)
    for change in ("DO 0", *CHANGES[:2]):
        shop.sql(change)
        shop.kill_at_work(chance)
    shop.deliver()
    shop.assert_equal()
    for change in CHANGES[2:]:
        shutil.rmtree(shop.pipeline.state)
        shop.sql(change)
        assert f"is restored from {shop.place}/kept/shop/copies/state-" in shop.deliver()
        shop.assert_equal()


def test_a_name_node_that_is_away_is_waited_for(
    session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path
) -> None:
    """While the tables alone are there."""
    with HDFS() as own:
        shop = Shop(session, mysql_server, own, unique_name, tmp_path, "mirror")
        kept_here = {name: value for name, value in shop.pipeline.others.items() if name != "checkpoint"}
        shop.pipeline = replace(shop.pipeline, others=kept_here)
        with shop.pipeline.running() as process:
            process.wait_until(lambda: "2 delivered" in process.log, "the first rows", 240)
            own.kill()
            shop.sql(CHANGES[0])
            process.wait_until(lambda: AGAIN in process.log, "an attempt", 240)
            own.start()
            process.wait_until(lambda: "4 delivered" in process.log, "the other rows", 240)
            assert process.stop().code == 0
        shop.assert_equal()


def test_a_checkpoint_whose_name_node_is_away_ends_the_run(
    session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path
) -> None:
    """The next start goes on from there."""
    with HDFS() as own:
        shop = Shop(session, mysql_server, own, unique_name, tmp_path, "changelog")
        with shop.pipeline.running() as process:
            process.wait_until(lambda: "2 delivered" in process.log, "the first rows", 240)
            own.kill()
            shop.sql(CHANGES[0])
            ended = process.ended(240)
        assert (ended.code, own.url in ended.errors) == (7, True)
        own.start()
        shop.deliver()
        shop.assert_equal()
