"""Each topic has a table of its own, below the path, whatever row data make of topics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import SinkError
from cdckit.tables.destinations import folder_name
from cdckit.tables.evolution import Evolution
from cdckit.tables.layout import Layout
from cdckit_spark.config import LakeConfig
from cdckit_spark.targets import DeltaTarget, ParquetTarget
from spark.script import Script

pytestmark = pytest.mark.spark

UP = "/../../../x` union select 1"
ROWS = Layout("rows", "shop.people", (("id", "int"),), ("id",))


def run(script: Script, folder: Path, state: str, **options: Any) -> None:
    SparkRunner(script.pipeline(folder / state, "spark", **options)).run(once=True)


@pytest.mark.parametrize("form", [pytest.param("delta", marks=pytest.mark.nightly), "parquet"])
def test_a_topic_of_row_data_stays_below_the_path(
    form: str, session: SparkSession, script: Script, tmp_path: Path
) -> None:
    """Topics as a router makes them of row data, or as they were recorded."""
    lake = tmp_path / "a" / "b" / "lake"
    tables = (UP, "..", "")
    for number, table in enumerate(tables):
        script.change("c", {"id": number, "name": table}, table=table)
    run(script, tmp_path, "state", path=lake, format=form)
    for number, table in enumerate(tables):
        folder = lake / folder_name(f"script.shop.{table}")
        assert [row.id for row in session.read.format(form).load(str(folder)).collect()] == [number]
    written = {found.relative_to(tmp_path).parts[0] for found in tmp_path.rglob("*") if found.is_file()}
    assert written == {"a", "state", "script"}
    assert {found.name for found in lake.parent.iterdir()} == {"lake"}


def test_topics_of_one_table_name_are_refused(session: SparkSession, script: Script, tmp_path: Path) -> None:
    """At their first rows; by a note at the table when only one of them comes at a time, in whatever pipeline."""
    session.sql("create database if not exists collisions")
    options = {"database": "collisions", "mode": "mirror"}
    script.change("c", {"id": 1, "name": "one"}, table="a_x.t7")
    run(script, tmp_path, "state", **options)
    script.change("c", {"id": 2, "name": "two"}, table="a.x_t7")
    message = r"it is for topic 'script\.shop\.a_x\.t7', and topic 'script\.shop\.a\.x_t7' would go there, too"
    for _ in range(2):
        with pytest.raises(SinkError, match=message):
            run(script, tmp_path, "state", **options)
    alone = Script(tmp_path / "other")
    alone.change("c", {"id": 3, "name": "three"}, table="A.X.T7")
    with pytest.raises(SinkError, match=r"it is for topic 'script\.shop\.a_x\.t7', and topic 'script\.shop\.A\.X\.T7'"):
        run(alone, tmp_path, "other-state", **options)
    rows = session.table("collisions.script_shop_a_x_t7").select("id", "name").collect()
    assert [tuple(row) for row in rows] == [(1, "one")]


def test_a_table_notes_its_topic_and_an_older_one_gets_the_note(session: SparkSession, tmp_path: Path) -> None:
    """A file system may take upper and lower case for the same: then the note tells."""
    config = LakeConfig(path=str(tmp_path))
    first = DeltaTarget(session, config, "a.T")
    Evolution(first).follow([("1", ROWS)])
    assert first.notes()["topic"] == "a.T"
    other = DeltaTarget(session, config, "a.t")
    other.path = first.path
    with pytest.raises(SinkError, match=r"it is for topic 'a\.T', and topic 'a\.t' would go there"):
        Evolution(other).follow([("1", ROWS)])
    session.sql(f"alter table delta.`{first.path}` unset tblproperties ('cdckit.topic')")
    Evolution(DeltaTarget(session, config, "a.T")).follow([("2", ROWS)])
    assert first.notes()["topic"] == "a.T"


def test_a_folder_of_parquet_files_notes_its_topic(session: SparkSession, script: Script, tmp_path: Path) -> None:
    script.change("c", {"id": 1, "name": "one"})
    run(script, tmp_path, "state", path=tmp_path / "lake", format="parquet")
    config = LakeConfig(path=str(tmp_path / "lake"), format="parquet")
    found = ParquetTarget(session, config, "script.shop.customers")
    assert found.notes() == {"topic": "script.shop.customers"}
    found.topic = "script.shop.Customers"
    with pytest.raises(SinkError, match="would go there"):
        Evolution(found).follow([("1", ROWS)])
