"""How Spark makes Delta tables: clustered, with properties; and what a table that is there gets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from cdckit import MarkKind
from cdckit.errors import ConfigError
from cdckit.tables.marks import Mark
from cdckit.tables.target import BatchId
from cdckit_spark.config import LakeConfig
from cdckit_spark.targets import DeltaTarget
from spark.test_two_writers import DRIVER, Writers

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

RETENTION, LOG = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"
OPTIONS = {"cluster.by": ["name", "nowhere"], f"table.{RETENTION}": "interval 3 days"}


def detail(session: SparkSession, place: Path) -> Row:
    [found] = session.sql(f"DESCRIBE DETAIL delta.`{place}`").collect()
    return found


def kept(session: SparkSession, place: Path) -> tuple[list[str], str | None, str | None]:
    """The columns that a table is clustered by, and two of its properties."""
    found = detail(session, place)
    return found.clusteringColumns, found.properties.get(RETENTION), found.properties.get(LOG)


@pytest.mark.parametrize("mode", ["changelog", pytest.param("mirror", marks=pytest.mark.nightly)])
def test_a_clustered_table_is_sparks(session: SparkSession, tmp_path: Path, mode: Any) -> None:
    """A mirror whose rows are all replaced is clustered as before."""
    writers = Writers(session, tmp_path, mode, **OPTIONS)
    sink = writers.sink(DRIVER, marks=mode == "mirror")
    sink.write(writers.frame([("c", 1, "a", "0001"), ("c", 2, "b", "0002")]), 0)
    sink.write(writers.frame([("u", 1, "c", "0003"), ("d", 2, "b", "0004")]), 1)
    assert set(writers.writers()) == {"Spark"}
    assert kept(session, tmp_path / "t") == (["name"], "interval 3 days", None)
    if mode == "mirror":
        emptied = Mark(MarkKind.TRUNCATE, "0005", "d.a", "d.a").packet("t")
        sink.write(writers.frame_of([emptied]), 2)
        sink.write(writers.frame([("c", 3, "d", "0006")]), 3)
        assert writers.content("id", "name") == [(3, "d")]
        assert kept(session, tmp_path / "t")[0] == ["name"]
    session.sql(f"OPTIMIZE delta.`{tmp_path / 't'}`")


def test_properties_leave_small_batches_to_the_driver(session: SparkSession, tmp_path: Path) -> None:
    """A later start adds what the table lacks, and leaves what it has."""
    writers = Writers(session, tmp_path, "mirror", **{f"table.{RETENTION}": "interval 3 days"})
    writers.sink(DRIVER).write(writers.frame([("c", 1, "a", "0001")]), 0)
    later = Writers(
        session, tmp_path, "mirror", **{f"table.{RETENTION}": "interval 4 days", f"table.{LOG}": "interval 9 days"}
    )
    sink = later.sink(DRIVER)
    for number in (1, 2):
        sink.write(later.frame([("u", 1, "b", f"000{number + 1}")]), number)
    assert later.content("id", "name") == [(1, "b")]
    assert kept(session, tmp_path / "t") == ([], "interval 3 days", "interval 9 days")
    assert writers.writers() == ["Spark", "delta-rs", "Spark", "delta-rs", "delta-rs"]


def test_a_table_follows_its_columns(session: SparkSession, tmp_path: Path) -> None:
    """It is not clustered by one that is dropped; what it is clustered by stays where all rows are replaced."""
    config, _ = LakeConfig.load({"path": str(tmp_path), "cluster.by": "a, the b, c"}, "sink")
    target = DeltaTarget(session, config, "t")
    target.create(
        {"id": "int", "a": "int", "the b": "string", "c": "binary"}, {}, {"": "x ${env:HOME}", "a": "${env:HOME}"}
    )
    target.note({"older": '{"a": "${env:HOME}"}'})
    assert target.notes()["older"] == '{"a": "${env:HOME}"}'
    found = detail(session, tmp_path / "t")
    assert (found.clusteringColumns, found.description) == (["a", "`the b`"], "x ${env:HOME}")
    target.rename_column("the b", "b")
    target.drop_column("a")
    assert detail(session, tmp_path / "t").clusteringColumns == ["b"]
    target.replace(session.sql("SELECT 1 AS id, 2 AS a, 'x' AS e"), BatchId("p/g", 0), columns=True)
    assert detail(session, tmp_path / "t").clusteringColumns == ["a"]
    plain = DeltaTarget(session, LakeConfig(path=str(tmp_path)), "t")
    session.sql(f"ALTER TABLE delta.`{tmp_path / 't'}` CLUSTER BY (e)")
    plain.replace(session.sql("SELECT 2 AS id, 3 AS a, 'y' AS e"), BatchId("p/g", 1))
    assert detail(session, tmp_path / "t").clusteringColumns == ["e"]
    plain.drop_column("e")
    assert detail(session, tmp_path / "t").clusteringColumns == []
    assert [tuple(row) for row in session.read.format("delta").load(str(tmp_path / "t")).collect()] == [(2, 3)]


def test_what_delta_tells_of_a_table_is_no_job(session: SparkSession, tmp_path: Path) -> None:
    """Of a version that was looked at before."""
    config, _ = LakeConfig.load({"path": str(tmp_path), "cluster.by": "id"}, "sink")
    target = DeltaTarget(session, config, "t")
    target.create({"id": "int"}, {"older": "x"})
    target.append(session.range(2).selectExpr("cast(id as int) as id"), BatchId("p/g", 0))
    assert not target.skips_files
    scheduler = session.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.numTotalJobs()
    assert target.notes()["older"] == "x"
    assert target._clustered() == (["id"], [])
    assert scheduler.numTotalJobs() == before


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"path": "/lake", "format": "parquet", "cluster.by": "id"}, "need 'format: delta'"),
        ({"path": "/lake", "format": "parquet", "table.delta.appendOnly": "true"}, "need 'format: delta'"),
        ({"path": "/lake", "cluster.by": "a,b,c,d,e"}, "by 4 columns at the most"),
        ({"database": "a.b.c"}, "'database' is DATABASE or CATALOG.DATABASE"),
        ({"database": "a..c"}, "'database' is DATABASE or CATALOG.DATABASE"),
    ],
)
def test_what_no_table_has_is_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        LakeConfig.load(given, "sink")


@pytest.mark.parametrize(
    ("database", "parts"), [("a", ["a"]), ("a.b", ["a", "b"]), ("`a.b``c`.d-e", ["a.b`c", "d-e"]), ("`a", [])]
)
def test_the_names_in_a_database(database: str, parts: list[str]) -> None:
    assert LakeConfig.model_construct(database=database).database_parts == parts


def test_the_tails_tables_have_the_same_properties() -> None:
    given = {"path": "/lake", "table.delta.appendOnly": "true", "tables.parallel": 2}
    config, _ = LakeConfig.load(given, "sink")
    assert config.tail_sink() == {
        "type": "delta", "path": "/lake", "tables.parallel": 2, "table": {"delta.appendOnly": "true"}
    }  # fmt: skip
    clustered, _ = LakeConfig.load({**given, "cluster.by": "id"}, "sink")
    with pytest.raises(ConfigError, match=r"tables with 'sink\.cluster\.by'"):
        clustered.tail_sink()
