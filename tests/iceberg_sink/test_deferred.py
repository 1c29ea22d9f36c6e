"""Mirrors whose changes wait beside them, and tables whose small files are put together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from cdckit.tables.target import BatchId
from cdckit_iceberg.reading import current_rows
from delta_sink.shop import Shop
from delta_sink.test_deferred import LONG, ROWS
from iceberg_sink.test_evolution import files_of, found, made
from iceberg_sink.test_tables import lake_of


def test_changes_wait_and_are_read(shop: Shop) -> None:
    shop.run(ROWS)
    shop.deliver(LONG)
    shop.run("UPDATE t SET v = 10 WHERE id = 1; DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (4, 4, 'd')")
    shop.run("SET binlog_row_image = minimal; UPDATE t SET w = 'x' WHERE id = 3")
    shop.deliver(LONG)
    assert merged(shop) == {(1, 1, "a"), (2, 2, "b"), (3, 3, "c")}
    assert waiting(shop) == {(1, 10, "a"), (3, 3, "x"), (4, 4, "d")}
    shop.run(
        "UPDATE t SET v = 40 WHERE id = 4; INSERT INTO t VALUES (2, 0, 'again'); UPDATE t SET id = 30 WHERE id = 3"
    )
    shop.deliver(LONG)  # those of the run before have waited for long, as far as this one knows
    assert waiting(shop) == merged(shop) == {(1, 10, "a"), (2, 0, "again"), (30, 3, "x"), (4, 40, "d")}
    shop.assert_equal(["t"])


def merged(shop: Shop) -> set[tuple[Any, ...]]:
    rows = lake_of(shop).table("t").scan().to_arrow().to_pylist()
    return {(row["id"], row["v"], row["w"]) for row in rows}


def waiting(shop: Shop) -> set[tuple[Any, ...]]:
    rows = current_rows(lake_of(shop).catalog, f"lake.{shop.name}_{shop.name}_t").to_pylist()
    return {(row["id"], row["v"], row["w"]) for row in rows}


def test_small_files_are_put_together_and_old_snapshots_forgotten(tmp_path: Path) -> None:
    keeps = {"table.history.expire.max-snapshot-age-ms": 0}
    target = made(tmp_path, {"id": "int"}, {"id": pa.array([0], pa.int32())}, **keeps)
    for number in range(1, 10):
        target.append(pa.table({"id": pa.array([number], pa.int32())}), BatchId("p/g", number))
    before = files_of(target)
    target.maintain()
    assert [row["id"] for row in found(target)] == list(range(10))
    assert (len(before), len(files_of(target)), len(target.table.snapshots())) == (10, 1, 1)
    assert target.version_of("p/g") == 9
    target.maintain()
    assert len(files_of(target)) == 1
