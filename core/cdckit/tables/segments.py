"""A batch of one target in the order of positions: rows up to a mark, the mark, the rows behind it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from cdckit.api.marks import EMPTYING, MarkKind
from cdckit.errors import SinkError
from cdckit.tables.behavior import Action, Behavior, ChangeKind
from cdckit.tables.marks import Mark

log = logging.getLogger("cdckit.tables")

UNFOLLOWED = frozenset({MarkKind.UNTOLD, MarkKind.RENAME})
"""Behind these, nobody can say from rows and marks which rows a source table has."""
CUTTING = frozenset({MarkKind.ALTER})
"""What is written before these is written by itself."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows of a batch between two marks that cut it, and the marks among them.

    Attributes:
        after: rows have positions beyond this one; "": from the batch's begin.
        until: and none beyond this one; None: to the batch's end.
        marks: the marks within it, in order; the one that it ends with is the last.
    """

    after: str
    until: str | None
    marks: tuple[Mark, ...]

    @property
    def whole(self) -> bool:
        """Whether it is all of the batch."""
        return not self.after and self.until is None


def segments(marks: Sequence[Mark], cutting: Set[MarkKind] = CUTTING) -> list[Segment]:
    """The segments of a batch, in order; at least one. Marks at one position belong together.

    Args:
        marks: of one target, in any order.
        cutting: the kinds of marks that end a segment.
    """
    found: list[Segment] = []
    after, among = "", list[Mark]()
    for position, group in groupby(sorted(marks, key=_position), key=_position):
        here = list(group)
        among += here
        if any(mark.kind in cutting for mark in here):
            found.append(Segment(after, position, tuple(among)))
            after, among = position, []
    return [*found, Segment(after, None, tuple(among))]


def _position(mark: Mark) -> str:
    return mark.position


Scope = tuple[tuple[str, Any], ...]
"""Columns and values that tell the rows of one source table from others."""


@dataclass(frozen=True, slots=True)
class Emptied:
    """What of a target was emptied within a segment, and where last.

    Attributes:
        whole: the position behind which rows count, where all of it was emptied; None: it was not.
        shares: the same for the rows of single source tables.
    """

    whole: str | None
    shares: dict[Scope, str]

    def __bool__(self) -> bool:
        return self.whole is not None or bool(self.shares)


def emptied(marks: Sequence[Mark], sources: Set[str], target: object) -> Emptied:
    """What marks in order come to.

    Args:
        marks: of one segment.
        sources: the sources whose rows are, or may be, in the target, as layouts name them.
        target: what errors call it.

    Raises:
        SinkError: what happened cannot be followed; the message names the table and says what to do.
    """
    whole: str | None = None
    shares: dict[Scope, str] = {}
    for position, group in groupby(marks, key=_position):
        here = [mark for mark in group if mark.kind in EMPTYING]
        if not here:
            continue
        alone = [mark for mark in here if not mark.scope]
        if not alone:
            shares |= {tuple(sorted(mark.scope.items())): position for mark in here}
            continue
        others = _others(here, sources)
        if others:
            raise SinkError(_shared(alone[0], sorted(others), target), number="CDC4404")
        whole, shares = position, {}
    return Emptied(whole, shares)


def _others(here: Sequence[Mark], sources: Set[str]) -> set[str]:
    """The sources in a target that were not emptied at a place where some were."""
    known = {name for mark in here for name in mark.sharing} - {mark.table for mark in here}
    return known | (sources - {mark.source for mark in here})


def gets_another_key(mark: Mark) -> bool:
    """Whether rows are known by other columns behind a mark; those that have only got another name are the same."""
    change = mark.change
    if mark.kind is not MarkKind.ALTER or change is None or change.key is None:
        return False
    names, (before, now) = dict(change.renamed), change.key
    return bool(now) and tuple(names.get(name, name) for name in before) != now


def is_unfollowed(mark: Mark) -> bool:
    """Whether nobody can say from rows and marks which rows a table has behind a mark."""
    return mark.kind in UNFOLLOWED


_KINDS = {
    MarkKind.TRUNCATE: ChangeKind.TRUNCATE_TABLE,
    MarkKind.UNTOLD: ChangeKind.TRUNCATE_TABLE,
    MarkKind.DROP: ChangeKind.DROP_TABLE,
    MarkKind.CREATE: ChangeKind.CREATE_TABLE,
    MarkKind.RENAME: ChangeKind.RENAME_TABLE,
}


Untold = Callable[[Mark], bool]
"""Whether a table cannot follow a mark by what the log tells."""


def chosen(
    marks: Sequence[Mark],
    behavior: Behavior,
    accepted: Set[str],
    target: object,
    untold: Untold = is_unfollowed,
) -> tuple[list[Mark], frozenset[str]]:
    """The marks that a table is to follow, and the source tables whose acceptance that takes.

    Args:
        marks: of one target.
        behavior: what the user has chosen.
        accepted: the source tables whose changes the user has accepted.
        target: what errors call it.
        untold: what the table cannot follow.

    Raises:
        SinkError: the user wants to be asked first; or what happened cannot be followed, and no later mark makes it
            good. The message names the table and says what to do.
    """
    actions = [(mark, _action(mark, behavior, target, untold=untold(mark))) for mark in marks]
    actions = [(mark, action) for mark, action in actions if action is not Action.KEEP]
    found = [mark for mark, _ in actions]
    used = set(refuse_unfollowed(found, accepted, target, untold))  # first: an acceptance would not make these right
    for mark, action in actions:
        if action is not Action.REFUSE:
            continue
        if mark.table not in accepted:
            raise SinkError(
                f"table {target}: at position {mark.position} {_what(mark)} ({mark.statement}). schema.evolution is "
                f"'exception': `cdc schema accept FILE --table {mark.table}` has the table follow this once",
                number="CDC4401",
            )
        used.add(mark.table)
    return found, frozenset(used)


def _action(mark: Mark, behavior: Behavior, target: object, *, untold: bool) -> Action:
    """What is done about a mark: it is kept out of the table, or followed, or the user is asked first."""
    kind = ChangeKind.ALTER_KEY if untold and mark.kind is MarkKind.ALTER else _KINDS.get(mark.kind)
    action = Action.FOLLOW if kind is None else behavior.action(kind)
    if action is Action.TRY and untold:
        action = Action.KEEP
    if action is Action.KEEP:
        log.warning("table %s: at position %s %s, and the table keeps its rows", target, mark.position, _what(mark))
    return action


def refuse_unfollowed(
    marks: Sequence[Mark], accepted: Set[str], target: object, untold: Untold = is_unfollowed
) -> frozenset[str]:
    """Looks for marks that a table cannot follow and that no later one makes good.

    Args:
        marks: of one target.
        accepted: the source tables of which the user says that it is to go on nevertheless.
        target: what errors call it.
        untold: what the table cannot follow.

    Returns:
        the source tables whose acceptance was needed.

    Raises:
        SinkError: there is one; the message names the table and says what to do.
    """
    needed = set()
    for mark in _unfollowed_marks(marks, untold):
        if mark.table not in accepted:
            raise SinkError(_unfollowed(mark, target), number="CDC4401")
        log.warning("table %s: at position %s %s, and the table keeps its rows", target, mark.position, _what(mark))
        needed.add(mark.table)
    return frozenset(needed)


def _unfollowed_marks(marks: Sequence[Mark], untold: Untold) -> Iterator[Mark]:
    """Marks behind which nobody can say which rows a table has, unless it is emptied or read anew behind them."""
    for mark in marks:
        if untold(mark) and not any(
            later.kind in EMPTYING and later.table == mark.table and later.position > mark.position for later in marks
        ):
            yield mark


def _shared(mark: Mark, others: Sequence[str], target: object) -> str:
    return (
        f"table {target}: at position {mark.position} {_what(mark)}, and rows of {', '.join(others)} are in the same "
        "table, which nothing tells apart. Let the transform that puts them together add the source table to the key "
        "(key.enforce.uniqueness of ByLogicalTableRouter) and start with new tables and a new state folder, or write "
        "to another place"
    )


def _unfollowed(mark: Mark, target: object) -> str:
    return (
        f"table {target}: at position {mark.position} {_what(mark)} ({mark.statement}). "
        f"`cdc resnapshot FILE --table {mark.table}` reads it anew; if it is gone by now, "
        f"`cdc schema accept FILE --table {mark.table}` goes on"
    )


def _what(mark: Mark) -> str:
    return {
        MarkKind.SNAPSHOT_BEGIN: f"a snapshot reads {mark.table} anew",
        MarkKind.TRUNCATE: f"{mark.table} was truncated",
        MarkKind.DROP: f"{mark.table} is gone",
        MarkKind.CREATE: f"{mark.table} was created",
        MarkKind.RENAME: f"{mark.table} took the rows of {mark.previous}",
        MarkKind.UNTOLD: f"rows of {mark.table} came or went, and the log does not tell which",
        MarkKind.ALTER: f"{mark.table} got another key, and its rows from before are not known by that",
    }[mark.kind]
