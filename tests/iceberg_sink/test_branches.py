"""Tables that are written on a branch, seen there, and published."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitFailedException

from cdckit import ConfigError, SinkError
from cdckit.cli.main import call
from cdckit.tables.target import BatchId
from cdckit_iceberg.branches import publish
from cdckit_iceberg.config import IcebergConfig
from cdckit_iceberg.target import IcebergTarget
from delta_sink.shop import Shop
from iceberg_sink.reading import by_duckdb
from iceberg_sink.rest import rest_catalog
from iceberg_sink.test_evolution import made, target_in
from iceberg_sink.test_tables import lake_of

AUDIT = {"branch": "audit"}


def row(number: int) -> pa.Table:
    return pa.table({"id": pa.array([number], pa.int32())})


def ids(target: IcebergTarget, branch: str = "main") -> list[int]:
    """By pyiceberg, anew."""
    table = target.table.refresh()
    found = table.scan().use_ref(branch) if branch in table.refs() else table.scan()
    return sorted(found.to_arrow().column("id").to_pylist())


def names(shop: Shop, table: str, branch: str) -> list[tuple[Any, ...]]:
    """By DuckDB."""
    found = by_duckdb(lake_of(shop).table(table), branch)
    return sorted(tuple(value for name, value in row.items() if name != "__position") for row in found)


def test_a_branch_begins_with_what_main_has(tmp_path: Path) -> None:
    made(tmp_path, {"id": "int"}, {"id": pa.array([1], pa.int32())})
    target = target_in(tmp_path, **AUDIT)
    assert target.version_of("p/g") == 1
    target.append(row(2), BatchId("p/g", 2))
    assert (ids(target), ids(target, "audit")) == ([1], [1, 2])
    assert [part.num_rows for part in target.scan(["id"])] == [1, 1]
    assert (target.version_of("p/g"), target_in(tmp_path).version_of("p/g")) == (2, 1)
    target.maintain()
    target.clear(BatchId("p/g", 3))
    assert (ids(target), ids(target, "audit"), target.has_rows) == ([1], [], False)


def test_a_table_that_is_made_on_a_branch_has_an_empty_main(tmp_path: Path) -> None:
    target = target_in(tmp_path, **AUDIT)
    target.create({"id": "int"}, {})
    assert target.version_of("p/g") is None
    target.append(row(1), BatchId("p/g", 1))
    target.append(row(2), BatchId("p/g", 2))
    assert (ids(target), ids(target, "audit")) == ([], [1, 2])
    publish(target.table.catalog, "default.t", "audit")
    main = target_in(tmp_path)
    assert (ids(main), main.version_of("p/g")) == ([1, 2], 2)


def test_a_branch_that_main_has_left_is_not_published(tmp_path: Path) -> None:
    made(tmp_path, {"id": "int"}, {"id": pa.array([1], pa.int32())})
    target = target_in(tmp_path, **AUDIT)
    target.append(row(2), BatchId("p/g", 2))
    target_in(tmp_path).append(row(3), BatchId("other/g", 1))
    with pytest.raises(ValueError, match="does not go back to what main has"):
        publish(target.table.catalog, "default.t", "audit")
    with pytest.raises(ValueError, match="no branch 'nosuch'"):
        publish(target.table.catalog, "default.t", "nosuch")
    assert ids(target) == [1, 3]


def test_a_branch_that_was_dropped_unpublished_is_told_of(tmp_path: Path) -> None:
    made(tmp_path, {"id": "int"}, {"id": pa.array([1], pa.int32())})
    target = target_in(tmp_path, **AUDIT)
    target.append(row(2), BatchId("p/g", 2))
    target.expect(BatchId("p/g", 3))
    target.table.manage_snapshots().remove_branch("audit").commit()
    again = target_in(tmp_path, **AUDIT)
    with pytest.raises(SinkError, match="branch 'audit' is gone, and main lacks") as told:
        again.expect(BatchId("p/g", 3))
    assert told.value.number == "CDC4406"
    again.expect(BatchId("p/anew", 1))


def test_a_branch_that_was_dropped_published_is_made_anew(tmp_path: Path) -> None:
    made(tmp_path, {"id": "int"}, {"id": pa.array([1], pa.int32())})
    target = target_in(tmp_path, **AUDIT)
    target.append(row(2), BatchId("p/g/1", 2))
    target.append(row(3), BatchId("p/g", 2))
    publish(target.table.catalog, "default.t", "audit")
    target.table.refresh().manage_snapshots().remove_branch("audit").commit()
    again = target_in(tmp_path, **AUDIT)
    again.expect(BatchId("p/g", 3))
    assert again.version_of("p/g") == 2
    again.append(row(4), BatchId("p/g", 3))
    assert (ids(again), ids(again, "audit")) == ([1, 2, 3], [1, 2, 3, 4])


def test_of_two_that_commit_to_a_branch_one_is_told(tmp_path: Path) -> None:
    made(tmp_path, {"id": "int"}, {"id": pa.array([1], pa.int32())})
    one, other = (target_in(tmp_path, **AUDIT) for _ in range(2))
    assert other.version_of("p/g") == 1
    one.append(row(2), BatchId("p/g", 2))
    with pytest.raises(CommitFailedException):
        other.append(row(2), BatchId("p/g", 2))
    assert other.version_of("p/g") == 2


def test_main_keeps_the_values_of_its_columns(tmp_path: Path) -> None:
    """All branches have the columns of the table: what would take values from main's rows is refused."""
    columns = {"id": "int", "v": "bigint"}
    made(tmp_path, columns, {"id": pa.array([1], pa.int32()), "v": [7]})
    target = target_in(tmp_path, **AUDIT)
    with pytest.raises(SinkError, match=r"column 'v' gets a type .* on branch 'main' they would be lost"):
        target.alter([["widen", "v", "decimal(20,0)"]])
    with pytest.raises(SinkError, match="column 'v' gets a type"):
        target.replace(pa.table({"id": pa.array([2], pa.int32()), "v": ["x"]}), BatchId("p/g", 2))
    target.alter([["rename", "v", "w"], ["widen", "id", "bigint"], ["add", "x", "string"]])
    target.append(pa.table({"id": [2], "w": pa.array([8], pa.int64()), "x": ["new"]}), BatchId("p/g", 2))
    main = target.table.refresh().scan().to_arrow().to_pylist()
    assert main == [{"id": 1, "w": 7, "x": None}]
    there = [one for part in target.scan(["id", "w", "x"]) for one in part.to_pylist()]
    assert sorted(there, key=lambda one: one["id"]) == [*main, {"id": 2, "w": 8, "x": "new"}]


