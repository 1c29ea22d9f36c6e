"""Tables of Spark's sink in an object store that dies in the middle of batches, and comes back."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from delta_sink.conftest import shop
from delta_sink.shop import Shop
from delta_sink.test_dying_store import CHANGES, TABLES, store, unequal
from delta_sink.test_objects import SECRET, bucket, storage
from spark.conftest import FAST_JVM
from testkit.servers.object_store import DurableObjectStore
from testkit.servers.s3a import by_s3a

pytestmark = [pytest.mark.spark, pytest.mark.nightly, pytest.mark.timeout(1800)]

__all__ = ["shop", "store"]
SECONDS = 400.0


@pytest.mark.parametrize("without_spark", [True, False])
@pytest.mark.parametrize("mode", ["mirror", "changelog"])
def test_nothing_is_lost_or_doubled(shop: Shop, store: DurableObjectStore, mode: str, without_spark: bool) -> None:
    """Hadoop's client tries for a moment only, and the pipeline on its own schedule."""
    options = {f"storage.options.{name}": text for name, text in storage(store).items()} if without_spark else {}
    shop = replace(shop, mode=mode, sink={"task.file.bytes": 5_000, **options})
    place = bucket(store, shop.name)
    settings = {
        "master": "local[2]",
        **FAST_JVM,
        **by_s3a(store, SECRET),
        "spark.hadoop.fs.s3a.attempts.maximum": "1",
        "spark.hadoop.fs.s3a.retry.limit": "1",
        "spark.hadoop.fs.s3a.retry.interval": "100ms",
    }
    made = shop.pipeline({"type": "spark", "path": f"s3a://{place}/lake"}, errors_retry_delay_max_ms=1000)
    pipeline = replace(made, others={**made.others, "runner": "spark", "spark": settings})
    shop.run(TABLES)
    first = pipeline.run("--once", seconds=SECONDS)
    assert first.code == 0, first.stderr
    with pipeline.running() as process:
        for turn in range(2):
            before = store.journal.stat().st_size
            for change in CHANGES:
                shop.run(change.format(turn))
            process.wait_until(lambda size=before: store.journal.stat().st_size > size, "a batch's begin", SECONDS)  # type: ignore[misc]
            time.sleep(turn)
            store.kill()
            process.wait_until(lambda turn=turn: process.log.count("trying again in") > turn, "a fault", SECONDS)  # type: ignore[misc]
            store.start()
        process.stop()
    last = pipeline.run("--once", seconds=SECONDS)
    assert last.code == 0, last.stderr
    assert not unequal(shop, store, f"s3://{place}/lake")
