"""What table marks are to a changelog: rows that say of a source table that it has no rows any more, or a stop.

A row of op `t` stands at the mark's position. Of each key the newest row behind the last of them is the source's,
as in a mirror, which is emptied there.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from cdckit.api.marks import EMPTYING
from cdckit.api.record import Record
from cdckit.api.schema import INT64, STRING
from cdckit.tables.behavior import Behavior
from cdckit.tables.groups import Group
from cdckit.tables.layout import Layout
from cdckit.tables.marks import Mark
from cdckit.tables.segments import UNFOLLOWED, chosen, gets_another_key
from cdckit.tables.shapes import Facts
from cdckit.tables.target import Target
from cdckit.tables.types import column_type

Heads = Sequence[tuple[str, Layout]]
"""Rows that were put together: the position of the first, and what they have in common."""


@dataclass(frozen=True, slots=True)
class Logged:
    """What the marks of a batch come to in a changelog.

    Attributes:
        rows: those that it is to have besides, each by itself; only where the table is there, or comes with the batch.
        used: the source tables whose acceptance was needed.
    """

    rows: Sequence[Group] = ()
    used: frozenset[str] = frozenset()


def logged(
    marks: Sequence[Mark],
    heads: Heads,
    behavior: Behavior,
    accepted: Set[str],
    awaited: Set[str],
    target: Target,
    *,
    existed: bool,
) -> Logged:
    """What the marks of a batch come to.

    Args:
        marks: told by the source, of one target.
        heads: the batch's rows.
        behavior: what the user has chosen.
        accepted: the source tables whose changes the user has accepted.
        awaited: those that are to be read again: what the log does not tell of their rows comes with these.
        target: the table.
        existed: whether it was there before the batch.

    Raises:
        SinkError: see `chosen`; also where a table gets another key, by which its older rows are not known.
    """

    def has_rows_before(mark: Mark) -> bool:
        return existed or any(layout.source == mark.source and position < mark.position for position, layout in heads)

    def untold(mark: Mark) -> bool:
        return mark.kind in UNFOLLOWED or (gets_another_key(mark) and has_rows_before(mark))

    judged = [mark for mark in marks if mark.table not in awaited or not untold(mark)]
    found, used = chosen(judged, behavior, accepted, target, untold)
    events = {position for position, layout in heads if layout.kind == "truncate"}
    emptying = (mark for mark in found if mark.kind in EMPTYING and mark.position not in events)
    return Logged([_row(mark, target.topic) for mark in emptying if has_rows_before(mark)], used)


def _row(mark: Mark, topic: str) -> Group:
    """With what tells the source table's rows from those of others."""
    columns = [(name, column_type(STRING if isinstance(value, str) else INT64)) for name, value in mark.scope.items()]
    first = Record(topic, None, None, position=mark.position)
    group = Group("changelog", "", "truncate", columns, first, mark.source, ())
    database, table = mark.named
    group.add(tuple(mark.scope.values()), mark.position, Facts("t", deleted=False, db=database, table=table))
    return group
