"""Another `checkpoint` behind a batch that was broken off: tables that have the batch take none of it twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from cdckit.engine.runners.direct import DirectRunner
from cdckit.engine.runners.spark import SparkRunner
from cdckit.engine.spark.table_delivery import TableDelivery
from cdckit.errors import SinkError, StateError
from spark.conftest import FAST_JVM
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

DRIVER, WORKERS, SPARK = {"type": "delta"}, {"type": "spark"}, {"type": "spark", "small.batch.rows": 0}
PARQUET = {"type": "spark", "format": "parquet"}

_KILLED = """
import os, signal
from cdckit.engine.spark import query
query.show_batch = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from cdckit.cli.main import main
main()
"""
"""`cdc`, killed between Spark's note that a batch is done and the driver's in the folder of the state."""


@dataclass(frozen=True)
class Shop:
    """A database with one table, and its changelog.

    Attributes:
        session: Spark's.
        server: where it is.
        name: the database's.
        folder: the pipeline's.
        sink: the sink's options.
    """

    session: SparkSession
    server: MySQLServer
    name: str
    folder: Path
    sink: dict[str, Any]

    def insert(self, key: int) -> None:
        """Adds a row."""
        self.server.execute(f"INSERT INTO t VALUES ({key})", database=self.name)

    def pipeline(self, checkpoint: str) -> Pipeline:
        """The pipeline with a checkpoint of that name, or in the folder of its state."""
        place = {"checkpoint": str(self.folder / checkpoint)} if checkpoint else {}
        sink = {"mode": "changelog", "path": str(self.folder / "lake"), **self.sink}
        source = source_of(self.server, self.name)
        return Pipeline(self.folder, source, sink, {"runner": "spark", "name": "shop", **place})

    def run(self, checkpoint: str) -> None:
        """Delivers what there is."""
        SparkRunner(self.pipeline(checkpoint).resolved()).run(once=True)

    def break_off(self, checkpoint: str) -> None:
        """The same until the first batch is in its tables; nothing is done behind that, as where a run is killed."""
        done = TableDelivery.deliver

        def deliver(delivery: TableDelivery, frame: DataFrame, batch: int) -> int:
            done(delivery, frame, batch)
            raise SinkError("killed")

        with pytest.MonkeyPatch.context() as patch, pytest.raises(SinkError, match="killed"):
            patch.setattr(TableDelivery, "deliver", deliver)
            patch.setattr(SparkRunner, "_take_back", lambda *_: None)
            self.run(checkpoint)

    def kill(self, checkpoint: str) -> None:
        """The same in a process of its own, killed between Spark's note that the batch is done and the driver's."""
        pipeline = self.pipeline(checkpoint)
        others = {**pipeline.others, "spark": {"spark.master": "local[2]", **FAST_JVM}}
        command = [sys.executable, "-c", _KILLED, "run", str(replace(pipeline, others=others).written()), "--once"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert ended.returncode == -signal.SIGKILL, ended.stderr

    def read_again(self, checkpoint: str) -> None:
        """Asks for the table to be read again."""
        command = ["resnapshot", str(self.pipeline(checkpoint).written()), "--table", f"{self.name}.t"]
        subprocess.run([sys.executable, "-m", "cdckit", *command], check=True, capture_output=True)

    @property
    def keys(self) -> list[int]:
        """The keys of the changelog's rows."""
        return sorted(row["id"] for row in self._rows().collect())

    @property
    def changes(self) -> list[int]:
        """The same of those that a snapshot has not read."""
        return sorted(row["id"] for row in self._rows().where("__op = 'c'").collect())

    def _rows(self) -> DataFrame:
        kind = self.sink.get("format", "delta")
        return self.session.read.format(kind).load(str(self.folder / "lake" / f"p.{self.name}.t"))


@pytest.fixture
def shop(
    request: pytest.FixtureRequest, session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path
) -> Iterator[Shop]:
    """Its snapshot has the key 1."""
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.t (id INT PRIMARY KEY)")
    create_reader(mysql_server)
    shop = Shop(session, mysql_server, unique_name, tmp_path, getattr(request, "param", DRIVER))
    shop.insert(1)
    yield shop
    mysql_server.execute(f"DROP DATABASE {unique_name}")


@pytest.mark.parametrize(
    ("shop", "former", "new"),
    [
        (DRIVER, "a", "b"),
        (WORKERS, "", "b"),
        pytest.param(SPARK, "a", "", marks=pytest.mark.nightly),
        pytest.param(PARQUET, "a", "b", marks=pytest.mark.nightly),
    ],
    indirect=["shop"],
    ids=str,
)
def test_a_batch_that_was_broken_off_is_not_there_twice(shop: Shop, former: str, new: str) -> None:
    """The checkpoint moves, and what comes later goes on with it."""
    shop.run(former)
    shop.insert(2)
    shop.break_off(former)
    shop.insert(3)
    shop.run(new)
    assert shop.keys == [1, 2, 3]


def test_the_direct_runner_knows_of_a_batch_that_a_checkpoint_elsewhere_has(shop: Shop) -> None:
    shop.break_off("a")
    with pytest.raises(StateError, match="runner 'direct' cannot tell which"):
        DirectRunner(shop.pipeline("a").resolved("--runner", "direct")).run(once=True)
    shop.run("a")
    DirectRunner(shop.pipeline("a").resolved("--runner", "direct")).run(once=True)
    assert shop.keys == [1]


@pytest.mark.parametrize("new", ["a", pytest.param("b", marks=pytest.mark.nightly)])
def test_a_command_behind_a_kill_has_no_batch_come_again(shop: Shop, new: str) -> None:
    """Commands do not reach the checkpoint: it has a batch of which the folder of the state does not tell yet."""
    shop.run("a")
    shop.insert(2)
    shop.kill("a")
    shop.read_again("a")
    shop.insert(3)
    shop.run(new)
    assert shop.changes == [2, 3]