def test_a_tag_is_no_branch(tmp_path: Path) -> None:
    target = made(tmp_path, {"id": "int"}, {"id": pa.array([1], pa.int32())})
    head = target.table.current_snapshot()
    assert head is not None
    target.table.manage_snapshots().create_tag(head.snapshot_id, "audit").commit()
    with pytest.raises(ValueError, match="audit is a tag"):
        target_in(tmp_path, **AUDIT).append(row(2), BatchId("p/g", 2))


def test_which_branches_there_are_no_options_for() -> None:
    place = {"catalog.type": "sql", "mode": "mirror"}
    with pytest.raises(ConfigError, match="should be the name of a branch"):
        IcebergConfig.load({**place, "branch": " "}, "sink")
    with pytest.raises(ConfigError, match="take one of them away"):
        IcebergConfig.load({**place, **AUDIT, "mirror.apply.interval.ms": 1000}, "sink")
    assert "branch" not in IcebergConfig.load(place, "sink")[0].identity()
    assert IcebergConfig.load({**place, **AUDIT}, "sink")[0].identity()["branch"] == "audit"


def diff(shop: Shop) -> int:
    return call(["diff", str(shop.pipeline().written())])


def write_audit_publish(shop: Shop) -> None:
    """Rows are on the branch alone until it is published; `cdc diff` compares the branch with the source."""
    audited = replace(shop, sink={**shop.sink, **AUDIT})
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    audited.deliver()
    assert (names(shop, "t", "main"), names(shop, "t", "audit")) == ([], [(1, 1), (2, 2), (3, 3)])
    assert diff(audited) == 0
    shop.run("UPDATE t SET v = 20 WHERE id = 2; DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (4, 4)")
    publish(lake_of(shop).catalog, f"{lake_of(shop).namespace}.{shop.name}_{shop.name}_t", "audit")
    audited.deliver()
    assert names(shop, "t", "main") == [(1, 1), (2, 2), (3, 3)]
    assert names(shop, "t", "audit") == [(2, 20), (3, 3), (4, 4)]
    assert diff(audited) == 0
    shop.run("ALTER TABLE t ADD COLUMN w INT DEFAULT 7; UPDATE t SET w = 8 WHERE id = 3")
    audited.deliver()
    assert names(shop, "t", "main") == [(1, 1, None), (2, 2, None), (3, 3, None)]
    assert names(shop, "t", "audit") == [(2, 20, 7), (3, 3, 8), (4, 4, 7)]


def test_write_audit_publish(shop: Shop) -> None:
    write_audit_publish(shop)


def test_write_audit_publish_behind_rest(shop: Shop, tmp_path: Path) -> None:
    with rest_catalog(tmp_path) as uri:
        write_audit_publish(replace(shop, catalog=({"type": "rest", "uri": uri}, "lake")))


def test_another_branch_is_another_place(shop: Shop) -> None:
    shop.run("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)")
    shop.deliver()
    refused = shop.pipeline(AUDIT).run("--once")
    assert (refused.code, "sink.branch: was not set, and is 'audit' now" in refused.stderr) == (2, True)
    assert call(["offsets", "keep", str(shop.pipeline(AUDIT).written())]) == 0
    shop.run("INSERT INTO t VALUES (2)")
    shop.deliver(AUDIT)
    assert (names(shop, "t", "main"), names(shop, "t", "audit")) == ([(1,)], [(1,), (2,)])
