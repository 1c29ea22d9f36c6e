"""`__position` of a changelog's rows: each has its own."""

from __future__ import annotations

from dataclasses import replace

from delta_sink.removing import read_again
from delta_sink.shop import Shop


def test_a_table_that_is_read_again_where_it_was_emptied(shop: Shop) -> None:
    """The log ends with TRUNCATE: both rows that empty the table are told of that place."""
    shop = replace(shop, mode="changelog")
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1)")
    shop.deliver()
    shop.run("TRUNCATE TABLE t")
    shop.deliver()
    read_again(shop, "t")
    shop.deliver()
    rows = sorted((row["__position"], row["__op"]) for row in shop.lake.found("t"))
    assert [op for _, op in rows] == ["r", "t", "t"]
    assert len({position for position, _ in rows}) == 3
    shop.assert_equal(["t"])
