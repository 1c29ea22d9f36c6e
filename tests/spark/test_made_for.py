"""On Spark, too, a saved offset belongs to a source, its lists and a target; and a mirror to whoever has begun it."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import ConfigError, SinkError
from spark.lake import at_source, mirrored
from testkit.running import Pipeline, source_of
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


def _run(pipeline: Pipeline) -> None:
    SparkRunner(load_pipeline(pipeline.written(), runner="spark")).run(once=True)


def _mirror(folder: Path, source: dict[str, Any], **others: Any) -> Pipeline:
    return Pipeline(folder, source, {"type": "spark", "mode": "mirror", "path": str(folder / "lake")}, others)


def test_a_mirror_reads_what_its_lists_newly_capture(
    session: SparkSession, mysql_server: MySQLServer, shop: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And says which entries and patterns match nothing."""
    caplog.set_level(logging.INFO, "cdckit.runner")
    narrow = _mirror(tmp_path, source_of(mysql_server, shop, table_include_list=f"{shop}.a"))
    _run(narrow)
    mysql_server.run_sql("INSERT INTO b VALUES (2, 'y'); INSERT INTO a VALUES (3, 'z')", database=shop)
    wrong = {"type": "RegexRouter", "name": "wrong", "regex": r"p\.shpo\.(.*)", "replacement": "$1"}
    wide = _mirror(
        tmp_path, source_of(mysql_server, shop, table_include_list=f"{shop}.a,{shop}.b,{shop}.c"), transforms=[wrong]
    )
    _run(wide)
    for table in ("a", "b"):
        assert mirrored(session, tmp_path / "lake", f"p.{shop}.{table}") == at_source(mysql_server, f"{shop}.{table}")
    assert f"newly captured, and read as by a snapshot (snapshot.new.tables): {shop}.b" in caplog.text
    assert f"'{shop}.c' matches nothing that there is" in caplog.text
    assert r"transform 'wrong': regex 'p\.shpo\.(.*)' has matched no topic so far" in caplog.text


def test_another_target_is_refused(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    source = source_of(mysql_server, shop)
    _run(Pipeline(tmp_path, source, {"type": "file", "path": str(tmp_path / "out.jsonl")}))
    with pytest.raises(ConfigError, match=r"(?s)sink\.type: was 'file', and is 'spark' now.*cdc offsets reset FILE"):
        _run(_mirror(tmp_path, source))
    assert not (tmp_path / "lake").exists()


def test_a_mirror_that_another_pipeline_has_begun_is_refused(
    session: SparkSession, mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    source = source_of(mysql_server, shop, table_include_list=f"{shop}.a")
    _run(_mirror(tmp_path, source, name="first"))
    other = _mirror(tmp_path, {**source, "snapshot.mode": "no_data"}, name="second", state=str(tmp_path / "other"))
    _run(other)
    mysql_server.run_sql("INSERT INTO a VALUES (3, 'z')", database=shop)
    with pytest.raises(
        SinkError, match=r"was begun by pipeline 'first', and pipeline 'second' comes with changes alone"
    ):
        _run(other)
    _run(_mirror(tmp_path, source, name="first"))
    assert mirrored(session, tmp_path / "lake", f"p.{shop}.a") == at_source(mysql_server, f"{shop}.a")
