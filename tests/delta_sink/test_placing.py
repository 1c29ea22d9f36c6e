"""How new Delta tables are made, and their rows put into files."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from cdckit.tables.delta.placing import Placing
from cdckit.tables.delta.target import DeltaTarget
from cdckit.tables.lake.target import Merge
from cdckit.tables.layout import OP
from cdckit.tables.target import BatchId
from delta_sink.shop import Shop
from delta_sink.versions import deliver

OPTIONS: dict[str, Any] = {
    "partition.by": ["city", "nowhere"],
    "cluster.by": "v, id",
    "table.delta.deletedFileRetentionDuration": "interval 3 days",
    "optimize.interval.ms": 1,
}


@pytest.mark.parametrize("mode", ["mirror", "history"])
def test_a_partitioned_table_follows_its_source(shop: Shop, mode: str) -> None:
    shop = shop.with_sink(mode, OPTIONS)
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, city VARCHAR(9), v INT); CREATE TABLE plain (id INT PRIMARY KEY)")
    shop.run("INSERT INTO t VALUES (1, 'Rome', 1), (2, 'Oslo', 2), (3, NULL, 3); INSERT INTO plain VALUES (1)")
    deliver(shop)
    shop.run("UPDATE t SET city = 'Rome' WHERE id = 2; DELETE FROM t WHERE id = 1; UPDATE t SET v = 9 WHERE id = 3")
    shop.run("ALTER TABLE t ADD COLUMN n INT DEFAULT 5, MODIFY v BIGINT; INSERT INTO t VALUES (4, 'Oslo', 1, 1)")
    deliver(shop)
    assert not shop.unequal()
    metadata = DeltaTable(shop.table("t")).metadata()
    assert metadata.partition_columns == ["city"]
    assert metadata.configuration["delta.deletedFileRetentionDuration"] == "interval 3 days"
    assert not DeltaTable(shop.table("plain")).metadata().partition_columns
    shop.run(
        "ALTER TABLE t MODIFY v INT, DROP COLUMN city" if mode == "mirror" else "ALTER TABLE t RENAME COLUMN city TO c"
    )
    ended = shop.pipeline().run("--once")
    assert (ended.code, "partitioned by column 'city'" in ended.errors) == (4, True)


@pytest.mark.parametrize(
    ("kind", "value", "partitioned"),
    [
        ("decimal(9,2)", Decimal("-1.50"), False),
        ("binary", b"a\x00", False),
        ("array<int>", [1], False),
        ("decimal(20,0)", Decimal(-5), True),
        ("string", "a/b=%", True),
    ],
)
def test_values_are_read_as_they_were_written(tmp_path: Path, kind: str, value: Any, partitioned: bool) -> None:
    """A table is not partitioned by columns of which delta-rs would lose values."""
    target = DeltaTarget(str(tmp_path), {}, "t", Placing(partition_by=("p",)))
    target.create({"id": "int", "p": kind}, {})
    put = pa.table([[1], [value]], schema=target.schema()).append_column(OP, pa.array(["u"]))
    for number in range(2):
        target.merge(Merge(put, ("id",), (), ()), BatchId("p/g", number))
        target.refresh()
    assert [row for batch in target.scan(["id", "p"]) for row in batch.to_pylist()] == [{"id": 1, "p": value}]
    assert target.table.metadata().partition_columns == (["p"] if partitioned else [])


def test_rows_near_each_other_come_into_the_same_files(tmp_path: Path) -> None:
    placing = Placing(cluster_by=("v", "lacking"))
    target = DeltaTarget(str(tmp_path), {}, "t", placing)
    target.create({"id": "int", "v": "int"}, {})
    for number in range(9):
        rows = {"id": pa.array([number], pa.int32()), "v": pa.array([9 - number], pa.int32())}
        target.append(pa.table(rows), BatchId("p/g", number))
    target.maintain()
    table = DeltaTable(target.path)
    done = [one for one in table.history() if one["operation"] == "OPTIMIZE"]
    assert [one["operationMetrics"]["plannerStrategy"] for one in done] == ["zOrder"]
    assert table.to_pyarrow_table().column("v").to_pylist() == list(range(1, 10))
    target.maintain()
    assert len(DeltaTable(target.path).file_uris()) == 1
    assert [one["operation"] for one in DeltaTable(target.path).history()].count("OPTIMIZE") == 1
    assert target.version_of("p/g") == 8
