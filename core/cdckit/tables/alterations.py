"""How a table is altered: step by step, each of which changes nothing where it was done already.

The steps are noted with the table before the first one, so that a process that is killed in between is followed by one
that finishes them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping

from cdckit.tables.target import Columns, Step, Target, literal, quoted
from cdckit.tables.types import UNSIGNED

log = logging.getLogger("cdckit.tables")

NOTE = "due"
"""The note of the steps that are begun and, where it is not empty, not done."""

_ASIDE = "__cdckit_aside_"
"""What names of columns begin with that are on their way from one name to another."""
_TWO_64 = str(1 << 64)


class Alteration:
    """Steps that are gathered for one table.

    Attributes:
        columns: what the table's columns are behind them.
        steps: in order.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = dict(columns)
        self.steps: list[Step] = []

    def add(self, name: str, kind: str, older: str | None = None, copied: str | None = None) -> None:
        """A new column, and the value of older rows as text, or the column whose values they have, cast."""
        self.columns[name] = kind
        self.steps.append(["add", name, kind])
        if copied is not None:
            self.steps.append(["copy", copied, name])
        if older is not None:
            self.steps.append(["fill", name, older])

    def drop(self, name: str) -> None:
        """A column goes; what is added under its name from here on is another one."""
        del self.columns[name]
        self._set_aside(name)
        self.steps.append(["drop", _ASIDE + name])

    def rename(self, names: Mapping[str, str]) -> None:
        """Columns get other names, all at once: names may be swapped."""
        self.columns = {names.get(name, name): kind for name, kind in self.columns.items()}
        self._set_aside(*names)
        self.steps += [["rename", _ASIDE + old, new] for old, new in names.items()]

    def widen(self, name: str, kind: str, *, unsigned: bool = False) -> None:
        """A column gets a wider type; of `unsigned` numbers those below zero are numbers from 2^63 on."""
        self.columns[name] = kind
        self.steps.append(["widen", name, kind])
        if unsigned:
            self.steps.append(["unsigned", name])

    def convert(self, name: str, kind: str) -> None:
        """A column gets a type that does not hold all of its values: what Spark cannot cast becomes null."""
        self.columns[name] = kind
        self._set_aside(name)
        self.steps += [["add", name, kind], ["copy", _ASIDE + name, name], ["drop", _ASIDE + name]]

    def _set_aside(self, *names: str) -> None:
        """Makes room for others of these names: by itself, since what went before would take the room again."""
        self.steps += [["stage"], *(["rename", name, _ASIDE + name] for name in names), ["stage"]]

    def comment(self, name: str, text: str | None) -> None:
        """The comment of a column, or of the table ("")."""
        self.steps.append(["comment", name, text])


class Altering:
    """Alters one table.

    Args:
        target: the table.
    """

    def __init__(self, target: Target) -> None:
        self._target = target

    def alter(self, steps: Iterable[Step], notes: Mapping[str, str]) -> None:
        """Takes steps that nobody has begun, and keeps notes about the table with them."""
        due = list(steps)
        self._target.note({**notes, NOTE: json.dumps(due)})
        self._finish(due)

    def resume(self, notes: Mapping[str, str]) -> None:
        """Finishes what the table's notes say was begun."""
        if due := json.loads(notes.get(NOTE, "[]")):
            self._finish(due)

    def _finish(self, due: list[Step]) -> None:
        if not due:
            return
        if self._target.alters_at_once:
            self._target.alter(due)
            return
        for number, (kind, *given) in enumerate(due, 1):
            if kind == "stage":
                self._target.note({NOTE: json.dumps(due[number:])})
            else:
                _STEPS[kind](self._target, self._target.columns(), *given)
        self._target.note({NOTE: "[]"})


def _add(target: Target, present: Columns, name: str, kind: str) -> None:
    if name not in present:
        target.add_columns({name: kind})
        log.info("table %s: column '%s' (%s) was added", target, name, kind)


def _fill(target: Target, present: Columns, name: str, text: str) -> None:
    if not target.fill(name, text):
        target.update({name: _value(text, present[name])})
    log.info("table %s: column '%s' was added with %r: its older rows have that", target, name, text)


def _drop(target: Target, present: Columns, name: str) -> None:
    if name in present:
        target.drop_column(name)
        log.info("table %s: column '%s' was dropped", target, name.removeprefix(_ASIDE))


def _rename(target: Target, present: Columns, old: str, new: str) -> None:
    if old in present and new not in present:
        target.rename_column(old, new)
        if not new.startswith(_ASIDE):
            log.info("table %s: column '%s' is called '%s' now", target, old.removeprefix(_ASIDE), new)


def _widen(target: Target, present: Columns, name: str, kind: str) -> None:
    if present[name] != kind:
        target.widen({name: kind})
        log.info("table %s: column '%s' is %s now", target, name, kind)


def _unsigned(target: Target, present: Columns, name: str) -> None:
    column = quoted(name)
    target.update({name: f"cast({column} + cast('{_TWO_64}' as {UNSIGNED}) as {UNSIGNED})"}, f"{column} < 0")
    log.info("table %s: column '%s', BIGINT UNSIGNED at the source, is %s now", target, name, UNSIGNED)


def _copy(target: Target, present: Columns, old: str, new: str) -> None:
    if old in present:
        target.update({new: f"try_cast({quoted(old)} as {present[new]})"})


def _comment(target: Target, present: Columns, name: str, text: str | None) -> None:
    if not name or name in present:
        target.comment(name, text)


_STEPS: Mapping[str, Callable[..., None]] = {
    "add": _add,
    "fill": _fill,
    "drop": _drop,
    "rename": _rename,
    "widen": _widen,
    "unsigned": _unsigned,
    "copy": _copy,
    "comment": _comment,
}


def _value(text: str, kind: str) -> str:
    return f"unhex({literal(text)})" if kind == "binary" else f"cast({literal(text)} as {kind})"
