"""Rows that `ExtractNewRecordState` has flattened, in tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from delta_sink.shop import Shop

CHAIN = {"transforms": [{"type": "ExtractNewRecordState"}]}


@pytest.mark.parametrize("mode", ["mirror", "history"])
@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_deletes_as_the_transform_leaves_them_by_default_remove_rows(shop: Shop, mode: str, format: str) -> None:
    """They are nulls that have the schema of a row."""
    shop = replace(shop, mode=mode, format=format)
    shop.run("CREATE TABLE orders (id INT PRIMARY KEY, v INT); INSERT INTO orders VALUES (1, 1), (2, 2), (3, 3)")
    pipeline = replace(shop.pipeline(), others={"name": shop.name, **CHAIN})
    assert pipeline.run("--once").code == 0
    shop.run("DELETE FROM orders WHERE id = 1; UPDATE orders SET id = 4 WHERE id = 2; UPDATE orders SET v = 5")
    ended = pipeline.run("--once")
    assert ended.code == 0, ended.errors
    shop.assert_equal(["orders"])
