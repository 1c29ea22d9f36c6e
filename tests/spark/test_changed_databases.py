"""What somebody else does to the tables of a database that the driver writes, and what else has their names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cdckit import MarkKind
from cdckit.errors import SinkError
from cdckit.tables.marks import Mark
from cdckit_spark.catalogs import is_sparks_own
from cdckit_spark.config import LakeConfig
from spark.test_catalogs import _sink as sink_of, content, shared, shared_place
from spark.test_two_writers import DRIVER, Writers

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

__all__ = ["shared", "shared_place"]


@pytest.mark.parametrize(
    ("kind", "made"),
    [("TABLE", "(id INT, name STRING) USING parquet"), ("VIEW", "AS SELECT 9 AS id, 'nine' AS name")],
)
def test_what_is_no_delta_table_is_refused_and_stays(
    session: SparkSession, tmp_path: Path, shared: str, kind: str, made: str
) -> None:
    """A log of Delta's in the folder would make one of it, with the files of both."""
    session.sql(f"CREATE {kind} {shared}.t {made}")
    if kind == "TABLE":
        session.sql(f"INSERT INTO {shared}.t VALUES (9, 'nine')")
    sink = sink_of(session, shared, "changelog", DRIVER)
    with pytest.raises(SinkError, match="is not a Delta table"):
        sink.write(Writers(session, tmp_path, "changelog").frame([("c", 1, "a", "1")]), 0)
    assert content(session, f"{shared}.t", "id", "name") == [(9, "nine")]


def test_a_table_that_was_dropped_and_made_again_is_another(
    session: SparkSession, tmp_path: Path, shared: str, shared_place: Path
) -> None:
    """In the same folder, with a log that is longer than the one that the driver has seen."""
    rows, sink = Writers(session, tmp_path, "mirror"), sink_of(session, shared, "mirror", DRIVER, marks=True)
    sink.write(rows.frame([("c", 1, "a", "1"), ("c", 2, "b", "2")]), 0)
    shutil.copytree(shared_place / "t", tmp_path / "kept")
    session.sql(f"DROP TABLE {shared}.t")
    session.sql(f"CREATE TABLE {shared}.t USING delta AS SELECT * FROM delta.`{tmp_path / 'kept'}`")
    for turn in range(4):
        session.sql(f"ALTER TABLE {shared}.t SET TBLPROPERTIES ('turn' = '{turn}')")
    sink.write(rows.frame_of([Mark(MarkKind.TRUNCATE, "3", "d.a", "d.a").packet("t")]), 1)
    assert content(session, f"{shared}.t", "id") == []


def test_a_folder_that_delta_rs_takes_for_another_is_sparks(
    session: SparkSession, tmp_path: Path, shared: str, shared_place: Path
) -> None:
    """Where the table itself lies in such a one, below that of the database."""
    rows, sink = Writers(session, tmp_path, "changelog"), sink_of(session, shared, "changelog", DRIVER)
    sink.write(rows.frame([("c", 1, "a", "1")]), 0)
    shutil.copytree(shared_place / "t", shared_place / "x%41")
    session.sql(f"DROP TABLE {shared}.t")
    session.sql(f"CREATE TABLE {shared}.t USING delta LOCATION '{shared_place / 'x%41'}'")
    for late in (False, True):
        if late:
            sink = sink_of(session, shared, "changelog", DRIVER)
        sink.write(rows.frame([("c", 2 + late, "b", f"{2 + late}")]), 1 + late)
    assert content(session, f"{shared}.t", "id") == [(1,), (2,), (3,)]
    assert not (shared_place / "xA").exists()


def test_a_database_is_in_the_catalog_that_the_session_uses(session: SparkSession, unique_name: str) -> None:
    """Which `USE` says in a job of one's own, and no setting tells."""
    own, setting, config = session.newSession(), f"spark.sql.catalog.{unique_name}", LakeConfig(database="shop")
    own.conf.set(setting, "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog")
    own.conf.set(f"{setting}.url", f"jdbc:derby:memory:{unique_name};create=true")
    own.conf.set(f"{setting}.driver", "org.apache.derby.iapi.jdbc.AutoloadedDriver")
    assert is_sparks_own(own, config)
    own.sql(f"USE {unique_name}")
    assert not is_sparks_own(own, config)
    assert is_sparks_own(own, LakeConfig(database="spark_catalog.shop"))
