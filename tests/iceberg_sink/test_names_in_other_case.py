"""Columns whose names differ in upper and lower case alone, which most readers of Iceberg do not tell apart."""

from __future__ import annotations

from typing import Any

import pytest
from pyiceberg.types import IntegerType

from delta_sink.shop import Shop
from delta_sink.test_names_in_other_case import DROPPED_AND_ADDED, RENAMED
from histories.lakes import IcebergTables


def rows(shop: Shop) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names of the columns that are not about the change, and what they hold."""
    lake = shop.lake
    assert isinstance(lake, IcebergTables)
    found = lake.table("t").scan().to_arrow()
    names = [name for name in found.column_names if not name.startswith("__")]
    return names, sorted(tuple(row.values()) for row in found.select(names).to_pylist())


@pytest.fixture(name="made")
def _made(shop: Shop, mode: str) -> Shop:
    made = shop.with_sink(mode, {})
    made.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT); INSERT INTO t VALUES (1, 10, 1)")
    made.deliver()
    made.run(DROPPED_AND_ADDED)
    made.deliver()
    made.run(RENAMED)
    made.deliver()
    return made


@pytest.mark.parametrize("mode", ["changelog"])
def test_a_changelog_goes_on_with_the_column_that_it_has(made: Shop) -> None:
    assert rows(made) == (["id", "a", "B"], [(1, 10, 1), (2, 20, 2), (3, 30, 3)])


@pytest.mark.parametrize("mode", ["history"])
def test_a_history_keeps_the_one_that_was_dropped_under_another_name(made: Shop) -> None:
    names, found = rows(made)
    assert (names, found) == (["id", "a__1", "B", "A"], [(1, 10, 1, None), (2, None, 2, 20), (3, None, 3, 30)])


@pytest.mark.parametrize("mode", ["mirror"])
def test_a_mirror_has_the_source_s_names(made: Shop) -> None:
    made.assert_equal(["t"])
    assert sorted(rows(made)[0]) == ["A", "B", "id"]


def test_a_table_that_has_two_keeps_both(shop: Shop) -> None:
    """As earlier versions made them."""
    made = shop.with_sink("changelog", {})
    made.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT); INSERT INTO t VALUES (1, 10, 1)")
    made.deliver()
    lake = made.lake
    assert isinstance(lake, IcebergTables)
    with lake.table("t").update_schema() as change:
        change.add_column("A", IntegerType())
    made.run(DROPPED_AND_ADDED)
    made.deliver()
    assert rows(made) == (["id", "a", "b", "A"], [(1, 10, 1, None), (2, None, 2, 20)])


def test_a_column_that_is_called_as_one_about_the_change_is_told(shop: Shop) -> None:
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, __OP INT); INSERT INTO t VALUES (1, 1)")
    ended = shop.with_sink("changelog", {}).pipeline().run("--once")
    assert ended.code == 4
    assert "'__OP'" in ended.errors
    assert "'__op'" in ended.errors
    assert "ReplaceField" in ended.errors
