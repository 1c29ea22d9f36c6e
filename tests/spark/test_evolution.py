"""Whose columns a table follows: the newest of each source table, lane by lane where positions cannot be compared."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pyspark.sql import DataFrame

from cdckit.errors import SinkError
from cdckit_spark.evolution import Evolution
from cdckit_spark.layout import Layout
from cdckit_spark.targets import BatchId, Columns, Target

OLD = Layout("rows", "shop.people", (("id", "int"), ("name", "string")), ("id",))
NEW = Layout("rows", "shop.people", (*OLD.columns, ("city", "string")), ("id",))


class Table(Target):
    """A table of which only the columns and notes are kept."""

    def __init__(self) -> None:
        self.made: Columns = {}
        self.noted: dict[str, str] = {}

    def columns(self) -> Columns:
        return dict(self.made)

    def create(self, columns: Columns) -> None:
        self.made = dict(columns)

    def add_columns(self, columns: Columns) -> None:
        self.made |= columns

    def notes(self) -> dict[str, str]:
        return dict(self.noted)

    def note(self, notes: Mapping[str, str]) -> None:
        self.noted |= notes

    def append(self, rows: DataFrame, batch: BatchId) -> None:
        raise NotImplementedError


def test_a_column_that_came_and_went_is_gone() -> None:
    """Also where the columns are ones that this process has met before."""
    table = Evolution(Table())
    table.follow([("1", OLD)])
    table.follow([("2", NEW)])
    table.follow([("3", NEW)])
    with pytest.raises(SinkError, match="since position 4 column 'city' is gone"):
        table.follow([("4", OLD)])


@pytest.mark.parametrize("restarted", [False, True])
def test_each_lane_has_a_history_of_its_own(restarted: bool) -> None:
    """An old row of one lane says nothing about a new one of another; a column that goes within a lane is gone."""
    target = Table()
    table = Evolution(target)
    table.follow([("1@5", OLD), ("1@9", NEW), ("2@0", NEW), ("3@0", OLD)])
    assert [*target.made] == ["id", "name", "city"]
    if restarted:
        table = Evolution(target)
    table.follow([("3@70", OLD), ("3@80", NEW)])
    for lane in ("1", "2", "3"):
        with pytest.raises(SinkError, match=f"since position {lane}@90 column 'city' is gone"):
            table.follow([(f"{lane}@90", OLD)])


def test_an_older_row_that_comes_again_is_no_change() -> None:
    """Positions that can be compared say so."""
    table = Evolution(Table())
    table.follow([("1", OLD), ("2", NEW)])
    table.follow([("1", OLD)])
