"""Mirrors whose changes wait beside them, and tables whose small files are put together."""

from __future__ import annotations

import time
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from cdckit.tables.delta.placing import Placing
from cdckit.tables.delta.target import DeltaTarget
from cdckit.tables.delta.version import DeltaVersion
from cdckit.tables.lake.deferred import MARKS, SUFFIX, DeferredChanges
from cdckit.tables.lake.pyarrow_rows import schema_of
from cdckit.tables.lake.target import Merge
from cdckit.tables.layout import ABSENT
from cdckit.tables.target import BatchId
from cdckit_delta import reading
from cdckit_delta.reading import current_rows
from delta_sink.shop import Shop
from histories.lakes import has_version

LONG = {"mirror.apply.interval.ms": 2_147_483_647}
"""The most that can be asked for: longer than a machine that runs tests has been up."""
ROWS = "CREATE TABLE t (id INT PRIMARY KEY, v INT, w TEXT); INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')"


def rows(path: Path) -> set[tuple[Any, ...]]:
    return {(row["id"], row["v"], row["w"]) for row in current_rows(str(path)).to_pylist()}


def merged(path: Path) -> set[tuple[Any, ...]]:
    found = DeltaTable(path).to_pyarrow_table().to_pylist()
    return {(row["id"], row["v"], row["w"]) for row in found}


def test_changes_wait_and_are_read(shop: Shop) -> None:
    shop.run(ROWS)
    shop.deliver(LONG)
    path = shop.table("t")
    shop.run("UPDATE t SET v = 10 WHERE id = 1; DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (4, 4, 'd')")
    shop.run("SET binlog_row_image = minimal; UPDATE t SET w = 'x' WHERE id = 3")
    shop.deliver(LONG)
    assert merged(path) == {(1, 1, "a"), (2, 2, "b"), (3, 3, "c")}
    assert rows(path) == {(1, 10, "a"), (3, 3, "x"), (4, 4, "d")}
    shop.run("UPDATE t SET v = 40 WHERE id = 4; INSERT INTO t VALUES (2, 0, 'again')")
    shop.deliver(LONG)  # those of the run before have waited for long, as far as this one knows
    assert rows(path) == merged(path) == {(1, 10, "a"), (2, 0, "again"), (3, 3, "x"), (4, 40, "d")}


def test_an_empty_text_is_a_value(shop: Shop) -> None:
    """Also beside a change that lacks the value of its column."""
    shop.run(ROWS)
    shop.deliver(LONG)
    shop.run("SET binlog_row_image = minimal; UPDATE t SET v = 10 WHERE id = 1; UPDATE t SET w = '' WHERE id = 2")
    shop.deliver(LONG)
    path = shop.table("t")
    assert merged(path) == {(1, 1, "a"), (2, 2, "b"), (3, 3, "c")}
    assert rows(path) == {(1, 10, "a"), (2, 2, ""), (3, 3, "c")}
    shop.run("UPDATE t SET v = 30 WHERE id = 3")
    shop.deliver({"mirror.apply.interval.ms": 0})  # by which all that waits is merged
    assert merged(path) == {(1, 10, "a"), (2, 2, ""), (3, 30, "c")}


def test_names_of_columns_with_commas(shop: Shop) -> None:
    """Also that of the key, which is noted beside the changes that wait."""
    shop.run("CREATE TABLE t (`i,d` INT PRIMARY KEY, v INT, w INT, `v,w` INT); INSERT INTO t VALUES (1, 1, 1, 1)")
    shop.deliver(LONG)
    shop.run("SET binlog_row_image = minimal; UPDATE t SET `v,w` = 5; INSERT INTO t VALUES (2, 2, 2, 2)")
    shop.deliver(LONG)
    names = ["i,d", "v", "w", "v,w"]
    found = current_rows(str(shop.table("t"))).select(names).to_pylist()
    assert sorted(tuple(row.values()) for row in found) == [(1, 1, 1, 5), (2, 2, 2, 2)]
    shop.run("UPDATE t SET v = 9")
    shop.deliver(LONG)  # by which all that waits is merged
    with_key = DeltaVersion(DeltaTable(shop.table("t"))).scan(names)
    assert sorted(tuple(row.values()) for batch in with_key for row in batch.to_pylist()) == [
        (1, 9, 1, 5),
        (2, 9, 2, 2),
    ]


def test_what_cannot_wait_comes_behind_what_has(shop: Shop) -> None:
    shop.run(ROWS)
    shop.deliver(LONG)
    shop.run("UPDATE t SET v = v + 1")
    shop.deliver(LONG)
    shop.run("ALTER TABLE t ADD COLUMN z INT DEFAULT 7; UPDATE t SET id = 30 WHERE id = 3; DELETE FROM t WHERE id = 1")
    shop.deliver(LONG)
    assert {(row["id"], row["v"], row["z"]) for row in current_rows(str(shop.table("t"))).to_pylist()} == {
        (2, 3, 7),
        (30, 4, 7),
    }
    shop.run("TRUNCATE t; INSERT INTO t VALUES (5, 5, 'e', 5)")
    shop.deliver(LONG)
    assert rows(shop.table("t")) == merged(shop.table("t")) == {(5, 5, "e")}


