"""Tables of a database in Iceberg tables: equal to the source, whatever happens to rows and definitions."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from delta_sink.shop import Shop
from delta_sink.test_tables import DEFINITIONS, ROWS, TABLES, logged
from histories.lakes import IcebergTables
from iceberg_sink.reading import by_duckdb


def lake_of(shop: Shop) -> IcebergTables:
    lake = shop.lake
    assert isinstance(lake, IcebergTables)
    return lake


def assert_read_alike(shop: Shop, *names: str) -> None:
    """DuckDB finds the rows that pyiceberg does."""
    for name in names:
        table = lake_of(shop).table(name)
        found = sorted(map(repr, lake_of(shop).found(name)))
        assert found == sorted(map(repr, by_duckdb(table)))


def test_a_mirror_equals_its_source(shop: Shop) -> None:
    shop.run(TABLES)
    shop.deliver()
    shop.assert_equal(["a", "pairs", "free"])
    shop.run(ROWS)
    shop.deliver()
    shop.assert_equal(["a", "pairs", "free"])
    shop.run(DEFINITIONS)
    shop.deliver()
    shop.assert_equal(["a", "pairs", "free", "later"])
    assert_read_alike(shop, "a", "pairs", "free", "later")
    columns = lake_of(shop).table("a").scan().to_arrow().schema
    assert [columns.field(name).type for name in ("id", "big", "at", "ts")] == [
        pa.int64(),
        pa.decimal128(20, 0),
        pa.timestamp("us"),
        pa.timestamp("us", tz="UTC"),
    ]


def test_a_changelog_has_each_change_once(shop: Shop) -> None:
    log = replace(shop, mode="changelog")
    logged(log, lambda: lake_of(log).found("a"))
    assert_read_alike(log, "a", "pairs", "free")
