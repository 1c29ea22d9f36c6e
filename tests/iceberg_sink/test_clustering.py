"""The order of rows in the files of Iceberg tables."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from delta_sink.shop import Shop
from delta_sink.versions import deliver
from iceberg_sink.test_tables import assert_read_alike, lake_of


@pytest.mark.parametrize("mode", ["mirror", "changelog", "history"])
def test_files_have_the_order_of_the_columns(shop: Shop, mode: str) -> None:
    shop = shop.with_sink(mode, {"cluster.by": ["w", "lacking", "id"]})
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, w VARCHAR(9), v INT)")
    shop.run("INSERT INTO t VALUES (1, 'c', 1), (2, 'b', 2), (3, 'c', 3), (4, 'a', 4)")
    deliver(shop)
    shop.run("UPDATE t SET w = 'd' WHERE id = 4; INSERT INTO t VALUES (5, 'a', 5), (6, 'b', 6)")
    deliver(shop)
    table = lake_of(shop).table("t")
    names = {field.field_id: field.name for field in table.schema().fields}
    assert [names[field.source_id] for field in table.sort_order().fields] == ["w", "id"]
    for task in table.scan().plan_files():
        rows = pq.read_table(task.file.file_path.removeprefix("file://"))
        found = list(zip(rows.column("w").to_pylist(), rows.column("id").to_pylist(), strict=True))
        assert found == sorted(found)
    shop.run("ALTER TABLE t DROP COLUMN w; INSERT INTO t VALUES (0, 7)")
    deliver(shop)
    assert not shop.unequal()
    assert_read_alike(shop, "t")


def test_the_only_column_goes(shop: Shop) -> None:
    shop = shop.with_sink("mirror", {"cluster.by": ["w"]})
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, w INT, v INT); INSERT INTO t VALUES (1, 2, 1), (2, 1, 2)")
    deliver(shop)
    shop.run("ALTER TABLE t DROP COLUMN w; INSERT INTO t VALUES (3, 3)")
    deliver(shop)
    assert not shop.unequal()
    assert lake_of(shop).table("t").sort_order().is_unsorted
    assert_read_alike(shop, "t")