@pytest.mark.timeout(300)
def test_they_are_merged_in_time_though_nothing_more_comes(shop: Shop) -> None:
    shop.run(ROWS)
    sink = {"mirror.apply.interval.ms": 500, "optimize.interval.ms": 500}
    with shop.pipeline(sink).running() as process:
        process.wait_until(lambda: has_version(shop.table("t")), "the table", 120)
        shop.run("UPDATE t SET v = 50 WHERE id = 1")
        process.wait_until(lambda: (1, 50, "a") in merged(shop.table("t")), "the merge", 120)


def test_small_files_are_put_together(shop: Shop) -> None:
    shop.run(ROWS)
    log = Shop(shop.server, shop.name, shop.folder, "changelog")
    path = log.table("t")
    with log.pipeline({"optimize.interval.ms": 2000}).running() as process:
        process.wait_until(lambda: has_version(path), "the table", 120)
        for number in range(10, 16):
            log.run(f"INSERT INTO t VALUES ({number}, 1, '')")
            time.sleep(0.1)
        process.wait_until(lambda: _compacted(path) and _rows(path) == 9, "files put together", 120)


COLUMNS = {"id": "int", "v": "string", "__position": "string"}


class Waiting:
    """A mirror, and the newest value of its only row, which waits beside it."""

    def __init__(self, folder: Path, **properties: str) -> None:
        self.target = DeltaTarget(str(folder), {}, "t", Placing(properties=properties))
        self.target.create(COLUMNS, {})
        self.deferred = DeferredChanges(self.target, 1000)
        self.number = 0

    def wait(self, value: str) -> None:
        """Appends the value to those that wait."""
        self.number += 1
        row = [[1], [value], [str(self.number)], ["c"], [None]]
        changes = pa.table(row, schema=schema_of({**COLUMNS, **MARKS}))
        self.deferred.append(changes, COLUMNS, ("id",), BatchId("p/g", self.number))

    def apply(self) -> None:
        """Merges it."""
        changes = self.deferred.changes(COLUMNS).drop_columns([ABSENT])
        self.target.merge(Merge(changes, ("id",), (), ()), BatchId("p/g/applied", self.deferred.version))
        self.deferred.clear("p/g")
        self.target.refresh()


def test_changes_are_read_that_are_merged_between_two_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting, is_there = Waiting(tmp_path), DeltaTable.is_deltatable
    waiting.wait("old")
    waiting.apply()
    waiting.wait("new")

    def merged_first(*place: Any) -> bool:
        if waiting.deferred.waiting:
            waiting.apply()
        return is_there(*place)

    monkeypatch.setattr(DeltaTable, "is_deltatable", merged_first)
    assert current_rows(waiting.target.path).column("v").to_pylist() == ["new"]


def test_newer_changes_that_are_merged_behind_the_look_at_those_that_wait_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, beside, looks = Waiting(tmp_path), reading._beside, count()
    waiting.wait("old")
    waiting.apply()
    waiting.wait("new")

    def merged_behind(*place: Any) -> DeltaTable | None:
        found = beside(*place)
        if not next(looks):
            waiting.apply()
            waiting.wait("newest")
            waiting.apply()
        return found

    monkeypatch.setattr(reading, "_beside", merged_behind)
    assert current_rows(waiting.target.path).column("v").to_pylist() == ["newest"]


def test_files_of_what_was_merged_are_removed(tmp_path: Path) -> None:
    waiting = Waiting(tmp_path, **{"delta.deletedFileRetentionDuration": "interval 0 days"})
    for value in ("one", "other"):
        waiting.wait(value)
        waiting.apply()
    waiting.wait("waits")
    waiting.deferred.maintain()
    assert len(list(Path(waiting.target.path + SUFFIX).glob("*.parquet"))) == 1
    assert [row["v"] for row in waiting.deferred.changes(COLUMNS).to_pylist()] == ["waits"]


def test_what_stands_beside_is_tended_with_the_mirror(shop: Shop) -> None:
    shop.run(ROWS)
    sink = {**LONG, "table.delta.deletedFileRetentionDuration": "interval 0 days"}
    shop.deliver(sink)
    for value in range(10, 13):
        shop.run(f"UPDATE t SET v = {value} WHERE id = 1")
        shop.deliver({**sink, "mirror.apply.interval.ms": 1, "optimize.interval.ms": 1})
    side = Path(f"{shop.table('t')}{SUFFIX}")
    assert len(list(side.glob("*.parquet"))) < 2
    assert (1, 12, "a") in rows(shop.table("t"))


def _rows(path: Path) -> int:
    return int(DeltaTable(path).to_pyarrow_table().num_rows)


def _compacted(path: Path) -> bool:
    return any(entry["operation"] == "OPTIMIZE" for entry in DeltaTable(path).history())
