"""`cdc diff` against tables that Spark alone reads: its workers hash them, and faults are planted by its own SQL."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import SparkConf
from pyspark.sql import SparkSession

from cdckit.cli.main import call
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.proof.load import MaxLoad
from cdckit.engine.proof.report import TableProof
from cdckit.engine.proof.source_readers import SourceReaders
from cdckit.engine.runners.spark import SparkRunner
from cdckit.engine.runners.stop import StopSignal
from cdckit.errors import ConfigError, StoppedError
from cdckit.tables.workers import Workers
from cdckit_mysql.snapshot import chunk_plan
from proof.shop import change, fill, piped, proved
from proof.test_files import written
from spark.test_runner import wait_for as wait
from testkit.running import Pipeline
from testkit.servers.mysql_family import SQLServer

pytestmark = [
    pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.parametrize("db_server", ["mysql"], indirect=True),
    pytest.mark.unequal("the test asks for proofs itself", always=False),
]  # fmt: skip

wait_for = partial(wait, seconds=240)
EQUAL = ("equal", "", ())


def to_lake(server: SQLServer, database: str, folder: Path, sink: dict[str, Any]) -> Pipeline:
    given = {"type": "spark", "mode": "mirror", **sink}
    return piped(server, database, folder, given, {"runner": "spark"}, skipped_operations="none")


def deliver(pipeline: Pipeline) -> None:
    SparkRunner(load_pipeline(pipeline.written(), runner="spark")).run(once=True)


@contextmanager
def running(pipeline: Pipeline) -> Iterator[None]:
    """While it runs in this process, whose catalog no other one sees."""
    stopping = StopSignal()
    thread = threading.Thread(target=SparkRunner(load_pipeline(pipeline.written(), runner="spark"), stopping).run)
    thread.start()
    try:
        yield
    finally:
        stopping.stop()
        thread.join(120)
    assert not thread.is_alive()


def said(proof: TableProof) -> tuple[str, str, tuple[Any, ...]]:
    return proof.outcome, proof.note, proof.differences


def faults(proof: TableProof) -> dict[int, tuple[str, tuple[str, ...]]]:
    return {json.loads(one.key)["id"]: (one.fault, one.columns) for one in proof.differences}


def plant(session: SparkSession, table: str, name: str = "name") -> dict[int, tuple[str, tuple[str, ...]]]:
    """Faults by Spark's own SQL."""
    session.sql(f"DELETE FROM {table} WHERE id = 8")
    session.sql(f"INSERT INTO {table} SELECT * FROM {table} WHERE id = 3")
    session.sql(f"UPDATE {table} SET {name} = concat({name}, ' '), placed = placed + INTERVAL 1 HOUR WHERE id = 4")
    return {8: ("missing", ()), 3: ("doubled", ()), 4: ("changed", tuple(sorted((name, "placed"))))}


@pytest.mark.nightly
def test_renamed_columns_and_deletion_vectors(
    session: SparkSession, db_server: SQLServer, database: str, tmp_path: Path
) -> None:
    """Mirrors that deltalake cannot read any more, by what they list and by a version, and one beside that it can."""
    for table in ("orders", "others", "titles"):
        fill(db_server, database, 120, table)
    pipeline = to_lake(db_server, database, tmp_path, {"path": str(tmp_path / "lake")})
    deliver(pipeline)
    table = f"delta.`{tmp_path}/lake/p.{database}.orders`"
    session.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    change(db_server, database)
    db_server.execute(f"alter table {database}.orders rename column name to title, add column f float default 0.1")
    db_server.execute(f"update {database}.orders set title = 'new', f = 1.1 where id = 1")
    db_server.execute(f"alter table {database}.titles rename column name to title")
    db_server.execute(f"update {database}.titles set title = 'new' where id = 1")
    deliver(pipeline)
    [detail] = session.sql(f"DESCRIBE DETAIL {table}").collect()
    assert {"deletionVectors", "columnMapping"} <= {*detail.tableFeatures}
    found = proved(pipeline)
    assert {name: said(one) for name, one in found.items()} == dict.fromkeys(("orders", "others", "titles"), EQUAL)
    planted = plant(session, table, "title")
    found = proved(pipeline)
    assert faults(found["orders"]) == planted
    assert said(found["others"]) == EQUAL
    [missing] = [one for one in found["orders"].differences if one.fault == "missing"]
    assert (missing.source or {})["title"] == "name of 8"
    assert {name: one.outcome for name, one in proved(pipeline, spark="never").items()} == {
        "orders": "undecided",
        "others": "equal",
        "titles": "undecided",
    }


