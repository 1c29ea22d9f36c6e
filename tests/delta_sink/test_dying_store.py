"""Tables in an object store that dies and comes back, again and again, in the middle of batches."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest
from deltalake import DeltaTable

from delta_sink.shop import Shop
from delta_sink.test_objects import bucket, storage
from histories.lakes import DeltaChangelog, DeltaMirror
from histories.rows import at_source, columns_of, difference, keys_of
from testkit.servers.object_store import DurableObjectStore, ObjectStore

TABLES = """
CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, v INT, w VARCHAR(64));
CREATE TABLE b (id INT PRIMARY KEY AUTO_INCREMENT, v INT, w VARCHAR(64));
INSERT INTO a (v, w)
    WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT i, SHA2(i, 224) FROM n;
INSERT INTO b SELECT * FROM a;
"""
CHANGES = (
    "INSERT INTO a (v, w) SELECT v + 1, SHA2(w, 224) FROM a ORDER BY id LIMIT 20",
    "UPDATE a SET v = v + 1 WHERE MOD(id, 3) = {0}",
    "BEGIN; UPDATE b SET w = SHA2(w, 224) WHERE MOD(id, 7) = {0}; DELETE FROM a WHERE MOD(id, 29) = {0}; COMMIT",
    "DELETE FROM b WHERE MOD(id, 31) = {0}",
    "INSERT INTO b (v, w) VALUES ({0}, 'new')",
)

FAULT = "trying again in"


@pytest.fixture
def store() -> Iterator[DurableObjectStore]:
    """A store of the test's own, which keeps what it has."""
    with DurableObjectStore() as found:
        yield found


def unequal(shop: Shop, store: ObjectStore, place: str) -> str:
    """What of the tables in the store is not as at the source; "" for nothing."""
    tables = columns_of(shop.server, shop.name)
    keys = partial(keys_of, shop.server, shop.name)

    class Stored:
        def found(self, table: str) -> list[dict[str, Any]]:
            path = f"{place}/{shop.name}.{shop.name}.{table}"
            rows: list[dict[str, Any]] = DeltaTable(path, storage_options=storage(store)).to_pyarrow_table().to_pylist()
            return rows

    class StoredMirror(Stored, DeltaMirror):
        pass

    class StoredChangelog(Stored, DeltaChangelog):
        pass

    if shop.mode == "mirror":
        rows = StoredMirror(shop.folder, shop.name, shop.name).rows(tables)
    else:
        rows = StoredChangelog(shop.folder, shop.name, shop.name, keys).rows(tables)
    assert set(rows) == set(tables)
    return "".join(
        difference(types, at_source(shop.server, shop.name, table, types), rows[table])
        for table, types in tables.items()
    )


@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", ["mirror", pytest.param("changelog", marks=pytest.mark.nightly)])
def test_nothing_is_lost_or_doubled(shop: Shop, store: DurableObjectStore, mode: str, nightly: bool) -> None:
    """It is killed when it has begun to take a batch, and stays away until the pipeline has tried again."""
    shop, chance = replace(shop, mode=mode), Random(7)
    place = f"s3://{bucket(store, shop.name)}/lake"
    sink = {"path": place, **{f"storage.options.{name}": value for name, value in storage(store).items()}}
    shop.run(TABLES)
    pipeline = shop.pipeline(sink, errors_retry_delay_max_ms=500)
    with pipeline.running() as process:
        for _ in range(12 if nightly else 2):
            before = store.journal.stat().st_size
            for change in chance.sample(CHANGES, 3):
                shop.run(change.format(chance.randint(0, 2)))
            process.wait_until(lambda size=before: store.journal.stat().st_size > size, "the batch's begin")  # type: ignore[misc]
            time.sleep(chance.uniform(0, 0.2))
            faults = process.log.count(FAULT)
            store.kill()
            for change in chance.sample(CHANGES, 2):
                shop.run(change.format(chance.randint(0, 2)))
            process.wait_for(FAULT, faults + chance.randint(1, 3))
            store.start()
        ended = process.stop()
    assert ended.code in (0, 4), ended.stderr
    last = pipeline.run("--once")
    assert last.code == 0, last.stderr
    assert not unequal(shop, store, place)


def test_a_pipeline_ends_while_its_store_is_away(shop: Shop, store: DurableObjectStore) -> None:
    """And gives up where it is told how often to try."""
    place = f"s3://{bucket(store, shop.name)}/lake"
    # delta-rs asks ten times by itself, for ten seconds in which no stop is heard
    options = {**storage(store), "max_retries": "0"}
    sink = {"path": place, **{f"storage.options.{name}": value for name, value in options.items()}}
    shop.run(TABLES)
    pipeline = shop.pipeline(sink)
    assert pipeline.run("--once").code == 0
    store.kill()
    shop.run("UPDATE a SET v = 0")
    with pipeline.running() as process:
        process.wait_for(FAULT)
        began = time.monotonic()
        ended = process.stop()
    assert ended.code in (0, 4), ended.stderr
    assert "Connection refused" in ended.stderr, "the cause is said"
    assert time.monotonic() - began < 10
    given_up = shop.pipeline(sink, errors_max_retries=2, errors_retry_delay_max_ms=300).run("--once")
    assert given_up.code == 4
    assert "gave up after 2 attempts" in given_up.errors
    store.start()
    assert pipeline.run("--once").code == 0
    assert not unequal(shop, store, place)
