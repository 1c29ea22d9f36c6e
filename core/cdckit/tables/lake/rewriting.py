"""What becomes of a table's columns: all steps of an alteration in one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cdckit.tables.target import Columns, Step


@dataclass(frozen=True, slots=True)
class Made:
    """How a column of the new table is made.

    Attributes:
        kind: its type.
        source: the column of the old table whose values it has; None: it has one value everywhere.
        text: that value; None is null.
        unsigned: whether numbers below zero are those from 2^63 on.
    """

    kind: str
    source: str | None = None
    text: str | None = None
    unsigned: bool = False


class Rewriting:
    """Gathers steps.

    Args:
        columns: what the table has.

    Attributes:
        columns: what it will have.
        comments: those of columns, and of the table ("").
    """

    def __init__(self, columns: Columns) -> None:
        self._made = {name: Made(kind, name) for name, kind in columns.items()}
        self._before = dict(columns)
        self.comments: dict[str, str | None] = {}

    @property
    def made(self) -> Mapping[str, Made]:
        """How each column of the new table is made."""
        return self._made

    @property
    def columns(self) -> Columns:
        """The columns as they will be."""
        return {name: made.kind for name, made in self._made.items()}

    @property
    def empty(self) -> Columns:
        """Columns that are added, with nulls."""
        return {name: made.kind for name, made in self._made.items() if made.source is None and made.text is None}

    @property
    def added(self) -> Columns:
        """Those of them whose names were free; without anything else no file is written anew."""
        return {name: kind for name, kind in self.empty.items() if name not in self._before}

    @property
    def rewrites(self) -> bool:
        """Whether more happens to columns than that some are added at the end."""
        kept = {name: Made(kind, name) for name, kind in self._before.items()}
        return self._made != {**kept, **{name: Made(kind) for name, kind in self.added.items()}}

    def source(self, name: str) -> str | None:
        """The column of the old table that a column goes on; None: it is another one."""
        return self._made[name].source

    def recomputes(self, name: str) -> bool:
        """Whether a column has other values than the one that it goes on, or than null where it goes on none."""
        made = self._made[name]
        return made.unsigned or made.text is not None

    def take(self, step: Step) -> None:
        """Takes one step; one that was taken already changes nothing."""
        kind, *given = step
        if (taken := _STEPS.get(kind)) is not None:
            taken(self, *given)

    def _add(self, name: str, kind: str) -> None:
        self._made.setdefault(name, Made(kind))

    def _fill(self, name: str, text: str) -> None:
        self._made[name] = Made(self._made[name].kind, text=text)

    def _drop(self, name: str) -> None:
        self._made.pop(name, None)

    def _rename(self, old: str, new: str) -> None:
        if old in self._made and new not in self._made:
            self._made = {new if name == old else name: made for name, made in self._made.items()}

    def _widen(self, name: str, kind: str) -> None:
        self._made[name] = replace(self._made[name], kind=kind)

    def _unsigned(self, name: str) -> None:
        self._made[name] = replace(self._made[name], unsigned=True)

    def _copy(self, old: str, new: str) -> None:
        if old in self._made:
            self._made[new] = replace(self._made[old], kind=self._made[new].kind)

    def _comment(self, name: str, text: str | None) -> None:
        if not name or name in self._made:
            self.comments[name] = text


_STEPS: Mapping[str, Callable[..., Any]] = {
    "add": Rewriting._add,
    "fill": Rewriting._fill,
    "drop": Rewriting._drop,
    "rename": Rewriting._rename,
    "widen": Rewriting._widen,
    "unsigned": Rewriting._unsigned,
    "copy": Rewriting._copy,
    "comment": Rewriting._comment,
}
