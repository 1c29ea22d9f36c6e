"""Tables on Spark that somebody removes: they are missed, and read again where that is asked for."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable, Schema
from pyspark.sql import DataFrame, SparkSession

from cdckit import MarkKind
from cdckit.engine.state.made_tables import HISTORY
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.errors import SinkError
from cdckit.tables.groups import Mode
from cdckit.tables.made_tables import MadeTable, MadeTables
from cdckit.tables.marks import Mark
from delta_sink.removing import ONE_MORE, ROWS, missed, read_again, remove
from spark.lakes import SparkShop
from spark.test_encoder import event
from spark.test_two_writers import DRIVER, SPARK, Writers
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

BY_SPARK = {"type": "spark", "small.batch.rows": 0}
"""The driver writes none of the tables."""


@pytest.fixture
def lake(session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> Iterator[SparkShop]:
    """A database without tables, dropped after the test."""
    shop = SparkShop(mysql_server, unique_name, tmp_path)
    shop.make()
    yield shop
    mysql_server.execute(f"DROP DATABASE {unique_name}")


def assert_read_again(lake: SparkShop) -> None:
    """The table that was removed ends runs until it is read again."""
    lake.run(ONE_MORE)
    for _ in range(2):
        with pytest.raises(SinkError, match=f"is gone.*--table {lake.name}.t`") as told:
            lake.deliver()
        assert told.value.number == "CDC4407"
    read_again(lake, "t")
    lake.deliver()
    lake.run("UPDATE t SET v = 30 WHERE id = 3; DELETE FROM t WHERE id = 1")
    lake.deliver()
    lake.assert_equal(["t"])


@pytest.mark.parametrize(
    ("mode", "form", "sink"),
    [
        ("mirror", "delta", {}),
        pytest.param("mirror", "iceberg", {}, marks=pytest.mark.nightly),
        pytest.param("mirror", "delta", {"type": "spark"}, marks=pytest.mark.nightly),
        ("mirror", "delta", BY_SPARK),
        pytest.param("changelog", "delta", BY_SPARK, marks=pytest.mark.nightly),
    ],
    ids=["delta", "iceberg", "shared", "spark", "spark-changelog"],
)
def test_it_ends_the_pipeline_until_it_is_read_again(
    lake: SparkShop, mode: str, form: str, sink: dict[str, object]
) -> None:
    lake = replace(lake, mode=mode, format=form, sink=sink)
    lake.run(ROWS)
    lake.deliver()
    remove(lake, "t")
    assert_read_again(lake)


def test_both_runners_remember_the_same(lake: SparkShop) -> None:
    lake.run(ROWS)
    lake.deliver()
    lake.direct.deliver()
    with closing(SqliteStateStore(lake.pipeline().state)) as state:
        assert [entry["table"] for _, entry in state.read_history(HISTORY)] == [f"{lake.name}.t"]
    remove(lake, "t")
    lake.run(ONE_MORE)
    missed(lake.direct, "t")
    read_again(lake, "t")
    lake.direct.deliver()
    lake.run(ONE_MORE)
    lake.deliver()
    lake.assert_equal(["t"])


@pytest.mark.parametrize(
    ("mode", "small", "options"),
    [
        ("mirror", DRIVER, {}),
        pytest.param("mirror", SPARK, {}, marks=pytest.mark.nightly),
        pytest.param("changelog", DRIVER, {}, marks=pytest.mark.nightly),
        ("changelog", SPARK, {}),
        pytest.param("changelog", SPARK, {"format": "parquet"}, marks=pytest.mark.nightly),
    ],
)
def test_it_is_missed_between_two_batches(
    session: SparkSession, tmp_path: Path, mode: Mode, small: int, options: dict[str, str]
) -> None:
    """And made anew where nobody remembers it, or where it is emptied."""
    writers, kept = Writers(session, tmp_path, mode, **options), list[MadeTable]()

    def change(place: str) -> DataFrame:
        return writers.frame([("c", int(place), "n", place)])

    sink = writers.sink(small, made=MadeTables((), kept.extend))
    forgets = writers.sink(small)
    sink.write(change("1"), 1)
    assert [(one.topic, one.source, one.table) for one in kept] == [("t", "d.a", None)]
    sink.write(change("2"), 2)
    shutil.rmtree(tmp_path / "t")
    for number in (3, 4):
        with pytest.raises(SinkError, match="t: is gone") as told:
            sink.write(change("3"), number)
        assert told.value.number == "CDC4407"
    assert not (tmp_path / "t").exists()
    emptied = Mark(MarkKind.TRUNCATE, "4", "d.a", "d.a").packet("t")
    packets = writers.packets([event("c", 5, "n").replace(position="5")])
    sink.write(writers.frame_of([emptied, *packets]), 5)
    if not options:
        assert writers.content("id") == [(5,)]
    shutil.rmtree(tmp_path / "t")
    forgets.write(change("6"), 6)
    shutil.rmtree(tmp_path / "t")
    forgets.write(change("7"), 7)
    if not options:
        assert writers.content("id") == [(7,)]


@pytest.mark.parametrize(
    ("mode", "small", "versions"),
    [
        ("mirror", DRIVER, 1),
        pytest.param("changelog", DRIVER, 9, marks=pytest.mark.nightly),
        ("changelog", SPARK, 9),
        pytest.param("changelog", SPARK, 1, marks=pytest.mark.nightly),
        pytest.param("mirror", SPARK, 1, marks=pytest.mark.nightly),
    ],
)
def test_another_one_in_its_place_is_told(
    session: SparkSession, tmp_path: Path, mode: Mode, small: int, versions: int
) -> None:
    """While the same process writes, and by the next one."""
    writers, kept, place = Writers(session, tmp_path, mode), list[MadeTable](), str(tmp_path / "t")

    def change(number: int) -> DataFrame:
        return writers.frame([("c", number, "n", str(number))])

    sink = writers.sink(small, made=MadeTables((), kept.extend))
    for number in (1, 2):
        sink.write(change(number), number)
    assert [one.identity for one in kept] == [str(DeltaTable(place).metadata().id)[:18]]
    columns = Schema.from_arrow(DeltaTable(place).schema().to_arrow())
    shutil.rmtree(place)
    DeltaTable.create(place, columns)
    for number in range(1, versions):
        DeltaTable(place).alter.set_table_properties({"somebody's": str(number)}, raise_if_not_exists=False)
    for each in (sink, writers.sink(small, made=MadeTables(kept, kept.extend))):
        with pytest.raises(SinkError, match="with another one in its place") as told:
            each.write(change(3), 3)
        assert told.value.number == "CDC4407"
    assert DeltaTable(place).version() == versions - 1
    emptied = Mark(MarkKind.TRUNCATE, "4", "d.a", "d.a").packet("t")
    last = writers.sink(small, made=MadeTables(kept, kept.extend))
    last.write(writers.frame_of([emptied, *writers.packets([event("c", 5, "n").replace(position="5")])]), 5)
    assert kept[-1].identity == str(DeltaTable(place).metadata().id)[:18]
