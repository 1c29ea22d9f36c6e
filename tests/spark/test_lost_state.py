"""A state folder that is lost, as a job's pod loses it, while Spark's checkpoint is kept."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import SinkError, SourceError, StateError
from cdckit_spark.sink import LakeSink
from spark.conftest import FAST_JVM
from spark.lake import at_source, mirrored
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer
from testkit.servers.object_store import ObjectStore
from testkit.servers.s3a import by_s3a

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20)); INSERT INTO t VALUES (1, 'a'), (2, 'b');"
CHANGED = """
INSERT INTO t VALUES (3, 'old');
ALTER TABLE t ADD COLUMN w INT;
INSERT INTO t VALUES (4, 'new', 4); DELETE FROM t WHERE id = 1;
"""


class Shop:
    """A database, and a mirror of its table."""

    def __init__(self, server: MySQLServer, database: str, folder: Path, others: dict[str, Any]) -> None:
        self.server = server
        self.database = database
        self.folder = folder
        self.lake = folder / "lake"
        self.topic = f"p.{database}.t"
        self.others = {"name": "shop", "runner": "spark", **others}

    def sql(self, script: str) -> None:
        self.server.run_sql(f"USE {self.database}; {script}")

    def pipeline(self, mode: str = "initial") -> Pipeline:
        source = source_of(self.server, self.database, snapshot_mode=mode)
        sink = {"type": "spark", "mode": "mirror", "path": str(self.lake)}
        return Pipeline(self.folder, source, sink, self.others)

    def run(self, mode: str = "initial") -> None:
        SparkRunner(load_pipeline(self.pipeline(mode).written())).run(once=True)

    def leave_planned(self) -> None:
        """Runs until a batch is planned that cannot be written yet."""

        def fail(_sink: LakeSink, _packets: DataFrame, _batch: int) -> int:
            raise SinkError("not yet")

        with pytest.MonkeyPatch.context() as patch, pytest.raises(SinkError, match="not yet"):
            patch.setattr(LakeSink, "write", fail)
            self.run()

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return at_source(self.server, f"{self.database}.t")


def shop_of(server: MySQLServer, database: str, folder: Path, **others: Any) -> Shop:
    server.run_sql(f"CREATE DATABASE {database}; USE {database}; {TABLE}")
    create_reader(server)
    return Shop(server, database, folder, others)


def test_without_copies_it_is_said_how_to_go_on(
    session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path
) -> None:
    shop = shop_of(mysql_server, unique_name, tmp_path)
    shop.run()
    [first] = (shop.pipeline().state / "spark").iterdir()
    for path in shop.pipeline().state.glob("state.db*"):
        path.unlink()
    shop.sql("UPDATE t SET v = 'c' WHERE id = 2; DELETE FROM t WHERE id = 1")
    with pytest.raises(StateError, match=r"source\.snapshot\.mode=recovery"):
        shop.run()
    shop.run("recovery")
    assert mirrored(session, shop.lake, shop.topic) == shop.rows
    assert [path.name for path in (shop.pipeline().state / "spark").iterdir()] == [first.name]


@pytest.mark.nightly
def test_a_history_that_cannot_be_made_anew_is_refused(
    session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path
) -> None:
    shop = shop_of(mysql_server, unique_name, tmp_path)
    shop.run()
    for path in shop.pipeline().state.glob("state.db*"):
        path.unlink()
    shop.sql(CHANGED)
    with pytest.raises(SourceError, match="definitions have changed since"):
        shop.run("recovery")


def test_the_state_is_restored_from_its_copy(
    session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path
) -> None:
    shop = shop_of(mysql_server, unique_name, tmp_path, checkpoint=(tmp_path / "kept").as_uri())
    shop.run()
    assert shop.pipeline().offset() is not None
    shop.sql(CHANGED)
    shop.leave_planned()
    shutil.rmtree(shop.pipeline().state)
    shop.run()
    assert mirrored(session, shop.lake, shop.topic) == shop.rows
    shutil.rmtree(shop.pipeline().state)
    shop.sql("ALTER TABLE t ADD COLUMN x INT; UPDATE t SET x = 5 WHERE id = 3")
    shop.run()
    assert mirrored(session, shop.lake, shop.topic) == shop.rows
    assert len(list((tmp_path / "kept" / "shop" / "copies").glob("state-*"))) <= 2


@pytest.mark.nightly
def test_checkpoint_and_copies_in_an_object_store(
    session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path
) -> None:
    with ObjectStore() as store:
        store.make_bucket("lake")
        settings = {"master": "local[2]", **FAST_JVM, **by_s3a(store, "secret")}
        shop = shop_of(mysql_server, unique_name, tmp_path, checkpoint="s3a://lake/kept", spark=settings)
        for change in ("", CHANGED, "UPDATE t SET w = 7 WHERE id = 2"):
            shop.sql(f"DO 0; {change}")
            ended = shop.pipeline().run("--once", seconds=400)
            assert ended.code == 0, ended.stderr
            assert mirrored(session, shop.lake, shop.topic) == shop.rows
            shutil.rmtree(shop.pipeline().state)
        assert "is restored from s3a://lake/kept/shop/copies/state-" in ended.stderr
