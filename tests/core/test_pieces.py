"""Records are cut at the marks behind which a table has other columns, each lane at its own."""

from __future__ import annotations

from cdckit.api.marks import MarkKind, TableExample, TableMark
from cdckit.api.record import LANE_END, Record
from cdckit.tables.pieces import REDEFINING, pieces


def record(position: str) -> Record:
    """One at a place."""
    return Record("t", None, None, position=position)


def mark(kind: MarkKind, position: str) -> TableMark:
    """One at a place."""
    return TableMark(kind, position, TableExample("d.t", (record(position), record(position))))


def cut(places: list[str], *marks: TableMark) -> list[tuple[list[str], list[str], str | None, bool]]:
    """The pieces of records at places."""
    found = pieces([record(place) for place in places], marks, REDEFINING)
    return [
        ([one.position for one in piece.records], [one.position for one in piece.marks], piece.cut, piece.last)
        for piece in found
    ]


def test_without_marks_that_cut_there_is_one_piece() -> None:
    assert cut([]) == [([], [], None, True)]
    assert cut(["1", "3"], mark(MarkKind.TRUNCATE, "2")) == [(["1", "3"], ["2"], None, True)]


def test_each_mark_ends_the_piece_before_it() -> None:
    marks = mark(MarkKind.RENAME, "2"), mark(MarkKind.DROP, "2"), mark(MarkKind.UNTOLD, "3"), mark(MarkKind.CREATE, "5")
    assert cut(["1", "4", "6"], *marks) == [
        (["1"], ["2", "2"], "2", False),
        (["4"], ["3", "5"], "5", False),
        (["6"], [], None, True),
    ]
    assert cut(["1"], mark(MarkKind.SNAPSHOT_BEGIN, "2")) == [(["1"], ["2"], "2", True)]


def test_records_of_other_lanes_are_not_behind_a_mark() -> None:
    here, there = f"a{LANE_END}", f"b{LANE_END}"
    assert cut([f"{here}1", f"{there}7", f"{here}3"], mark(MarkKind.ALTER, f"{here}2")) == [
        ([f"{here}1", f"{there}7"], [f"{here}2"], f"{here}2", False),
        ([f"{here}3"], [], None, True),
    ]
