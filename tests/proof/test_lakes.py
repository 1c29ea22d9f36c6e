"""`cdc diff` against the tables of the sink `delta`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake

from cdckit.cli.main import call
from proof.shop import change, deliver, fill, piped, proved
from testkit.running import Pipeline
from testkit.servers.mysql_family import SQLServer

pytestmark = pytest.mark.parametrize("db_server", ["mysql"], indirect=True)

LONG = 3_600_000
SINKS: dict[str, dict[str, Any]] = {
    "mirror": {"mode": "mirror"},
    "changelog": {"mode": "changelog"},
    "deferred": {"mode": "mirror", "mirror.apply.interval.ms": LONG},
}


def to_lake(server: SQLServer, database: str, folder: Path, kind: str, **source: Any) -> Pipeline:
    sink = {"type": "delta", "path": str(folder / "lake"), **SINKS[kind]}
    return piped(server, database, folder, sink, {"runner": "direct"}, skipped_operations="none", **source)


def table_of(pipeline: Pipeline, database: str) -> Path:
    return Path(pipeline.sink["path"]) / f"p.{database}.orders"


@pytest.mark.parametrize("kind", SINKS)
def test_a_table_is_equal_until_a_fault_is_planted(
    db_server: SQLServer, database: str, tmp_path: Path, kind: str
) -> None:
    fill(db_server, database, 120)
    pipeline = to_lake(db_server, database, tmp_path, kind)
    deliver(pipeline)
    change(db_server, database)
    db_server.execute(f"update {database}.orders set id = id + 1000 where id between 60 and 65")
    db_server.execute(f"insert into {database}.orders (id) values (50)")
    deliver(pipeline)
    orders = proved(pipeline)["orders"]
    assert (orders.outcome, orders.note, orders.differences) == ("equal", "", ())
    planted = _plant(table_of(pipeline, database), kind)
    orders = proved(pipeline)["orders"]
    assert {json.loads(one.key)["id"]: (one.fault, one.columns) for one in orders.differences} == planted


@pytest.mark.parametrize("kind", ["mirror", "changelog"])
def test_a_table_that_lacks_a_column_is_undecided_and_the_others_are_compared(
    db_server: SQLServer, database: str, tmp_path: Path, kind: str
) -> None:
    for table in ("orders", "others"):
        fill(db_server, database, 5, table)
    pipeline = to_lake(db_server, database, tmp_path, kind)
    pipeline = replace(pipeline, sink={**pipeline.sink, "schema.evolution": "ignore"})
    deliver(pipeline)
    db_server.execute(f"alter table {database}.orders add column more int default 7")
    db_server.execute(f"insert into {database}.orders (id) values (6)")
    deliver(pipeline)
    found = proved(pipeline)
    assert {name: (one.outcome, one.note) for name, one in found.items()} == {
        "orders": ("undecided", "its table has no column more (schema.evolution)"), "others": ("equal", ""),
    }  # fmt: skip


def _plant(place: Path, kind: str) -> dict[int, tuple[str, tuple[str, ...]]]:
    """Faults of every kind, by the keys; of deferred changes some among those that wait."""
    table = DeltaTable(place)
    rows = table.to_pyarrow_table()
    write_deltalake(place, rows.filter(pc.equal(rows.column("id"), 3)), mode="append")
    planted: dict[int, tuple[str, tuple[str, ...]]] = {3: ("doubled", ())}
    table = DeltaTable(place)
    table.update(predicate="id = 4", updates={"name": "'name of'"})
    planted[4] = ("changed", ("name",))
    table.delete("id = 8")
    planted[8] = ("missing", ())
    if kind == "changelog":
        table.delete("id = 100 and __op = 'd'")
        planted[100] = ("extra", ())
    if kind == "deferred":
        side = DeltaTable(f"{place}~changes")
        side.update(predicate="id = 7", updates={"ratio": "ratio + 1"})
        planted[7] = ("changed", ("ratio",))
        side.delete("id = 100")
        planted[100] = ("extra", ())
        side.delete("id = 1060 and __cdckit_op <> 'd'")
        planted[1060] = ("missing", ())
    return planted


def test_what_empties_one_of_the_tables_that_share_a_changelog_leaves_the_others(
    db_server: SQLServer, database: str, tmp_path: Path
) -> None:
    for table in ("orders_1", "orders_2"):
        fill(db_server, database, 20, table)
    pipeline = to_lake(db_server, database, tmp_path, "changelog")
    router = {"type": "ByLogicalTableRouter", "topic.regex": "(.*)orders_.", "topic.replacement": "$1orders"}
    pipeline.others["transforms"] = [router]  # type: ignore[index]
    deliver(pipeline)
    db_server.run_sql(
        f"USE {database}; UPDATE orders_2 SET ratio = 1; CREATE TABLE made LIKE orders_1; DROP TABLE orders_1; "
        "CREATE TABLE orders_1 LIKE made; INSERT INTO orders_1 (id) VALUES (3); DROP TABLE made"
    )
    deliver(pipeline)
    [both] = proved(pipeline, tables=(f"{database}.orders_1",)).values()
    assert (both.outcome, both.note, both.rows) == ("equal", "", 21)


@pytest.mark.parametrize("kind", SINKS)
def test_each_commit_notes_the_offset_that_its_version_is_as_of(
    db_server: SQLServer, database: str, tmp_path: Path, kind: str
) -> None:
    fill(db_server, database, 20)
    pipeline = to_lake(db_server, database, tmp_path, kind)
    offsets = []
    for statement in ("set name = 'one' where id = 1", "set name = 'two' where id = 1"):
        deliver(pipeline)
        offsets.append(pipeline.offset())
        db_server.execute(f"update {database}.orders {statement}")
    place = table_of(pipeline, database)
    noted = [
        json.loads(entry["cdckit.offset"])
        for table in (place, Path(f"{place}~changes"))
        if table.exists()
        for entry in DeltaTable(table).history()
        if "cdckit.offset" in entry
    ]
    assert sorted(noted, key=str) == sorted(offsets, key=str)


def test_values_that_stay_are_those_of_the_mirror(db_server: SQLServer, database: str, tmp_path: Path) -> None:
    fill(db_server, database, 20)
    pipeline = to_lake(db_server, database, tmp_path, "deferred")
    deliver(pipeline)
    db_server.run_sql(f"SET binlog_row_image = minimal; UPDATE {database}.orders SET name = 'x' WHERE id < 5")
    deliver(pipeline)
    assert DeltaTable(f"{table_of(pipeline, database)}~changes").to_pyarrow_table().num_rows == 4
    orders = proved(pipeline)["orders"]
    assert (orders.outcome, orders.note, orders.rows) == ("equal", "", 20)


def test_repair_mends_a_table(
    db_server: SQLServer, database: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fill(db_server, database, 20)
    signals = {"signal.enabled.channels": "in-process", "signal.poll.interval.ms": 100, "read.only": True}
    pipeline = to_lake(db_server, database, tmp_path, "deferred", **signals)
    deliver(pipeline)
    table = DeltaTable(table_of(pipeline, database))
    table.update(predicate="id = 4", updates={"name": "'forged'"})
    table.delete("id = 3")
    with pipeline.running() as process:
        process.wait_for("starts on the runner")
        assert call(["diff", str(pipeline.written()), "--repair"]) == 0, capfd.readouterr()
    assert "equal     20" in capfd.readouterr().out
