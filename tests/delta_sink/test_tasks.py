"""What tasks and driver make of a database's changes, and the direct runner: the same rows, in a folder or a bucket."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from cdckit.tables.delta.version import DeltaVersion
from delta_sink.shop import Shop
from delta_sink.tasks import Tasks
from delta_sink.test_objects import bucket, storage
from delta_sink.test_tables import DEFINITIONS, ROWS, TABLES
from testkit.servers.object_store import ObjectStore


def test_what_tasks_read_equals_what_the_direct_runner_does(shop: Shop) -> None:
    shop = shop.with_sink("changelog", {"task.file.bytes": 1})
    direct = replace(shop, folder=shop.folder / "direct", sink={})
    direct.folder.mkdir()
    shop.run(TABLES)
    direct.deliver()
    with Tasks(shop).open() as tasks:
        tasks.deliver()
        for script in (ROWS, "ALTER TABLE a ADD COLUMN n INT DEFAULT 5; UPDATE a SET n = 6", DEFINITIONS):
            shop.run(script)
            tasks.deliver()
    direct.deliver()
    shop.assert_equal(["a", "pairs", "later"])
    for name in ("a", "pairs", "free", "later"):
        assert content(shop.table(name)) == content(direct.table(name))


def test_tasks_write_into_a_bucket(shop: Shop, object_store: ObjectStore) -> None:
    place, reached = f"s3://{bucket(object_store, shop.name)}/lake", storage(object_store)
    options = {f"storage.options.{name}": value for name, value in reached.items()}
    shop = shop.with_sink("changelog", {"task.file.bytes": 1, "path": place, **options})
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 2)")
    with Tasks(shop).open() as tasks:
        tasks.deliver()
        shop.run("INSERT INTO t VALUES (3, 3); ALTER TABLE t MODIFY v BIGINT; INSERT INTO t VALUES (4, 1 << 40)")
        tasks.deliver()
    found = DeltaVersion(DeltaTable(f"{place}/{shop.name}.{shop.name}.t", storage_options=reached))
    rows = [row for batch in found.scan(["id", "v"]) for row in batch.to_pylist()]
    assert sorted((row["id"], row["v"]) for row in rows if row["id"]) == [(1, 1), (2, 2), (3, 3), (4, 1 << 40)]


def content(table: Path) -> list[dict[str, Any]]:
    """What the log told, but for when it was read."""
    found = DeltaVersion(DeltaTable(table))
    names = [name for name in found.schema().names if name != "__ts_ms"]
    rows = [row for batch in found.scan(names) for row in batch.to_pylist() if row["__op"] != "r"]
    return sorted(rows, key=lambda row: row["__position"])
