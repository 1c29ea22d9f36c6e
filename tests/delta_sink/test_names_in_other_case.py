"""Columns whose names differ in upper and lower case alone, of which Delta knows one."""

from __future__ import annotations

from typing import Any

import pytest
from deltalake import DeltaTable

from delta_sink.shop import Shop

DROPPED_AND_ADDED = "ALTER TABLE t DROP a, ADD A INT; INSERT INTO t VALUES (2, 2, 20)"
RENAMED = "ALTER TABLE t RENAME COLUMN b TO B; INSERT INTO t VALUES (3, 3, 30)"


def rows(shop: Shop, *names: str) -> list[tuple[Any, ...]]:
    found = DeltaTable(shop.table("t")).to_pyarrow_table().select(["id", *names]).to_pylist()
    return sorted(tuple(row.values()) for row in found)


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
    assert rows(made, "a", "B") == [(1, 10, 1), (2, 20, 2), (3, 30, 3)]
    made.run("ALTER TABLE t ADD c INT; INSERT INTO t VALUES (4, 4, 40, 400)")
    made.deliver()
    assert rows(made, "a", "B", "c")[-1] == (4, 40, 4, 400)


@pytest.mark.parametrize("mode", ["history"])
def test_a_history_keeps_the_one_that_was_dropped_under_another_name(made: Shop) -> None:
    assert rows(made, "a__1", "A", "B") == [(1, 10, None, 1), (2, None, 20, 2), (3, None, 30, 3)]


@pytest.mark.parametrize("mode", ["mirror"])
def test_a_mirror_has_the_source_s_names(made: Shop) -> None:
    made.assert_equal(["t"])
    assert {"A", "B"} <= {*DeltaTable(made.table("t")).to_pyarrow_table().column_names}


@pytest.mark.parametrize("mode", ["mirror", "changelog"])
def test_a_column_that_is_called_as_one_about_the_change_is_told(shop: Shop, mode: str) -> None:
    own = "__Position" if mode == "mirror" else "__OP"
    shop.run(f"CREATE TABLE t (id INT PRIMARY KEY, {own} INT); INSERT INTO t VALUES (1, 1)")
    ended = shop.with_sink(mode, {}).pipeline().run("--once")
    assert ended.code == 4
    assert f"'{own}'" in ended.errors
    assert f"'{own.lower()}'" in ended.errors
    assert "ReplaceField" in ended.errors
