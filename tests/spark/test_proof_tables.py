"""`cdc diff` against Delta tables, which it reads without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from proof.shop import change, fill, piped, proved
from proof.test_files import written
from testkit.servers.mysql_family import SQLServer

pytestmark = [
    pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.parametrize("db_server", ["mysql"], indirect=True),
]  # fmt: skip


@pytest.mark.unequal("rows of the lake are forged", tables=["orders"])
@pytest.mark.parametrize("mode", ["mirror", pytest.param("changelog", marks=pytest.mark.nightly)])
def test_a_table_is_equal_until_a_fault_is_planted(
    session: SparkSession, db_server: SQLServer, database: str, tmp_path: Path, mode: str
) -> None:
    fill(db_server, database, 120)
    db_server.execute(f"create table {database}.big (id bigint unsigned primary key, at time, y year, f float)")
    db_server.execute(
        f"insert into {database}.big values (18446744073709551615, '12:00:01', 2024, 0.1), (1, null, 0, 3)"
    )
    sink = {"type": "spark", "mode": mode, "path": str(tmp_path / "lake")}
    pipeline = piped(db_server, database, tmp_path, sink, {"runner": "spark"}, bigint_unsigned_handling_mode="precise")
    for turn in range(2):
        if turn:
            change(db_server, database)
            if mode == "mirror":
                db_server.execute(f"alter table {database}.big modify f double, add column more int default 7")
            db_server.execute(f"update {database}.big set f = 0.25 where id = 1")
        SparkRunner(load_pipeline(pipeline.written(), runner="spark")).run(once=True)
    found = proved(pipeline)
    assert {name: (one.outcome, one.note, one.differences) for name, one in found.items()} == {
        "orders": ("equal", "", ()), "big": ("equal", "", ()),
    }  # fmt: skip
    planted = _plant(tmp_path / "lake" / f"p.{database}.orders", mode)
    orders = proved(pipeline)["orders"]
    assert {json.loads(one.key)["id"]: (one.fault, one.columns) for one in orders.differences} == planted


@pytest.mark.nightly
def test_rows_that_never_stand_still_are_compared(db_server: SQLServer, database: str, tmp_path: Path) -> None:
    fill(db_server, database, 120)
    sink = {"type": "spark", "mode": "mirror", "path": str(tmp_path / "lake")}
    pipeline = piped(db_server, database, tmp_path, sink, {"runner": "spark"}, skipped_operations="none")
    with pipeline.running() as process, written(db_server, database) as statements:
        process.wait_until((tmp_path / "lake" / f"p.{database}.orders" / "_delta_log").exists)
        before = len(statements)
        orders = proved(pipeline, wait_seconds=300)["orders"]
        assert (orders.outcome, orders.note, orders.differences, orders.exact) == ("equal", "", (), True)
        assert len(statements) > before


def _plant(place: Path, mode: str) -> dict[int, tuple[str, tuple[str, ...]]]:
    """Faults of every kind, by the keys."""
    table = DeltaTable(str(place))
    rows = pa.table(table.to_pyarrow_dataset().to_table())
    one = rows.filter(pa.compute.equal(rows.column("id"), 3))
    write_deltalake(str(place), one, mode="append")
    planted: dict[int, tuple[str, tuple[str, ...]]] = {3: ("doubled", ())}
    table = DeltaTable(str(place))
    table.update(predicate="id = 4", updates={"name": "'name of'"})
    planted[4] = ("changed", ("name",))
    table.update(predicate="id = 5", updates={"ratio": "ratio + 0.0000000000000002"})
    planted[5] = ("changed", ("ratio",))
    table.update(predicate="id = 6", updates={"placed": "placed + interval '2 hours'"})
    planted[6] = ("changed", ("placed",))
    table.delete("id = 8")
    planted[8] = ("missing", ())
    if mode == "changelog":
        table.delete("id = 50 and __op = 'd'")
        planted[50] = ("extra", ())
    return planted
