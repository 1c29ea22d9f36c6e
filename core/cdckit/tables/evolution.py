"""Follows what source tables are, in the columns of a lake's table: each change at its place in the log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Generic, NamedTuple, TypeVar

from cdckit.api.marks import MarkKind
from cdckit.errors import SinkError
from cdckit.tables.accepted_marks import AcceptedMarks
from cdckit.tables.alterations import Altering
from cdckit.tables.behavior import Action, ChangeKind
from cdckit.tables.changed_columns import ColumnChanges, Told
from cdckit.tables.comments import ToldComments
from cdckit.tables.definitions import NOTE, Definitions, Fitting
from cdckit.tables.layout import Layout, history_of
from cdckit.tables.logged_marks import Logged, logged
from cdckit.tables.marks import Mark
from cdckit.tables.older_values import OlderRows
from cdckit.tables.policy import Policy
from cdckit.tables.requests import Requests
from cdckit.tables.target import TOPIC, Columns, Target
from cdckit.tables.types import UNSIGNED
from cdckit.tables.widening import holds

AnyTarget = TypeVar("AnyTarget", bound=Target)

ACCEPTED = "accepted"
"""The note of the acceptances (`cdc schema accept`) that were made use of, by source table."""
READ_AGAIN = "read_again"
"""The note of the requests (`cdc resnapshot`) whose rows have begun to come, by source table."""
REBUILT = "rebuilt"
"""The note of the columns that the table is to have once it is written anew; empty where it has been."""


class _Untyped(NamedTuple):
    """A column for which rows have another type than the target.

    Attributes:
        column: its name in the target.
        kind: the type that rows have.
        position: that of the first of them.
        table: their source table.
    """

    column: str
    kind: str
    position: str
    table: str


class Evolution(Generic[AnyTarget]):
    """The columns of one target.

    Args:
        target: the table.
        policy: what decides.
        comments: what was told of its source tables.

    Attributes:
        target: the table.
        columns: its columns.
        rebuilt: whether the table is written anew with the next rows, with columns of its own.
        first_notes: what a table that is made here is noted with besides.
    """

    def __init__(self, target: AnyTarget, policy: Policy | None = None, comments: ToldComments | None = None) -> None:
        self.target = target
        self.policy = policy or Policy()
        self.columns: Columns = {}
        self.rebuilt = False
        self.first_notes: Mapping[str, str] = {}
        self._comments = comments or ToldComments()
        self._older = OlderRows(target, mirror=self.policy.mirror)
        self._altering = Altering(target)
        self._definitions = Definitions()
        self._known: set[tuple[tuple[str, str], ...]] = set()
        self._tolerant: frozenset[str] = frozenset()
        self._accepted = Requests(target, ACCEPTED)
        self._accepted_marks = AcceptedMarks()
        self._read_again = Requests(target, READ_AGAIN)
        self._loaded = False
        self._unclaimed = False

    @property
    def fitting(self) -> Fitting:
        """Puts rows of whatever definition into the columns."""
        return Fitting.of(self._definitions, self._older.values, self._tolerant)

    @property
    def comments(self) -> dict[str, str]:
        """What columns are for, and under "" the table, where it is made, or written anew with columns of its own."""
        return self._comments.of(self._definitions, self.columns)

    def present(self) -> Columns:
        """The target's columns; none where there is no table yet."""
        if not self.columns:
            self._load()
        return self.columns

    def follow(
        self,
        layouts: Sequence[tuple[str, Layout]],
        marks: Sequence[Mark] = (),
        accepted: Mapping[str, str] | None = None,
    ) -> None:
        """Makes the target take rows of these layouts.

        Args:
            layouts: each with the position of its first row.
            marks: what the source tells of whole tables.
            accepted: the source tables whose next change the user has accepted, each with what tells acceptances apart.

        Raises:
            SinkError: a change cannot be followed, or is not to be; the message names the command that resolves it.
        """
        defining = [mark for mark in marks if mark.layout is not None]
        if not defining and all(self._is_newest(position, layout) for position, layout in layouts):
            return
        self._load()
        self._comments.take([*layouts, *((mark.position, mark.layout) for mark in defining if mark.layout)])
        if not self.columns and not layouts:
            return
        pending = self._accepted.pending(accepted or {})
        changes = self._judged(self.policy, frozenset(pending), layouts, defining)
        self._carry_out(changes, {table: pending[table] for table in changes.forced})
        untyped = list(self._untyped(layouts))
        self._require_types(untyped)
        self._known |= {layout.columns for _, layout in layouts}
        self._tolerant |= {one.column for one in untyped}

    def _judged(
        self, policy: Policy, accepted: frozenset[str], layouts: Sequence[tuple[str, Layout]], marks: Sequence[Mark]
    ) -> ColumnChanges:
        changes = ColumnChanges(self.target, policy, self.columns, self._definitions, self._older.copy(), accepted)
        changes.unclaimed = self._unclaimed
        try:
            self._judge(changes, layouts, marks)
        except SinkError:
            if (otherwise := policy.unasked) is not None:
                # What would not be followed if it were accepted is to be told of instead, with what resolves it.
                self._judged(otherwise, accepted, layouts, marks)
            raise
        return changes

    def _judge(self, changes: ColumnChanges, layouts: Sequence[tuple[str, Layout]], marks: Iterable[Mark]) -> None:
        """In the order of positions; what a mark says goes before the rows behind it."""
        steps: list[tuple[str, int, Layout, Mark | None]] = [(place, 1, layout, None) for place, layout in layouts]
        steps += [(mark.position, 0, mark.layout, mark) for mark in marks if mark.layout is not None]
        # A batch may span several changes of a table. Rows lie behind the mark that tells of their definition, so the
        # order of positions is that of the log.
        for position, _, layout, mark in sorted(steps, key=lambda step: step[:2]):
            if mark is not None and mark.kind is not MarkKind.ALTER and changes.begins_anew(position, layout, mark):
                continue
            changes.take(position, layout, Told.of(mark))

    def _carry_out(self, changes: ColumnChanges, forced: Mapping[str, str]) -> None:
        if self.columns:
            self._alter(changes, forced)
        else:
            told = {NOTE: changes.definitions.dumps(), **self._accepted.notes(), **self._accepted_marks.notes()}
            comments = self._comments.of(changes.definitions, changes.columns)
            self.target.create(changes.columns, {**self.first_notes, **told}, comments)
        self.columns, self._definitions, self._older = changes.columns, changes.definitions, changes.older
        if self._unclaimed:
            self.target.claim()
            self._unclaimed = False

    def _alter(self, changes: ColumnChanges, forced: Mapping[str, str]) -> None:
        notes = self._older.notes(changes.older)
        if changes.definitions.histories != self._definitions.histories:
            notes[NOTE] = changes.definitions.dumps()
        notes |= self._accepted.used(forced)
        if changes.rebuilt:
            self.rebuilt = True
            notes[REBUILT] = json.dumps(changes.columns)
        # Steps and notes are several commits of the table's: `Altering` notes what it is about to do, so that the next
        # start takes up where a kill has left it.
        if changes.steps:
            self._altering.alter(changes.steps, notes)
        elif notes:
            self.target.note(notes)

    def accepts(self, accepted: Mapping[str, str], marks: Sequence[Mark]) -> frozenset[str]:
        """The source tables whose acceptance was not made use of, or was for these marks, which come again then."""
        if accepted:
            self._load()
        return frozenset(self._accepted.pending(accepted)) | self._accepted_marks.among(marks)

    def logged(
        self,
        marks: Sequence[Mark],
        heads: Iterable[tuple[str, Layout]],
        accepted: Mapping[str, str],
        awaited: Set[str],
    ) -> Logged:
        """What the marks of a batch come to in a changelog; to be asked before `follow`, which may change the columns.

        Raises:
            SinkError: see `logged_marks`.
        """
        if not marks:
            return Logged()
        usable, existed = self.accepts(accepted, marks), bool(self.present())
        return logged(marks, list(heads), self.policy.behavior, usable, awaited, self.target, existed=existed)

    def use(self, accepted: Mapping[str, str], marks: Sequence[Mark] = ()) -> None:
        """Notes that acceptances were made use of, or are for nothing any more; where there is no table yet, later.

        Args:
            accepted: the acceptances, by source table.
            marks: of the batch that they were made use of for.
        """
        notes = {**self._accepted.used(accepted), **self._accepted_marks.used(accepted, marks)}
        if notes and self.columns:
            self.target.note(notes)

    def awaits(self, wanted: Mapping[str, str]) -> frozenset[str]:
        """The source tables that are to be read again and whose rows have not begun to come."""
        if wanted:
            self._load()
        return frozenset(self._read_again.pending(wanted))

    def begun(self, wanted: Mapping[str, str]) -> None:
        """Notes that rows of source tables that were to be read again have come."""
        if self.columns:
            self._read_again.use(wanted)

    def written(self) -> None:
        """Notes that the table has the columns that it was to be written anew with."""
        if self.rebuilt:
            self.target.note({REBUILT: ""})
            self.rebuilt = False

    def _is_newest(self, position: str, layout: Layout) -> bool:
        """Whether the columns are known, and those of the source table's newest definition."""
        if layout.columns not in self._known:
            return False
        newest = self._definitions.newest(history_of(position, layout))
        names = tuple(name for name, _ in layout.columns)
        return layout.kind != "rows" or (newest is not None and (newest.columns, newest.key) == (names, layout.key))

    def _untyped(self, layouts: Sequence[tuple[str, Layout]]) -> Iterator[_Untyped]:
        """Columns that may get values of other types than their own; whether they may was judged before."""
        fitting = self.fitting
        for position, layout in layouts:
            for name, kind in fitting.shown(position, layout).columns:
                present = self.columns.get(name, kind)
                if not holds(present, kind) and (present, kind) != (UNSIGNED, "bigint"):
                    yield _Untyped(name, kind, position, layout.table)

    def _require_types(self, untyped: Sequence[_Untyped]) -> None:
        """Rows that are replayed are not judged where they lie before a definition, and nobody sees a null of theirs.

        Raises:
            SinkError: a column would get values of another type, and the user has not chosen that they are tried.
        """
        tried = self.policy.behavior.action(ChangeKind.ALTER_COLUMN_TYPE) in (Action.TRY, Action.KEEP)
        if not untyped or tried or not self.policy.replays:
            return
        column, kind, position, table = untyped[0]
        present = self.columns[column]
        raise SinkError(
            f"table {self.target}: column '{column}' is {present}, and the chain makes {kind} now of what it had at "
            f"position {position} (source {table}). Have the chain make {present} of it, as by the transform Cast, or "
            f"drop the record (cdc quarantine drop) and read the table anew (`cdc resnapshot FILE --table {table}`)",
            number="CDC4401",
        )

    def _load(self) -> None:
        if self._loaded:
            return
        self.columns = self.target.columns()
        if not self.columns:
            return
        self._loaded = True
        notes = self.target.notes()
        self.target.check_owner(notes)
        self._unclaimed = TOPIC not in notes
        # Before the columns count: they may be half way between two definitions.
        self._altering.resume(notes)
        self.columns = self.target.columns()
        if rebuilt := notes.get(REBUILT):
            self.rebuilt, self.columns = True, json.loads(rebuilt)
        self._older.load(notes)
        self._definitions = Definitions.loads(notes.get(NOTE, "{}"))
        self._accepted.load(notes)
        self._accepted_marks.load(notes)
        self._read_again.load(notes)
