"""The sinks `iceberg` and `delta` on Spark: workers read, the driver writes, and tables are as the direct runner's."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import CdcError, RetriableSinkError
from cdckit.tables.context import TableContext
from cdckit.tables.lake.on_spark import LakeOnSpark
from cdckit.tables.lake.table import LakeTable
from cdckit.tables.packets import FIRST_BYTES, PACKET_SCHEMA, table_packets
from cdckit_iceberg.config import IcebergConfig
from cdckit_iceberg.sink import IcebergOnSpark
from delta_sink import versions
from delta_sink.shop import Shop
from delta_sink.test_tables import DEFINITIONS, ROWS, TABLES, logged
from delta_sink.versions import assert_whole
from iceberg_sink.test_evolution import target_in
from spark.hands import OPTIONS, await_spark, await_tail
from spark.lakes import SparkShop
from spark.shop import random_seed
from spark.test_encoder import event
from testkit.journal import Journal
from testkit.servers.mysql import MySQLServer
from testkit.writers import TABLES as WRITTEN, BulkWriter, ShopWriter

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

LONGEST_WORK = 3.0
"""How many seconds a driver lives at the most once it has begun to write."""
FORMATS = pytest.mark.parametrize("lake", ["iceberg", "delta"], indirect=True)


@pytest.fixture
def lake(
    session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[SparkShop]:
    """A database without tables, dropped after the test."""
    shop = SparkShop(mysql_server, unique_name, tmp_path, format=request.param)
    shop.make()
    yield shop
    mysql_server.execute(f"DROP DATABASE {unique_name}")


@FORMATS
def test_a_mirror_equals_its_source(lake: SparkShop) -> None:
    lake.run(TABLES)
    lake.deliver()
    lake.assert_equal(["a", "pairs", "free"])
    lake.run(ROWS)
    lake.deliver()
    lake.assert_equal(["a", "pairs", "free"])
    lake.run(DEFINITIONS)
    lake.deliver()
    lake.assert_equal(["a", "pairs", "free", "later"])


@FORMATS
def test_a_changelog_has_each_change_once(lake: SparkShop) -> None:
    log = replace(lake, mode="changelog")
    logged(log, lambda: log.lake.found("a"))


@pytest.mark.parametrize("lake", [pytest.param("iceberg", marks=pytest.mark.nightly), "delta"], indirect=True)
def test_a_history_tells_the_rows_of_each_time(lake: SparkShop) -> None:
    versions.past_is_kept(replace(lake, mode="history"), random_seed())


@pytest.mark.parametrize("lake", ["iceberg"], indirect=True)
def test_tables_change_hands_between_the_runners(lake: SparkShop) -> None:
    """Each change is there once, whoever has written it."""
    log = replace(lake, mode="changelog")
    log.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 2)")
    for number in range(3, 7):
        log.run(f"INSERT INTO t VALUES ({number}, {number}); UPDATE t SET v = v + 1")
        (log if number % 2 else log.direct).deliver()
    log.assert_equal(["t"])


@pytest.mark.parametrize("lake", ["delta"], indirect=True)
def test_the_direct_runner_goes_on_where_spark_was_stopped(lake: SparkShop) -> None:
    """Though Spark plans the next batch as soon as the one in hand is done."""
    log = replace(lake, mode="changelog")
    log.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    log.deliver()
    for first in range(0, 3000, 1000):
        log.run("".join(f"INSERT INTO t VALUES ({first + number}, 0);" for number in range(500)))
        runner = SparkRunner(replace(load_pipeline(log.pipeline().written()), batch_max_bytes=4096))
        stop = threading.Thread(target=_stop_behind_a_batch, args=(runner,))
        stop.start()
        runner.run()
        stop.join()
        log.direct.deliver()
    log.assert_equal(["t"])


def _stop_behind_a_batch(runner: SparkRunner) -> None:
    while not runner.figures.commits and not runner.stopping.wait(0.02):
        pass
    runner.stopping.stop()


@pytest.mark.parametrize("lake", ["delta"], indirect=True)
@pytest.mark.parametrize("direct_first", [True, False])
def test_a_batch_that_one_runner_has_begun_is_not_the_others(lake: SparkShop, direct_first: bool) -> None:
    """A table stops it that takes no new column, where another one may have its changes."""
    log = replace(lake, mode="changelog")
    log.run("CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b (id INT PRIMARY KEY); INSERT INTO b VALUES (1)")
    log.deliver()
    log.run("INSERT INTO a VALUES (2), (3); ALTER TABLE b ADD v INT; INSERT INTO b VALUES (2, 2)")
    first, second = (log.direct, log) if direct_first else (log, log.direct)
    assert "schema.evolution" in _why_stopped(first, {"schema.evolution": "exception"})
    assert "was broken off in the middle of a batch" in _why_stopped(second, {})
    first.deliver()
    log.run("INSERT INTO a VALUES (4)")
    second.deliver()
    assert sorted(row["id"] for row in log.lake.found("a")) == [2, 3, 4]
    log.assert_equal(["a", "b"])


@pytest.mark.parametrize("lake", ["iceberg"], indirect=True)
def test_a_branch_is_written_on_spark(lake: SparkShop) -> None:
    audited = replace(lake, sink={"branch": "audit"})
    audited.run("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2)")
    audited.deliver()
    assert audited.lake.found("t") == []


@FORMATS
@pytest.mark.nightly
@pytest.mark.real_python
@pytest.mark.parametrize("mode", ["changelog", "mirror", "history"])
def test_tables_equal_the_source_after_kills(lake: SparkShop, mode: str) -> None:
    shop, seed = replace(lake, mode=mode), random_seed()
    chance, journal = Random(seed), Journal()
    shop.run(WRITTEN)
    with (
        ShopWriter(shop.server, shop.name, journal, seed, accounts=3000, pause=0.05),
        BulkWriter(shop.server, shop.name, journal, seed, rows=500),
    ):
        for _ in range(2):
            kill_at_work(shop, chance)
    shop.deliver()
    shop.assert_equal(["accounts", "parts", "bulk"])
    if mode == "history":
        assert_whole(shop)


@pytest.mark.nightly
@pytest.mark.real_python
@FORMATS
def test_a_direct_process_has_the_tail_by_the_same_sink(lake: SparkShop) -> None:
    log, seed = replace(lake, mode="changelog"), random_seed()
    log.run(WRITTEN)
    pipeline = log.pipeline()
    tailed = replace(pipeline, others={**pipeline.others, **OPTIONS})
    with tailed.running() as process:
        with ShopWriter(log.server, log.name, Journal(), seed, accounts=3000, pause=0.02):
            await_spark(process)
        await_tail(process)
        process.stop()
    log.deliver()
    log.assert_equal(["accounts", "parts", "bulk"])


def _why_stopped(shop: Shop, sink: dict[str, Any]) -> str:
    """What ends it: an error of the session's, or what its process says."""
    with pytest.raises((CdcError, AssertionError)) as stopped:
        shop.deliver(sink)
    return str(stopped.value)


