"""What a runner gives a sink that keeps tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field

from cdckit.errors import RetriableSinkError
from cdckit.tables.made_tables import MadeTables

_NAMED = 5
"""So many tables are named where many are written."""


def _give_up(error: RetriableSinkError) -> None:
    raise error


def _unsaid(_activity: str) -> None:
    """No one listens."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asks for of single source tables.

    Attributes:
        read_again: those that are to be read again, as marks will tell.
        accepted: those whose next change of definition is accepted.
        requested: those that are to be read again, whether marks will tell it or not.
    """

    read_again: Mapping[str, str]
    accepted: Mapping[str, str]
    requested: Set[str]


@dataclass(frozen=True, slots=True)
class TableContext:
    """What the runner gives a table sink.

    Attributes:
        name: the pipeline's name.
        generation: tells batch numbers of one checkpoint from those of another.
        skipped: the operations (`c`, `u`, `d`, `t`) that the source leaves out.
        partial_updates: where updates carry only what has changed: what the user can do to have whole rows; None: they
            carry whole rows.
        marks: whether the source tells table marks. Of one that does not, only records say what happens to tables.
        pause: waits before another attempt, or raises the error where there is to be none.
        read_again: gives the source tables that are to be read again (`cdc resnapshot`), or were lately, each with a
            text that tells one request from the next.
        accepted: gives the source tables whose next change of definition the user has accepted (`cdc schema accept`),
            each with a text that tells one acceptance from the next.
        activity: is told what everything waits for, and "" once that is done.
        commands: whether there is a pipeline to which the user can say more by commands, such as `cdc schema accept`.
        older_may_come: whether a batch may come again behind later ones; else the last one alone does.
        finds_refused: whether the sink is to say which rows a table refuses (`RowsFoundError`), for others to go on.
        replays: whether rows come out of a quarantine, by the chain of now.
        made: the tables that the pipeline has rows in, of which none is to be made anew unasked.
    """

    name: str
    generation: str
    skipped: frozenset[str] = frozenset()
    partial_updates: str | None = None
    marks: bool = False
    pause: Callable[[RetriableSinkError], None] = _give_up
    read_again: Callable[[], Mapping[str, str]] = dict
    accepted: Callable[[], Mapping[str, str]] = dict
    activity: Callable[[str], None] = _unsaid
    commands: bool = True
    older_may_come: bool = False
    finds_refused: bool = False
    replays: bool = False
    made: MadeTables = field(default_factory=MadeTables)

    def asked(self) -> Asked:
        """What the user asks for now; where no marks are told, rows that come anew are rows as any."""
        requested = self.read_again()
        return Asked(requested if self.marks else {}, self.accepted(), requested.keys())

    @contextmanager
    def writing_snapshot(self, begun: Collection[str]) -> Iterator[None]:
        """Says that the snapshots of these source tables are written; that takes its time where they are whole."""
        if not begun:
            yield
            return
        named = sorted(begun)
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        self.activity(f"snapshot: writing {', '.join(named[:_NAMED])}{more}")
        try:
            yield
        finally:
            self.activity("")
