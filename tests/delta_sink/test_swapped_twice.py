"""Tables that swap their names and swap them back within one batch: a changelog has rows of both times of a name."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from delta_sink.played import Played
from delta_sink.shop import Shop

MADE = """
CREATE TABLE t (id INT PRIMARY KEY, v INT, a DATETIME); INSERT INTO t VALUES (1, 0, '2024-02-03 04:05:06');
CREATE TABLE u (id INT PRIMARY KEY, v INT, a DECIMAL(9, 3)); INSERT INTO u VALUES (2, 0, 2.5);
"""
CHANGED = "UPDATE t SET v = v + 1; UPDATE u SET v = v + 1;"
SWAPPED = f"RENAME TABLE t TO x, u TO t, x TO u; {CHANGED}"
TIME, AMOUNT = datetime(2024, 2, 3, 4, 5, 6), Decimal("2.500")


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_the_rows_of_each_time_have_their_own_columns(
    shop: Shop, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    changelog = replace(shop, mode="changelog", format=kind)
    pipeline = Played(changelog, {}, lambda: "".join(capsys.readouterr()))
    changelog.run(MADE)
    assert not pipeline.stopped()
    changelog.run(CHANGED + 2 * SWAPPED)
    assert pipeline.resolved() == {(what, table) for what in ("schema accept", "resnapshot") for table in "tu"}
    assert _told(pipeline, "t") == _times(1, TIME, 2, AMOUNT)
    assert _told(pipeline, "u") == _times(2, AMOUNT, 1, TIME)
    assert changelog.unequal() == set()


def _told(pipeline: Played, table: str) -> list[tuple[Any, ...]]:
    """Key, count and the columns that `a` was, oldest first, of a table's rows in order."""
    rows = sorted(pipeline.lake.found(table), key=lambda row: row["__position"])
    return [tuple(row[name] for name in ("id", "v", "a__1", "a__2", "a")) for row in rows]


def _times(key: int, value: Any, other_key: int, other: Any) -> list[tuple[Any, ...]]:
    """The rows of before, of between and of behind, that the table was emptied, and those that were read anew."""
    before = [(key, count, value, None, None) for count in (0, 1)]
    between, behind = (other_key, 2, None, other, None), (key, 3, None, None, value)
    return [*before, between, behind, (None,) * 5, behind]