def kill_at_work(shop: SparkShop, chance: Random) -> None:
    """Kills a driver at a random instant after it has begun to write to the lake."""
    place = shop.folder / "lake"
    before = set(place.rglob("*"))
    with shop.pipeline().running() as process:
        process.wait_until(lambda: bool(set(place.rglob("*")) - before), "anything written", 240)
        time.sleep(chance.uniform(0, LONGEST_WORK))
        process.kill()


class Written:
    """A sink over one table, made anew where its process would be; the batches that it is given."""

    def __init__(self, session: SparkSession, folder: Path, mode: str) -> None:
        self.session, self.folder, self.mode = session, folder, mode
        self.before = 0
        self.pauses: list[RetriableSinkError] = []
        self.sink = self.made()

    def made(self) -> LakeOnSpark:
        place = {"catalog.type": "sql", "catalog.uri": f"sqlite:///{self.folder}/catalog.db"}
        config, _ = IcebergConfig.load({**place, "warehouse": str(self.folder / "lake"), "mode": self.mode}, "sink")
        sink = IcebergOnSpark(config)
        sink.open(self.session, TableContext("p", "g", pause=self.pauses.append))
        return sink

    def frame(self, *numbers: int) -> DataFrame:
        encode = self.sink.encoder()
        packets = [
            packet
            for number in numbers
            for packet in encode([event("c", number, f"n{number}").replace(position=f"p{number:04}")])
        ]
        batch = table_packets(packets, self.before)
        return self.session.createDataFrame(pa.Table.from_batches([batch]).to_pandas(), PACKET_SCHEMA)

    def rows(self) -> list[int]:
        return sorted(target_in(self.folder).table.refresh().scan().to_arrow().column("id").to_pylist())


@pytest.mark.parametrize("fetched", ["at once", "together", "parted"])
def test_a_batch_that_comes_again_is_there_once(
    session: SparkSession, tmp_path: Path, fetched: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Written(session, tmp_path, "changelog")
    if fetched != "at once":
        written.before = FIRST_BYTES - 1000  # some packets are the first ones, and some are not
    if fetched == "parted":
        monkeypatch.setattr("cdckit.tables.lake.on_spark._TOGETHER", 0)
        monkeypatch.setattr("cdckit.tables.lake.sink.FULL_BYTES", 1)
    assert written.sink.write(written.frame(1, 2, 3), 0) == 3
    assert written.sink.write(written.frame(1, 2, 3), 0) == 3
    written.sink = written.made()
    assert written.sink.write(written.frame(1, 2, 3), 0) == 3
    assert written.sink.write(written.frame(4), 1) == 1
    assert written.rows() == [1, 2, 3, 4]


def test_a_catalog_that_is_away_is_waited_for(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Written(session, tmp_path, "mirror")
    written.sink.write(written.frame(1), 0)
    write = LakeTable.write

    def away(self: LakeTable, *given: Any, **more: Any) -> None:
        if not written.pauses:
            raise OSError("Connection refused")
        write(self, *given, **more)

    monkeypatch.setattr(LakeTable, "write", away)
    written.sink.write(written.frame(2), 1)
    assert len(written.pauses) == 1
    assert written.rows() == [1, 2]
