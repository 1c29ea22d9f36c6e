"""Changes that wait beside a mirror whose pipeline no longer has any wait."""

from __future__ import annotations

from dataclasses import replace

import pytest

from delta_sink.shop import Shop
from delta_sink.test_deferred import LONG, ROWS


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_they_are_merged_with_the_next_change(shop: Shop, format: str) -> None:
    shop = replace(shop, format=format)
    shop.run(ROWS)
    shop.deliver(LONG)
    shop.run("UPDATE t SET v = 10 WHERE id = 1; DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (4, 4, 'd')")
    shop.deliver(LONG)
    shop.run("UPDATE t SET v = 40 WHERE id = 4; INSERT INTO t VALUES (5, 5, 'e')")
    shop.deliver()
    shop.assert_equal(["t"])
    shop.run("UPDATE t SET v = 41 WHERE id = 4")
    shop.deliver()
    shop.assert_equal(["t"])
