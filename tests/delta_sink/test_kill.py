"""The runner killed at random instants: in the end each table has each change, and no change twice."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from pathlib import Path

import pytest

from delta_sink.shop import Shop
from delta_sink.versions import assert_whole
from spark.shop import random_seed
from testkit.journal import Journal
from testkit.running import Pipeline
from testkit.writers import TABLES, BulkWriter, ShopWriter

LONGEST_WORK = 1.5
"""How many seconds a run lives at the most once it has begun to write."""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mode", ["mirror", "changelog", "history"])
def test_tables_equal_the_source_after_kills(shop: Shop, mode: str, nightly: bool) -> None:
    kill_and_compare(replace(shop, mode=mode), 50 if nightly else 3)


def kill_and_compare(shop: Shop, kills: int) -> None:
    """A changelog has each change once: exactly once is more than that the newest of each key is right.

    A history has each version once.
    """
    seed = random_seed()
    chance = random.Random(seed)
    shop.run(TABLES)
    pipeline = shop.pipeline()
    journal = Journal()
    with (
        ShopWriter(shop.server, shop.name, journal, seed, accounts=3000, pause=0.02),
        BulkWriter(shop.server, shop.name, journal, seed, rows=500),
    ):
        for _ in range(kills):
            kill_at_work(pipeline, chance)
    shop.deliver()
    shop.assert_equal(["accounts", "parts", "bulk"])
    if shop.mode == "history":
        assert_whole(shop)


def kill_at_work(pipeline: Pipeline, chance: random.Random) -> None:
    """Kills a run at a random instant after it has begun to write to the lake."""
    before = _files(pipeline)
    with pipeline.running() as process:
        process.wait_until(lambda: bool(_files(pipeline) - before), "anything written", 240)
        time.sleep(chance.uniform(0, LONGEST_WORK))
        process.kill()


def _files(pipeline: Pipeline) -> set[Path]:
    return set((pipeline.folder / "lake").rglob("*"))
