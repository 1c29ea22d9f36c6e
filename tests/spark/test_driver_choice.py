"""Which tables of a batch the driver writes."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import sentinel

import pytest

from cdckit import MarkKind
from cdckit.tables.layout import Layout
from cdckit.tables.marks import Mark
from cdckit_spark.config import LakeConfig
from cdckit_spark.driver import DriverWriter
from cdckit_spark.rows import Heading, TableRows

LAYOUT = Layout("rows", "d.a", (("id", "int"), ("__position", "string")), ("id",))
ROWS = TableRows(sentinel.packets, "t", [Heading("1", LAYOUT, 5, "1", 100)])


def _takes(rows: TableRows) -> bool:
    config, _ = LakeConfig.load({"path": "/lake", "small.batch.rows": 10}, "sink")
    return DriverWriter(config, "/lake", shares_folders=True).takes(rows)


@pytest.mark.parametrize("kind", list(MarkKind))
def test_whatever_happens_to_a_table_with_few_rows(kind: MarkKind) -> None:
    """That a snapshot has told all of it, among others: each table that is read whole has that mark."""
    assert _takes(replace(ROWS, marks=[Mark(kind, "2", "d.a", "d.a")]))


def test_many_rows_and_those_whose_old_values_are_looked_up_are_sparks() -> None:
    heading = ROWS.headings[0]
    assert _takes(ROWS)
    assert not _takes(replace(ROWS, headings=[heading._replace(rows=11)]))
    assert not _takes(replace(ROWS, headings=[heading._replace(packed_bytes=9 << 20)]))
    assert not _takes(replace(ROWS, headings=[heading._replace(layout=replace(LAYOUT, moved=True))]))


def test_a_snapshots_own_marks_do_not_cut_the_rows() -> None:
    """Else the driver would ask for a heading of each packet."""
    begun = [Mark(kind, "2", "d.a", "d.a") for kind in (MarkKind.SNAPSHOT_BEGIN, MarkKind.SNAPSHOT_END)]
    assert not replace(ROWS, marks=begun).cut
    assert replace(ROWS, marks=[*begun, Mark(MarkKind.ALTER, "3", "d.a", "d.a")]).cut
