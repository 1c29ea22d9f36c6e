"""The runner killed at random instants: in the end each table has each change, and no change twice."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from delta_sink.shop import Shop
from delta_sink.test_kill import kill_at_work
from spark.shop import random_seed
from testkit.journal import Journal
from testkit.writers import TABLES, BulkWriter, ShopWriter


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mode", [pytest.param("mirror", marks=pytest.mark.nightly), "changelog"])
def test_tables_equal_the_source_after_kills(shop: Shop, mode: str, nightly: bool) -> None:
    seed = random_seed()
    chance = random.Random(seed)
    shop = replace(shop, mode=mode)
    shop.run(TABLES)
    pipeline = shop.pipeline()
    journal = Journal()
    with (
        ShopWriter(shop.server, shop.name, journal, seed, accounts=3000, pause=0.02),
        BulkWriter(shop.server, shop.name, journal, seed, rows=500),
    ):
        for _ in range(50 if nightly else 2):
            kill_at_work(pipeline, chance)
    shop.deliver()
    shop.assert_equal(["accounts", "parts", "bulk"])