@pytest.mark.parametrize("mode", ["changelog", pytest.param("mirror", marks=pytest.mark.nightly)])
def test_tables_of_a_catalog_while_rows_change(
    session: SparkSession, db_server: SQLServer, database: str, tmp_path: Path, mode: str
) -> None:
    session.sql(f"CREATE DATABASE {database}")
    fill(db_server, database, 300)
    fill(db_server, database, 20, "emptied")
    pipeline = to_lake(db_server, database, tmp_path, {"mode": mode, "database": database})
    table = f"{database}.p_{database}_orders"
    with running(pipeline), written(db_server, database) as statements:
        wait_for(lambda: session.catalog.tableExists(table))
        db_server.run_sql(f"TRUNCATE {database}.emptied; INSERT INTO {database}.emptied (id) VALUES (7)")
        before = len(statements)
        found = proved(pipeline, wait_seconds=240)
        assert {name: said(one) for name, one in found.items()} == {"orders": EQUAL, "emptied": EQUAL}
        assert (found["orders"].exact, found["emptied"].rows) == (True, 1)
        assert len(statements) > before
    deliver(pipeline)
    db_server.execute(f"delete from {database}.orders where id = 7")
    deliver(pipeline)
    planted = plant(session, table)
    if mode == "changelog":
        session.sql(f"DELETE FROM {table} WHERE id = 7 AND __op = 'd'")
        planted[7] = ("extra", ())
    assert faults(proved(pipeline)["orders"]) == planted


@pytest.mark.nightly
def test_parquet_files(session: SparkSession, db_server: SQLServer, database: str, tmp_path: Path) -> None:
    """What the files hold by now is compared with the source from the barrier on."""
    fill(db_server, database, 50)
    sink = {"mode": "changelog", "format": "parquet", "path": f"file://{tmp_path}/l"}
    pipeline = to_lake(db_server, database, tmp_path, sink)
    deliver(pipeline)
    orders = proved(pipeline, hash="blake2b")["orders"]
    assert (*said(orders), orders.exact, orders.rows) == (*EQUAL, False, 50)
    [folder] = (tmp_path / "l" / f"p.{database}.orders").glob("__batch=*")
    session.read.parquet(str(folder)).where("id <> 8").write.parquet(str(tmp_path / "kept"))
    shutil.rmtree(folder)
    (tmp_path / "kept").rename(folder)
    assert faults(proved(pipeline)["orders"]) == {8: ("missing", ())}


def test_both_sides_by_workers(
    session: SparkSession,
    db_server: SQLServer,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Tables in several splits, while rows change; faults; what may be taken of the source, and what cannot be."""
    monkeypatch.setattr(chunk_plan, "CHUNK_ROWS", 50)
    planned: list[int] = []
    tasks = SourceReaders._tasks

    def counted(readers: SourceReaders, splits: int) -> int:
        planned.append(splits)
        return tasks(readers, splits)

    monkeypatch.setattr(SourceReaders, "_tasks", counted)
    fill(db_server, database, 300)
    fill(db_server, database, 40, "parts")
    pipeline = to_lake(db_server, database, tmp_path, {"path": str(tmp_path / "lake")})
    with running(pipeline), written(db_server, database) as statements:
        wait_for((tmp_path / "lake" / f"p.{database}.parts" / "_delta_log").exists)
        before = len(statements)
        found = proved(pipeline, spark="always", wait_seconds=240)
        assert {name: said(one) for name, one in found.items()} == {"orders": EQUAL, "parts": EQUAL}
        assert (found["orders"].exact, found["parts"].rows) == (True, 40)
        assert len(statements) > before
    assert planned[0] > 3, "the rows are read in several parts"
    deliver(pipeline)
    planted = plant(session, f"delta.`{tmp_path}/lake/p.{database}.orders`")
    assert (
        call(["diff", str(pipeline.written()), "--on-spark", "--json", "--max-load", "9000,Threads_running=500"]) == 1
    )
    found = json.loads(capfd.readouterr().out)["tables"]
    orders, parts = found[f"{database}.orders"], found[f"{database}.parts"]
    assert {one["key"]["id"]: (one["fault"], tuple(one["columns"])) for one in orders["differences"]} == planted
    assert (parts["outcome"], parts["rows"]) == ("equal", 40)
    with pytest.raises(ConfigError, match="the server has no figure 'Nothing'"):
        proved(pipeline, spark="always", load=MaxLoad(figures={"Nothing": 3}))


@pytest.mark.parametrize(("speculates", "share"), [("false", 500), ("true", 250)])
def test_the_load_is_divided(
    session: SparkSession, db_server: SQLServer, monkeypatch: pytest.MonkeyPatch, speculates: str, share: int
) -> None:
    """By how many tasks read at the same time, on two processors here."""
    get = SparkConf.get

    def given(settings: SparkConf, key: str, default: str | None = None) -> str | None:
        return speculates if key == "spark.speculation" else get(settings, key, default)

    monkeypatch.setattr(SparkConf, "get", given)
    readers = SourceReaders(Workers(lambda: session, lambda: False), MaxLoad(1000))
    assert (readers._tasks(40), readers._share(2).rows) == (2, share)
    looking = SourceReaders(Workers(lambda: session, lambda: False), MaxLoad(figures={"Threads_running": 5}))
    assert (readers.splits, looking.splits, looking._tasks(200)) == (8, 200, 200)


def test_a_wish_to_stop_is_heard_while_workers_read(session: SparkSession, db_server: SQLServer) -> None:
    def endless(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            time.sleep(100_000)
            yield batch

    workers = Workers(lambda: session, lambda: True)
    with pytest.raises(StoppedError):
        list(workers.fetched(workers.session.range(2).mapInArrow(endless, "id long")))
