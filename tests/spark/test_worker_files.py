"""The sink `spark`: changelogs' data files that workers write, where Spark's own writer is not asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from cdckit import INT32, OPTIONAL_STRING, STRING, Record, Struct, struct_schema
from cdckit.api.schema import OPTIONAL_INT32
from cdckit.tables.encoder import TableEncoder
from cdckit.tables.lake.data_files import DataFile
from cdckit.tables.lake.gathering import GatheringTableEncoder
from cdckit.tables.sink import Packet
from cdckit_spark.config import LakeConfig
from cdckit_spark.own_session import with_settings
from cdckit_spark.sink import LakeSink
from spark.lakes import SparkShop
from spark.test_encoder import KEY, SOURCE, event
from spark.test_task_files import by_workers
from spark.test_two_writers import DRIVER, SPARK, Writers
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


class Workers(Writers):
    """A sink whose tasks are called here, with the least rows that make a file."""

    def __init__(self, session: SparkSession, lake: Path, **options: Any) -> None:
        super().__init__(session, lake, "changelog", **{"task.file.bytes": 1, **options})

    def task(self, *records: Record, small: int = DRIVER) -> list[Packet]:
        """The packets of one task."""
        encode = self.sink(small).task_encoder(beside_driver=True)
        assert isinstance(encode, GatheringTableEncoder)
        return [*encode(records), *encode.flushed(last=True)]

    def batch(self, *numbers: int) -> DataFrame:
        return self.frame_of(self.task(*(_row(number) for number in numbers)))

    @property
    def table(self) -> Path:
        return self.lake / "t"

    def on_disk(self) -> set[str]:
        """The files with rows: Spark 4.0 leaves some without."""
        return {path.name for path in self.table.glob("*.parquet") if pq.read_metadata(path).num_rows}

    def committed(self) -> set[str]:
        return {uri.rpartition("/")[2] for uri in DeltaTable(self.table).file_uris()}


def _row(number: int) -> Record:
    return event("c", number, f"n{number}")


def _files(packets: list[Packet]) -> list[DataFile]:
    return [file for packet in packets if (file := DataFile.loads(packet.data)) is not None]


@pytest.fixture
def workers(session: SparkSession, tmp_path: Path) -> Workers:
    return Workers(session, tmp_path)


def test_files_of_workers_are_committed_as_they_are(workers: Workers) -> None:
    one, other = workers.task(_row(1), _row(2)), workers.task(_row(3))
    names = {file.name for file in _files([*one, *other])}
    sink = workers.sink(1)
    assert sink.write(workers.frame_of([*one, *other]), 0) == 3
    assert len(names) == 2
    assert workers.committed() == workers.on_disk() == names
    assert workers.content("id", "name", "__op") == [(1, "n1", "c"), (2, "n2", "c"), (3, "n3", "c")]
    assert workers.by_delta_rs("id") == [(1,), (2,), (3,)]
    assert sink.write(workers.batch(4), 1) == 1
    assert by_workers(workers.table) == [True, True]


def test_a_batch_that_comes_again_to_either_writer_is_there_once(workers: Workers, nightly: bool) -> None:
    sinks = {small: workers.sink(small) for small in (SPARK, DRIVER)}
    count = 8 if nightly else 2
    for number in range(count):
        first, second = (SPARK, DRIVER) if number % 2 else (DRIVER, SPARK)
        for small in (first, second):
            made = workers.batch(number) if small == DRIVER else workers.frame_of(workers.packets([_row(number)]))
            sinks[small].write(made, number)
    assert workers.content("id") == [(number,) for number in range(count)]
    assert {"Spark", "delta-rs"} == set(workers.writers())
    assert workers.committed() == workers.on_disk()


def test_few_rows_beside_files_become_one_more(workers: Workers) -> None:
    few = Workers(workers.session, workers.lake, **{"task.file.bytes": 10_000})
    large, small = few.task(*map(_row, range(400))), [few.task(_row(500)), few.task(_row(501))]
    assert [len(_files(packets)) for packets in (large, *small)] == [1, 0, 0]
    workers.sink(1).write(few.frame_of([*large, *small[0], *small[1]]), 0)
    assert len(workers.content("id")) == 402
    assert len(workers.committed()) == 2


def test_a_table_that_asks_for_more_than_files_gets_none(workers: Workers) -> None:
    sink = workers.sink(DRIVER)
    sink.write(workers.batch(1), 0)
    workers.session.sql(
        f"ALTER TABLE delta.`{workers.table}` SET TBLPROPERTIES ('delta.dataSkippingStatsColumns' = 'name')"
    )
    assert not _files(workers.task(_row(2)))
    workers.session.sql(f"ALTER TABLE delta.`{workers.table}` UNSET TBLPROPERTIES ('delta.dataSkippingStatsColumns')")
    assert _files(workers.task(_row(2)))
    workers.session.sql(f"ALTER TABLE delta.`{workers.table}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = true)")
    assert not _files(workers.task(_row(2)))


def test_spark_reads_the_files_for_a_table_that_has_become_its_own(workers: Workers) -> None:
    """Between the reading of a batch and its commit."""
    sink = workers.sink(DRIVER)
    sink.write(workers.batch(1), 0)
    made = workers.batch(2, 3)
    workers.session.sql(f"ALTER TABLE delta.`{workers.table}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = true)")
    sink.write(made, 1)
    assert workers.writers()[-1] == "Spark"
    assert workers.content("id", "name") == [(1, "n1"), (2, "n2"), (3, "n3")]
    assert workers.committed() == workers.on_disk()  # those of the workers are gone


def test_a_batch_that_fails_leaves_no_file(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = workers.sink(DRIVER)
    sink.write(workers.batch(1), 0)
    made, before = workers.batch(2), workers.committed()
    assert workers.on_disk() > before

    def broken(*_: Any) -> None:
        raise RuntimeError("the driver is broken")

    monkeypatch.setattr(LakeSink, "_write_table", broken)
    with pytest.raises(RuntimeError, match="is broken"):
        sink.write(made, 1)
    assert workers.on_disk() == before


_BLANK = struct_schema("Value", {"id": INT32, "first name": OPTIONAL_STRING}, optional=True)
_NUMBER = struct_schema("Value", {"id": INT32, "name": OPTIONAL_STRING, "number": OPTIONAL_INT32}, optional=True)


def _of(shape: Any, number: int, *more: Any) -> Record:
    envelope = struct_schema("Envelope", {"before": shape, "after": shape, "source": SOURCE, "op": STRING})
    value = Struct(envelope, (None, Struct(shape, (number, *more)), Struct(SOURCE, (1, "d", "a", 0)), "c"))
    return Record("t", Struct(KEY, (number,)), value, position=f"{number:03d}")


def test_columns_that_are_added_in_mid_batch(workers: Workers) -> None:
    packets = workers.task(_row(1), _of(_NUMBER, 2, "n2", 7))
    assert len(_files(packets)) == 2
    workers.sink(DRIVER).write(workers.frame_of(packets), 0)
    assert workers.content("id", "name", "number") == [(1, "n1", None), (2, "n2", 7)]
    assert by_workers(workers.table) == [True]


def test_names_for_which_delta_maps_columns(workers: Workers) -> None:
    """Workers write no files with these; a table of which they have written some before is made all the same."""
    assert not _files(workers.task(_of(_BLANK, 1, "n1")))
    packets = workers.task(_row(1), _of(_BLANK, 2, "n2"))
    assert len(_files(packets)) == 1
    workers.sink(DRIVER).write(workers.frame_of(packets), 0)
    assert workers.content("id", "name", "first name") == [(1, "n1", None), (2, None, "n2")]


@pytest.mark.parametrize(
    ("options", "beside", "gathers"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"mode": "mirror"}, True, False),
        ({"format": "parquet"}, True, False),
        ({"path": None, "database": "shop"}, True, False),
        ({"document.columns": "inferred"}, True, False),
        ({"small.batch.rows": 0}, True, False),
        ({"task.file.bytes": 0}, True, False),
    ],
)
def test_who_writes(tmp_path: Path, options: dict[str, Any], beside: bool, gathers: bool) -> None:
    given = {name: text for name, text in {"path": str(tmp_path), **options}.items() if text is not None}
    sink = LakeSink(LakeConfig.load(given, "sink")[0])
    assert isinstance(sink.task_encoder(beside_driver=beside), GatheringTableEncoder) is gathers
    assert isinstance(sink.encoder(), TableEncoder)


def test_a_new_table_with_properties_is_made_by_spark_before_it_has_files(workers: Workers) -> None:
    asking = Workers(workers.session, workers.lake, **{"table.delta.logRetentionDuration": "interval 10 days"})
    assert not _files(asking.task(_row(1)))
    asking.sink(DRIVER).write(asking.batch(1), 0)
    assert _files(asking.task(_row(2)))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"cluster.by": "id"}, marks=pytest.mark.nightly),
        pytest.param({"table.delta.logRetentionDuration": "interval 10 days"}, marks=pytest.mark.nightly),
        {"small.batch.rows": 0},
    ],
)
def test_a_file_of_a_batch_that_was_killed_stands_in_nobodys_way(workers: Workers, options: dict[str, Any]) -> None:
    """The first batch of a new table, before the table has a log; the next run has other options."""
    assert _files(workers.task(_row(1)))
    assert workers.on_disk()
    other = Workers(workers.session, workers.lake, **options)
    other.sink(options.get("small.batch.rows", DRIVER)).write(other.frame_of(other.packets([_row(1)])), 0)
    assert workers.content("id", "name") == [(1, "n1")]


@pytest.mark.parametrize("name", ["spark.sql.parquet.compression.codec", "spark.hadoop.parquet.block.size"])
def test_settings_that_say_how_spark_makes_files_are_kept_to(workers: Workers, name: str) -> None:
    assert workers.sink(DRIVER).shares_folders
    workers.session = with_settings(workers.session, {name: "zstd"})
    assert not workers.sink(DRIVER).shares_folders


@pytest.fixture
def shop(session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> Iterator[SparkShop]:
    """A database whose changelogs the sink `spark` keeps, dropped after the test."""
    sink = {"type": "spark", "task.file.bytes": 1}
    shop = SparkShop(mysql_server, unique_name, tmp_path, mode="changelog", sink=sink)
    shop.make("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 2)")
    yield shop
    mysql_server.execute(f"DROP DATABASE {unique_name}")


def test_a_pipeline_whose_workers_write(shop: SparkShop) -> None:
    """A snapshot, changes, a column that is added between them, and a table that is emptied."""
    shop.deliver()
    shop.run("UPDATE t SET v = v + 1; ALTER TABLE t ADD COLUMN w VARCHAR(9); INSERT INTO t VALUES (3, 3, 'c')")
    shop.deliver()
    shop.assert_equal(["t"])
    shop.run("TRUNCATE TABLE t; INSERT INTO t VALUES (4, 4, 'd')")
    shop.deliver()
    shop.assert_equal(["t"])
    assert by_workers(shop.table("t")) == [True] * 3
