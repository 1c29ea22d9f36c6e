"""Records cut where marks say that a table has another definition from there on."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Generic, NamedTuple, TypeVar

from cdckit.api.marks import MarkKind, RoutedMark, TableMark
from cdckit.api.record import Record, lane_of

AnyMark = TypeVar("AnyMark", TableMark, RoutedMark)

REDEFINING = frozenset({MarkKind.ALTER, MarkKind.CREATE, MarkKind.RENAME, MarkKind.SNAPSHOT_BEGIN})
"""Marks behind which rows may have other columns than before, or those of an earlier time again."""


class Piece(NamedTuple, Generic[AnyMark]):
    """Records between two marks that cut them, with the marks among them.

    Attributes:
        records: in order.
        marks: in order.
        cut: the position of the mark that it ends with; None: it ends with the records.
        last: whether nothing follows it.
    """

    records: Sequence[Record]
    marks: Sequence[AnyMark]
    cut: str | None
    last: bool


def pieces(records: Sequence[Record], marks: Sequence[AnyMark], kinds: Set[MarkKind]) -> Iterator[Piece[AnyMark]]:
    """Records in pieces, each of which ends with a mark; at least one.

    Args:
        records: in order, those of several lanes one among the other.
        marks: their positions say between which records.
        kinds: those of the marks that cut.
    """
    cuts = sorted({_told(mark).position for mark in marks if _told(mark).kind in kinds})
    if not cuts:
        yield Piece(records, marks, None, last=True)
        return
    behind = _places(cuts)
    cut_records: defaultdict[int, list[Record]] = defaultdict(list)
    cut_marks: defaultdict[int, list[AnyMark]] = defaultdict(list)
    for record in records:
        cut_records[behind(record.position)].append(record)
    for mark in marks:
        cut_marks[behind(_told(mark).position)].append(mark)
    rest = len(cuts) in cut_records or len(cuts) in cut_marks
    for at, cut in enumerate(cuts):
        yield Piece(cut_records[at], cut_marks[at], cut, last=not rest and at == len(cuts) - 1)
    if rest:
        yield Piece(cut_records[len(cuts)], cut_marks[len(cuts)], None, last=True)


def _told(mark: TableMark | RoutedMark) -> TableMark:
    return mark if isinstance(mark, TableMark) else mark.mark


def _places(cuts: Sequence[str]) -> Callable[[str], int]:
    """Gives of a position the number of the piece; those of a lane without cuts are in the first."""
    lanes: defaultdict[str, list[str]] = defaultdict(list)
    for cut in cuts:
        lanes[lane_of(cut)].append(cut)
    numbers = {cut: number for number, cut in enumerate(cuts, 1)}

    def behind(position: str) -> int:
        own = lanes.get(lane_of(position), ())
        at = bisect_left(own, position)
        return numbers[own[at - 1]] if at else 0

    return behind
