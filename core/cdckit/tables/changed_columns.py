"""What a table's columns become where definitions at the source change: judged one after the other."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cdckit.api.marks import DefinitionChange, MarkKind
from cdckit.errors import SinkError
from cdckit.tables.alterations import Alteration
from cdckit.tables.behavior import Action, ChangeKind
from cdckit.tables.definitions import Definition, Definitions
from cdckit.tables.layout import Layout, history_of
from cdckit.tables.marks import Mark
from cdckit.tables.older_values import OlderRows
from cdckit.tables.policy import Policy
from cdckit.tables.target import Columns, Step, Target
from cdckit.tables.types import UNSIGNED
from cdckit.tables.widening import holds, widens

log = logging.getLogger("cdckit.tables")

_OF_TABLE = ["comment", ""]
"""What the step begins with that says what the table is for."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the log says of a change besides the definition behind it.

    Attributes:
        change: what is otherwise; empty where nobody says.
        statement: what the log has of it, or "".
        begins: whether the source's table has no rows behind it but those that are told from here on.
    """

    change: DefinitionChange = field(default_factory=DefinitionChange)
    statement: str = ""
    begins: bool = False

    @classmethod
    def of(cls, mark: Mark | None) -> Told:
        """That of a mark, or of none."""
        if mark is None:
            return cls()
        return cls(mark.change or DefinitionChange(), mark.statement, mark.kind is not MarkKind.ALTER)

    def renames(self, before: Definition, names: Collection[str]) -> dict[str, str]:
        """The old and new names of columns that both definitions show so."""
        return {old: new for old, new in self.change.renamed if old in before.columns and new in names}

    @property
    def made_anew(self) -> frozenset[str]:
        """Columns that went and came in one statement."""
        return frozenset(self.change.added) & frozenset(self.change.dropped)


@dataclass(frozen=True, slots=True)
class _Taken:
    """A definition that is taken, and what becomes of its columns."""

    position: str
    layout: Layout
    told: Told
    history: str
    places: dict[str, str | None] = field(default_factory=dict)


class ColumnChanges:
    """Gathers what is to be done to one table.

    Args:
        target: the table.
        policy: what decides.
        columns: its columns; none where there is no table yet.
        definitions: those that are known.
        older: what older rows have.
        accepted: the source tables whose changes the user has accepted.

    Attributes:
        definitions: those that will be known.
        older: what older rows will have.
        rebuilt: whether the table is to be written anew.
        forced: the source tables of which an acceptance was made use of.
        unclaimed: whether an older version has made the table, which had BIGINT UNSIGNED as bigint.
    """

    def __init__(
        self,
        target: Target,
        policy: Policy,
        columns: Columns,
        definitions: Definitions,
        older: OlderRows,
        accepted: frozenset[str],
    ) -> None:
        self.definitions = definitions.copy()
        self.older = older
        self.rebuilt = False
        self.forced: set[str] = set()
        self.unclaimed = False
        self._target = target
        self._policy = policy
        self._accepted = accepted
        self._exists = bool(columns)
        self._before = frozenset(columns)
        self._alteration = Alteration(columns)

    @property
    def columns(self) -> Columns:
        """The table's columns behind all of it."""
        return self._alteration.columns

    @property
    def steps(self) -> Sequence[Step]:
        """How the table gets there; where it is written anew, its columns come with the rows, and only they."""
        steps = self._alteration.steps
        return [step for step in steps if step[:2] == _OF_TABLE][-1:] if self.rebuilt else steps

    def begins_anew(self, position: str, layout: Layout, mark: Mark) -> bool:
        """Takes a definition behind which a mirror has no rows but those that come; False where it does not."""
        newest = self.definitions.newest(history := history_of(position, layout))
        if not self._policy.mirror or not self._policy.told or mark.scope or not self._exists or newest is None:
            return False
        if position <= newest.position:
            return True
        if self._fits(newest, layout) or set(self.definitions.histories) != {history} or self._policy.keeps:
            return False
        if mark.kind is MarkKind.CREATE and self._action(ChangeKind.CREATE_TABLE, layout) is Action.KEEP:
            return False
        self._alteration = Alteration(dict(layout.columns))
        self._alteration.comment("", dict(layout.comments or ()).get(""))
        self.definitions.restart(history, Definition(position, _names(layout), layout.key))
        self.older.clear()
        self.rebuilt = True
        log.info("table %s: has the columns of %s at position %s from now on", self._target, mark.table, position)
        return True

    def _fits(self, newest: Definition, layout: Layout) -> bool:
        same = (newest.columns, newest.key) == (_names(layout), layout.key) and not newest.places
        return same and all(holds(self.columns.get(name, ""), kind) for name, kind in layout.columns)

    def take(self, position: str, layout: Layout, told: Told) -> None:
        """Takes a definition that rows have from a position on; one from before the newest says nothing new.

        Raises:
            SinkError: the table cannot follow, or is not to.
        """
        taken = _Taken(position, layout, told, history_of(position, layout))
        newest = self.definitions.newest(taken.history)
        if layout.kind != "rows":
            self._take_parts(taken, newest)
            return
        if newest is not None and position <= newest.position:
            return
        if newest is None:
            for name, kind in layout.columns:
                self._arrive(taken, name, kind, new=False)
        else:
            self._follow(taken, newest)
        places = {name: place for name, place in taken.places.items() if place != name}
        made = Definition(position, _names(layout), layout.key, places)
        before = self.definitions.newest(taken.history)  # whose places may be others by now
        same = before is not None and (made.columns, made.key, made.places) == (
            before.columns,
            before.key,
            before.places,
        )
        if not same or told.change.comments:  # else a batch that comes again would ask for the same comment again
            self.definitions.put(taken.history, made)

    def _take_parts(self, taken: _Taken, newest: Definition | None) -> None:
        """Rows of which only the key, or nothing, is known."""
        for name, kind in taken.layout.columns:
            place = name if newest is None else newest.place(name)
            if place is not None and place not in self.columns:
                self._alteration.add(place, kind)

    def _follow(self, taken: _Taken, newest: Definition) -> None:
        names, anew = _names(taken.layout), taken.told.made_anew
        renamed = self._renamed(taken, newest)
        new_names = set(renamed.values())
        gone = [name for name in newest.columns if name not in renamed and (name not in names or name in anew)]
        come = {
            name
            for name in names
            if name not in new_names and (name not in newest.columns or name in renamed or name in anew)
        }
        self._rename(taken, newest, renamed)
        for name in gone:
            self._drop(taken, name)
        old_names = {new: old for old, new in renamed.items()}
        for name, kind in taken.layout.columns:
            if name in come:
                self._arrive(taken, name, kind, new=True)
            else:
                self._stay(taken, name, old_names.get(name, name), kind)
        self._key(taken, newest, renamed)
        self._comments(taken)

    # Renames

    def _renamed(self, taken: _Taken, newest: Definition) -> dict[str, str]:
        """The columns that go on under another name; those that do not, come and go."""
        renamed = taken.told.renames(newest, _names(taken.layout))
        if not renamed:
            return {}
        action = self._action(ChangeKind.RENAME_COLUMN, taken.layout)
        if action is Action.REFUSE:
            old, new = next(iter(renamed.items()))
            raise self._refusal(taken, f"column '{old}' is called '{new}'")
        beside = self._policy.behavior.renames_beside or (action is not Action.KEEP and not self._target.changes_rows)
        return {} if beside else renamed

    def _rename(self, taken: _Taken, newest: Definition, renamed: Mapping[str, str]) -> None:
        if not renamed or self._action(ChangeKind.RENAME_COLUMN, taken.layout) is Action.KEEP:
            return
        moves = {place: new for old, new in renamed.items() if (place := newest.place(old)) not in (None, new)}
        for new in list(moves.values()):
            if new in self.columns and new not in moves and not self.definitions.uses(new, taken.history):
                moves[new] = self._free(new)
        taken_names = [new for new in moves.values() if new in self.columns and new not in moves]
        if taken_names:
            raise self._refusal(taken, f"a column is called '{taken_names[0]}', as one of another source table is")
        self._move({str(old): new for old, new in moves.items()})

    def _move(self, moves: Mapping[str, str]) -> None:
        if not moves:
            return
        self._alteration.rename(moves)
        for old in moves:
            self._moved(old, f"\0{old}")
        for old, new in moves.items():
            self._moved(f"\0{old}", new)

    def _moved(self, old: str, new: str | None) -> None:
        self.definitions.move(old, new)
        self.older.moved(old, new)

    def _free(self, name: str) -> str:
        """A name for what was called so."""
        numbers = (f"{name}__{number}" for number in range(1, len(self.columns) + 2))
        taken = {one.lower() for one in self.columns}
        return next(one for one in numbers if one.lower() not in taken)

    # Columns that come, go and stay

    def _drop(self, taken: _Taken, name: str) -> None:
        """A changelog or history keeps the column, for its rows; so does a table that another source table shares.

        So does a mirror of a source that tells nothing but rows: older ones may come again behind newer ones there.
        """
        newest = self.definitions.newest(taken.history)
        place = newest.place(name) if newest is not None else None
        if place is None or place not in self.columns:
            return
        action = self._action(ChangeKind.DROP_COLUMN, taken.layout)
        if action is Action.REFUSE:
            raise self._refusal(taken, f"column '{name}' is gone")
        shared = self.definitions.uses(place, taken.history)
        drops = self._policy.mirror and self._policy.told and not self._policy.keeps
        if action is Action.KEEP or not drops or shared:
            log.info("table %s: column '%s' is gone at the source, and stays here", self._target, place)
            return
        self._alteration.drop(place)
        self._moved(place, None)

    def _arrive(self, taken: _Taken, name: str, kind: str, *, new: bool) -> None:
        """A column that the source table has not had before, or is met with for the first time."""
        if new and self._exists:
            action = self._action(ChangeKind.ADD_COLUMN, taken.layout)
            if action is Action.REFUSE:
                raise self._refusal(taken, f"there is a column '{name}'")
            if action is Action.KEEP:
                taken.places[name] = None
                return
        place = self._place(taken, name)
        if new and self._policy.keeps and place in self.columns and not self.definitions.uses(place, taken.history):
            self._move({place: self._free(place)})  # its values are another column's
            place = name
        taken.places[name] = place
        unseen = new and self._unseen(taken, name)
        older = (
            self.older.arrived(taken.history, taken.position, taken.layout, name, place, unseen=unseen) if new else None
        )
        if place not in self.columns:
            self._alteration.add(place, kind, older)
            self._describe(taken, name)
        else:
            self._joins(taken, place, older)
            self._typed(taken, name, place, kind)

    def _unseen(self, taken: _Taken, name: str) -> bool:
        """Whether a column was there under a name that rows did not show: left out, or renamed on its way here."""
        newest, change = self.definitions.newest(taken.history), taken.told.change
        known = () if newest is None else newest.columns
        return name in change.unseen or any(new == name and old not in known for old, new in change.renamed)

    def _joins(self, taken: _Taken, place: str, older: str | None) -> None:
        """Tells of a column that a table gets later than another one whose rows are here, too.

        Rows that came in between, in another batch, had no value for it. Who alters shards one after the other knows.
        """
        if older is not None and place in self._before and self.definitions.uses(place, taken.history):
            log.warning(
                "table %s: column '%s' was added to %s with %r, and is here since another source table has it: rows of "
                "%s that came in between have null there until they change, or it is read anew (cdc resnapshot)",
                self._target,
                place,
                taken.layout.table,
                older,
                taken.layout.table,
            )

    def _place(self, taken: _Taken, name: str) -> str:
        """Where a column's values go: under its name, or one that the table does not tell from it."""
        if name in self.columns or not self._target.folds_case:
            return name
        found = next((one for one in self.columns if one.lower() == name.lower()), name)
        if found != name and found in taken.places:
            raise SinkError(
                f"table {self._target}: columns '{name}' and '{found}' differ in upper and lower case alone (source "
                f"{taken.layout.table}), and tables tell no case apart: name one of them otherwise on its way here "
                "(ReplaceField), or leave it out"
            )
        return found

    def _describe(self, taken: _Taken, name: str) -> None:
        """A new column comes with its comment."""
        told = dict(taken.layout.comments or ()).get(name)
        if told is None or not self._exists or not self._target.changes_rows:
            return
        if self._action(ChangeKind.COMMENT, taken.layout) is not Action.KEEP:
            self._alteration.comment(name, told)

    def _stay(self, taken: _Taken, name: str, old: str, kind: str) -> None:
        newest = self.definitions.newest(taken.history)
        assert newest is not None
        place = newest.place(old)
        taken.places[name] = place
        if place is None:
            return
        if place not in self.columns:  # somebody has removed it by hand
            self._alteration.add(place, kind)
        else:
            self._typed(taken, name, place, kind)

    # Types

    def _typed(self, taken: _Taken, name: str, place: str, kind: str) -> None:
        present = self.columns[place]
        rewritten = self._policy.mirror and name in taken.told.change.rewritten
        if holds(present, kind):
            if rewritten:
                self._rewritten(taken, name)
        elif self.unclaimed and (present, kind) == ("bigint", UNSIGNED) and self._target.changes_rows:
            self._alteration.widen(place, kind, unsigned=True)
        else:
            self._retype(taken, name, place, kind, rewritten=rewritten)

    def _retype(self, taken: _Taken, name: str, place: str, kind: str, *, rewritten: bool) -> None:
        present = self.columns[place]
        what = f"column '{name}' became {kind}, and the table has it as {present}"
        action = self._action(ChangeKind.ALTER_COLUMN_TYPE, taken.layout)
        if action is Action.REFUSE:
            raise self._refusal(taken, what)
        if action is Action.KEEP:
            return
        if widens(present, kind) and self._target.changes_rows:
            self._alteration.widen(place, kind)
            if rewritten:
                self._rewritten(taken, name)
        elif self._forces(taken) and self._target.changes_rows:
            self._force(place, kind)
        elif action is Action.TRY:
            log.warning("table %s: %s: values that do not fit are null from now on", self._target, what)
        else:
            raise self._refusal(taken, what)

    def _force(self, place: str, kind: str) -> None:
        """A mirror's values are cast; a changelog's stay, under another name, and a history has both."""
        if self._policy.mirror and not self._policy.keeps:
            self._alteration.convert(place, kind)
            return
        free = self._free(place)
        self._move({place: free})
        self._alteration.add(place, kind, copied=free if self._policy.keeps else None)

    def _rewritten(self, taken: _Taken, name: str) -> None:
        what = f"the values of column '{name}' may have changed with its definition ({taken.told.statement})"
        action = self._action(ChangeKind.ALTER_COLUMN_TYPE, taken.layout)
        if self._forces(taken) or action in (Action.TRY, Action.KEEP):
            log.warning("table %s: at position %s %s", self._target, taken.position, what)
            return
        raise self._refusal(taken, what)

    # The key, comments

    def _key(self, taken: _Taken, newest: Definition, renamed: Mapping[str, str]) -> None:
        """Where marks tell of the change, rows from before and behind it are written one after the other.

        Of a changelog they decide, too: its rows from before are read anew (`logged_marks`).
        """
        before, now = tuple(renamed.get(name, name) for name in newest.key), taken.layout.key
        if before == now:
            return
        action = self._action(ChangeKind.ALTER_KEY, taken.layout)
        unordered = self._policy.mirror and not self._policy.told and action is Action.FOLLOW
        asks = action is Action.REFUSE and (self._policy.mirror or not self._policy.told)
        if asks or (unordered and not self._forces(taken)):
            raise self._refusal(taken, f"the key was ({', '.join(before)}) and is ({', '.join(now)})")
        self._unknown_keys(taken, action)
        log.info("table %s: the key was (%s) and is (%s)", self._target, ", ".join(before), ", ".join(now))

    def _unknown_keys(self, taken: _Taken, action: Action) -> None:
        """Older rows whose key nobody has told of would stay beside the rows that they become."""
        untold = {name for name, text in taken.layout.older if text is None}
        unknown = [name for name in taken.layout.key if name in untold]
        if not unknown or not (self._policy.mirror and self._policy.told):
            return
        what = f"the key has column '{unknown[0]}', whose values in older rows the source's log does not tell"
        if not self._forces(taken) and action not in (Action.TRY, Action.KEEP):
            raise self._refusal(taken, what)
        log.warning("table %s: at position %s %s", self._target, taken.position, what)

    def _comments(self, taken: _Taken) -> None:
        for name, place, text in self._changed_comments(taken):
            action = self._action(ChangeKind.COMMENT, taken.layout)
            if action is Action.REFUSE:
                raise self._refusal(taken, f"the comment of {name or 'the table'} is {text!r}")
            if action is not Action.KEEP and self._target.changes_rows:
                self._alteration.comment(place, text)

    def _changed_comments(self, taken: _Taken) -> Iterator[tuple[str, str, str | None]]:
        for name, text in taken.told.change.comments.items():
            place = taken.places.get(name) if name else ""
            if place is not None:
                yield name, place, text

    # What the user has chosen

    def _action(self, kind: ChangeKind, layout: Layout) -> Action:
        action = self._policy.behavior.action(kind)
        if action is Action.REFUSE and layout.table in self._accepted:
            self.forced.add(layout.table)
            return Action.FOLLOW
        return action

    def _forces(self, taken: _Taken) -> bool:
        """Whether the user has accepted what the table can follow only by changing, or losing, values.

        A history needs nobody's leave where all rows from before have ended.
        """
        if self._policy.keeps and taken.told.begins:
            return True
        if taken.layout.table in self._accepted:
            self.forced.add(taken.layout.table)
            return True
        return False

    def _refusal(self, taken: _Taken, what: str) -> SinkError:
        return SinkError(
            f"table {self._target}: since position {taken.position} {what} (source {taken.layout.table}). "
            f"{self._policy.advice(taken.layout.table)}",
            number="CDC4401",
        )


def _names(layout: Layout) -> tuple[str, ...]:
    return tuple(name for name, _ in layout.columns)
